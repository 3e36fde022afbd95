package planning

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// scratched has a volume that goes with it.
func scratched(owner string) *v1.Pod {
	pod := testobjects.Pod(owner, "", "1G").Obj()
	pod.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}}}
	return pod
}

func ofDaemonSet(pod *v1.Pod) *v1.Pod {
	pod.OwnerReferences[0].Kind = "DaemonSet"
	return pod
}

// The optimiser proves something of the problem that it was given. What is told of it must hold of the cluster, or name
// the smaller problem; and a bound of a smaller problem is none.
func TestAProofOfASmallerProblemIsNotToldAsOneOfTheCluster(t *testing.T) {
	moves := int32(3)
	optimal := func(change func(*contract.Plan)) *contract.SolveUpdate {
		plan := &contract.Plan{Optimal: true, Tiers: []*contract.TierResult{{PlacedBefore: 1, Placed: 1, UpperBound: 1, Optimal: true}}}
		if change != nil {
			change(plan)
		}
		return &contract.SolveUpdate{Plan: plan}
	}
	refusing := func(reason, subject string) *contract.SolveUpdate {
		answer := optimal(nil)
		answer.Refusals = []*contract.Refusal{{Subject: subject, Reason: reason}}
		return answer
	}
	placed := func(plan *contract.Plan) { plan.Placements = []*contract.Placement{{PodUid: "waits", Node: "n1"}} }
	moved := func(plan *contract.Plan) { placed(plan); plan.Moves = []*contract.Move{{PodUid: "runs", ToNode: "n1"}} }
	pinned := func(s *Session) { s.Snapshot.Pin("runs", snapshot.CoolingDown) }
	for name, c := range map[string]struct {
		then    func(*Session)
		answer  *contract.SolveUpdate
		more    []*v1.Pod
		untried []*v1.Pod
		// want begins the message.
		want   string
		reason string
		bound  int32
	}{
		"nothing is missing":    {answer: optimal(nil), want: messageProved, reason: reasonProved, bound: 1},
		"nothing is proved":     {answer: &contract.SolveUpdate{Plan: &contract.Plan{}}, want: messageNotProved, reason: reasonNotProved},
		"pinned":                {then: pinned, answer: optimal(nil), want: "optimal for 1 of 1 waiting pods; left aside: 1 running pods that stay: cooling-down", reason: reasonLeftAside, bound: 2},
		"pinned, not proved":    {then: pinned, answer: &contract.SolveUpdate{Plan: &contract.Plan{}}, want: messageNotProved, reason: reasonNotProved},
		"pinned, all is placed": {then: pinned, answer: optimal(placed), want: messageProved, reason: reasonProved, bound: 1},
		"pinned, one is moved":  {then: pinned, answer: optimal(moved), want: "optimal for 1 of 1", reason: reasonLeftAside, bound: 2},
		"a pair was refused": {then: func(s *Session) { s.Snapshot.Forbid(s.Snapshot.Pods["waits"].Class, "n1") },
			answer: optimal(nil), want: "optimal for 1 of 1 waiting pods; left aside: 1 pairs", reason: reasonLeftAside, bound: 2},
		"fewer moves": {then: func(s *Session) { s.moveLimit = &moves }, answer: optimal(nil),
			want: "optimal for 1 of 1 waiting pods; left aside: plans of more than 3 moves", reason: reasonLeftAside, bound: 2},
		"a pod for another plan": {then: func(s *Session) { s.Snapshot.Drop("more") }, more: []*v1.Pod{testobjects.Pod("more", "", "1G").Obj()},
			answer: optimal(placed), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an untried pod":     {untried: []*v1.Pod{testobjects.Pod("more", "", "1G").Obj()}, answer: optimal(placed), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an unsupported pod": {more: []*v1.Pod{needy("more")}, answer: refusing("unsupported", "class x"), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an unsupported pod that runs": {more: []*v1.Pod{runsOn("n1", scratched("more"))}, answer: optimal(nil),
			want:   "optimal for 1 of 1 waiting pods; left aside: 1 running pods that stay, since they need what no plan can give",
			reason: reasonLeftAside},
		"an unsupported pod that a rule keeps": {more: []*v1.Pod{runsOn("n1", ofDaemonSet(scratched("more")))}, answer: optimal(nil),
			want: messageProved, reason: reasonProved},
		"a class that only the optimiser finds unsupported": {answer: refusing("unsupported", "class x"),
			want: "optimal for 1 of 1 waiting pods; left aside: 1 classes, nodes and others", reason: reasonLeftAside, bound: 2},
		"a known refusal": {answer: refusing("disruption-budget", "budget x"), want: messageProved, reason: reasonProved, bound: 1},
		"a strategy's refusal": {answer: refusing("existing-pods-anti-affinity", "pod default/waits"),
			want: "optimal for 0 of 1 waiting pods; left aside: 1 classes, nodes and others", reason: reasonLeftAside, bound: 2},
		"only untried pods": {then: func(s *Session) { s.Snapshot.Drop("waits") }, want: "optimal for 0 of 1", reason: reasonLeftAside},
	} {
		s := &Session{Record: &packingplan.Record{}, answer: c.answer, Snapshot: snapshot.Build(snapshot.Input{
			Nodes: []*v1.Node{testobjects.Node("n1", "100", "4G").Obj()}, Pods: append(c.more, runsOn("n1", testobjects.Pod("runs", "", "1G").Obj()), testobjects.Pod("waits", "", "1G").Obj()), Untried: c.untried,
			Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}})}
		if c.then != nil {
			c.then(s)
		}
		status := &s.Record.Status
		if c.answer != nil {
			describeAnswer(status, c.answer, s.Snapshot)
		}

		s.describe(s.optimality(), time.Now())

		condition := meta.FindStatusCondition(status.Conditions, packingplan.Optimal)
		if !strings.HasPrefix(condition.Message, c.want) || condition.Reason != c.reason || status.Optimal != (c.reason == reasonProved) {
			t.Errorf("%s: optimal %t, %s: %s; want %s: %s", name, status.Optimal, condition.Reason, condition.Message, c.reason, c.want)
		}
		if c.bound == 0 {
			continue
		}
		if tier := status.Tiers[0]; tier.UpperBound != c.bound || tier.Optimal != status.Optimal {
			t.Errorf("%s: tier %+v, want the bound %d", name, tier, c.bound)
		}
	}
}

