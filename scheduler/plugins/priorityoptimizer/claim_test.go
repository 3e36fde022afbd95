package priorityoptimizer

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// needy asks for what no plan can give.
func needy(owner string) *v1.Pod {
	pod := testPod(owner, 1, 0)
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device"}}
	return pod
}

// scratched has a volume that goes with it.
func scratched(owner string) *v1.Pod {
	pod := testPod(owner, 1, 0)
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
	optimal := func(change func(*contract.Plan)) *optimizerclient.Answer {
		plan := &contract.Plan{Optimal: true, Tiers: []*contract.TierResult{{PlacedBefore: 1, Placed: 1, UpperBound: 1, Optimal: true}}}
		if change != nil {
			change(plan)
		}
		return &optimizerclient.Answer{Plan: plan}
	}
	refusing := func(reason, subject string) *optimizerclient.Answer {
		answer := optimal(nil)
		answer.Refusals = []*contract.Refusal{{Subject: subject, Reason: reason}}
		return answer
	}
	placed := func(plan *contract.Plan) { plan.Placements = []*contract.Placement{{PodUid: "waits", Node: "n1"}} }
	moved := func(plan *contract.Plan) { placed(plan); plan.Moves = []*contract.Move{{PodUid: "runs", ToNode: "n1"}} }
	pinned := func(s *solveSession) { s.snapshot.Pin("runs", snapshot.CoolingDown) }
	for name, c := range map[string]struct {
		then    func(*solveSession)
		answer  *optimizerclient.Answer
		more    []*v1.Pod
		untried []*v1.Pod
		// want begins the message.
		want   string
		reason string
		bound  int32
	}{
		"nothing is missing":    {answer: optimal(nil), want: messageProved, reason: reasonProved, bound: 1},
		"nothing is proved":     {answer: &optimizerclient.Answer{Plan: &contract.Plan{}}, want: messageNotProved, reason: reasonNotProved},
		"pinned":                {then: pinned, answer: optimal(nil), want: "optimal for 1 of 1 waiting pods; left aside: 1 running pods that stay: cooling-down", reason: reasonLeftAside, bound: 2},
		"pinned, not proved":    {then: pinned, answer: &optimizerclient.Answer{Plan: &contract.Plan{}}, want: messageNotProved, reason: reasonNotProved},
		"pinned, all is placed": {then: pinned, answer: optimal(placed), want: messageProved, reason: reasonProved, bound: 1},
		"pinned, one is moved":  {then: pinned, answer: optimal(moved), want: "optimal for 1 of 1", reason: reasonLeftAside, bound: 2},
		"a pair was refused": {then: func(s *solveSession) { s.snapshot.Forbid(s.snapshot.Pods["waits"].Class, "n1") },
			answer: optimal(nil), want: "optimal for 1 of 1 waiting pods; left aside: 1 pairs", reason: reasonLeftAside, bound: 2},
		"fewer moves": {then: func(s *solveSession) { s.moveLimit = &moves }, answer: optimal(nil),
			want: "optimal for 1 of 1 waiting pods; left aside: plans of more than 3 moves", reason: reasonLeftAside, bound: 2},
		"a pod for another plan": {then: func(s *solveSession) { s.snapshot.Drop("more") }, more: []*v1.Pod{testPod("more", 1, 0)},
			answer: optimal(placed), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an untried pod":     {untried: []*v1.Pod{testPod("more", 1, 0)}, answer: optimal(placed), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an unsupported pod": {more: []*v1.Pod{needy("more")}, answer: refusing("unsupported", "class x"), want: "optimal for 1 of 2", reason: reasonLeftAside, bound: 3},
		"an unsupported pod that runs": {more: []*v1.Pod{runningOn("n1", scratched("more"))}, answer: optimal(nil),
			want:   "optimal for 1 of 1 waiting pods; left aside: 1 running pods that stay, since they need what no plan can give",
			reason: reasonLeftAside},
		"an unsupported pod that a rule keeps": {more: []*v1.Pod{runningOn("n1", ofDaemonSet(scratched("more")))}, answer: optimal(nil),
			want: messageProved, reason: reasonProved},
		"a class that only the optimiser finds unsupported": {answer: refusing("unsupported", "class x"),
			want: "optimal for 1 of 1 waiting pods; left aside: 1 classes, nodes and others", reason: reasonLeftAside, bound: 2},
		"a known refusal": {answer: refusing("disruption-budget", "budget x"), want: messageProved, reason: reasonProved, bound: 1},
		"a strategy's refusal": {answer: refusing("kept-away", "pod default/waits"),
			want: "optimal for 0 of 1 waiting pods; left aside: 1 classes, nodes and others", reason: reasonLeftAside, bound: 2},
		"only untried pods": {then: func(s *solveSession) { s.snapshot.Drop("waits") }, want: "optimal for 0 of 1", reason: reasonLeftAside},
	} {
		s := &solveSession{record: &packingplan.Record{}, answer: c.answer, snapshot: snapshot.Build(snapshot.Input{
			Nodes: []*v1.Node{testNode("n1", 4)}, Pods: append(c.more, runningOn("n1", testPod("runs", 1, 0)), testPod("waits", 1, 0)), Untried: c.untried,
			Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}})}
		if c.then != nil {
			c.then(s)
		}
		status := &s.record.Status
		if c.answer != nil {
			describeAnswer(status, c.answer)
		}

		s.describe(s.claim(), time.Now())

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

// A state is settled only if it is proved that nothing better exists. Where pods were left aside, it is asked about again
// as soon as after a search that found nothing in time.
func TestAStateWithPodsLeftAsideIsNotSettled(t *testing.T) {
	for name, row := range map[string]struct {
		beside []*v1.Pod
		again  bool
	}{
		"all were asked about": {nil, false},
		"one was left aside":   {[]*v1.Pod{needy("needy")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, nothing, func(c *cluster) { c.args.Trigger, c.args.IntervalSeconds = gate.Periodic, 5 }, testNode("n1", 4))
			c.add(row.beside...)
			c.addInTurn(testPod("resident", 2, 0))
			c.add(testPod("waiting", 3, 0))
			c.eventually("it is asked about", func() bool {
				return slices.ContainsFunc(c.optimizer.received(), func(request *contract.SolveRequest) bool {
					return slices.ContainsFunc(request.Snapshot.Pods, func(pod *contract.Pod) bool { return pod.Name == "waiting" })
				})
			})
			before := c.optimizer.asked()

			c.advanceClock(2 * unprovedFor)

			if asked := c.optimizer.asked() > before; asked != row.again {
				t.Errorf("asked again: %t, want %t; %s", asked, row.again, c.state())
			}
			last := slices.MaxFunc(c.plansOf(), func(a, b *packingplan.Record) int {
				return a.Status.StartTime.Compare(b.Status.StartTime.Time)
			})
			if last.Status.Optimal == row.again || strings.Contains(last.Status.Message, "left aside") != row.again {
				t.Errorf("optimal %t, %q", last.Status.Optimal, last.Status.Message)
			}
		})
	}
}