// The optimiser's bounds and proofs are about devices where these are maximized. Told as pods, they would be wrong.
func TestAProofAboutDevicesIsNotToldAsOneAboutPods(t *testing.T) {
	s := &Session{Record: &packingplan.Record{}, Snapshot: snapshot.Build(snapshot.Input{
		Nodes: []*v1.Node{testobjects.Node("n2", "100", "4G").Obj()},
		Pods:  []*v1.Pod{runsOn("n2", testobjects.Pod("runs", "", "1G").Obj()), testobjects.Pod("waits", "", "1G").Obj(), testobjects.Pod("more", "", "1G").Obj()},
		Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName, CountsDevices: true}})}
	s.answer = &contract.SolveUpdate{Plan: &contract.Plan{Optimal: true, Placements: []*contract.Placement{{PodUid: "waits", Node: "n2"}},
		Tiers: []*contract.TierResult{{PlacedBefore: 25, Placed: 825, UpperBound: 830, Optimal: true}}}}
	status := &s.Record.Status

	describeAnswer(status, s.answer, s.Snapshot)
	s.describe(s.optimality(), time.Now())

	tier := status.Tiers[0]
	if tier.PlacedBefore != 1 || tier.Placed != 2 || tier.UpperBound != 3 || !tier.Optimal ||
		*tier.Devices != (packingplan.TierDevices{PlacedBefore: "0.25", Placed: "8.25", UpperBound: "8.3"}) {
		t.Errorf("the tier is %+v, with the devices %+v", tier, tier.Devices)
	}
	if condition := meta.FindStatusCondition(status.Conditions, packingplan.Optimal); !strings.HasSuffix(condition.Message, "devices are counted, not pods") {
		t.Errorf("proved is: %s", condition.Message)
	}

	s.Snapshot.Pin("runs", snapshot.CoolingDown)
	s.describe(s.optimality(), time.Now())

	if tier = status.Tiers[0]; tier.UpperBound != 3 || tier.Devices.UpperBound != "" || tier.Optimal {
		t.Errorf("of a smaller problem, the tier is %+v, with the devices %+v", tier, tier.Devices)
	}
}

// needy asks for what no plan can give.
func needy(owner string) *v1.Pod {
	pod := testobjects.Pod(owner, "", "1G").Obj()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device"}}
	return pod
}

func runsOn(node string, pod *v1.Pod) *v1.Pod {
	pod.Spec.NodeName, pod.Status.Phase = node, v1.PodRunning
	return pod
}

// What was moved is not moved again within the cool-down that a plan asks for; the rest of its workload may be, or a
// window would be over after one plan.
func TestOnlyWhatWasMovedIsLeftAloneWithinThePlansOwnCoolDown(t *testing.T) {
	began := time.Date(2026, 1, 1, 2, 0, 0, 500, time.UTC)
	moved := plan.Moved{Owner: "rs-one", From: "x", To: "y", Began: began, At: began.Add(5 * time.Minute)}
	pod := func(owner types.UID, created time.Time) *snapshot.Pod {
		return &snapshot.Pod{Owner: owner, Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}}
	}
	for text, row := range map[string]struct {
		pod   *snapshot.Pod
		after time.Duration
		cools bool
	}{
		"it came while the plan went on":        {pod("rs-one", began.Truncate(time.Second)), time.Hour, true},
		"it came a little late":                 {pod("rs-one", moved.At.Add(30*time.Second)), time.Hour, true},
		"it was there before":                   {pod("rs-one", began.Add(-time.Minute)), time.Hour, false},
		"it came when the workload grew":        {pod("rs-one", moved.At.Add(10*time.Minute)), time.Hour, false},
		"it is of another workload":             {pod("rs-two", began.Add(time.Minute)), time.Hour, false},
		"the cool-down is over":                 {pod("rs-one", began.Add(time.Minute)), 5 * time.Hour, false},
		"the plan asks for no cool-down itself": {pod("rs-one", began.Add(time.Minute)), 0, false},
	} {
		t.Run(text, func(t *testing.T) {
			coolDown := 4 * time.Hour
			if row.after == 0 {
				coolDown, row.after = 0, time.Hour
			}

			until := coolingOf([]plan.Moved{moved, moved}, 0, coolDown).until(row.pod)

			cools := began.Add(row.after).Before(until)
			if cools != row.cools || cools && !until.Equal(moved.At.Add(coolDown+time.Second)) {
				t.Errorf("cools %t until %v", cools, until)
			}
		})
	}
}
