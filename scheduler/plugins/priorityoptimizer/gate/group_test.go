package gate

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// permits is what a plugin sees of the pods that wait in Permit.
type permits struct {
	fwk.Handle
	pods []*permitted
}

func (p *permits) IterateOverWaitingPods(look func(fwk.WaitingPod)) {
	for _, one := range p.pods {
		look(one)
	}
}

// permitted is a pod that waits in Permit.
type permitted struct {
	fwk.WaitingPod
	pod      *v1.Pod
	rejected bool
}

func (p *permitted) GetPod() *v1.Pod { return p.pod }

func (p *permitted) Reject(string, string) bool {
	p.rejected = true
	return true
}

// groupGate is a plugin whose scheduler knows pod groups.
func groupGate(pace Pace) (*Gate, *testingclock.FakeClock) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, pace)
	g.triesGroups, g.handle = true, &permits{}
	g.Hold.longest, g.Hold.budget = time.Minute, time.Minute
	return g, clock
}

// testMember is a pod of a pod group.
func testMember(name, group string) *v1.Pod {
	pod := testPod(name)
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
	return pod
}

// tried are the pods of a group after the scheduler has tried all of them, and has taken that back.
type tried struct {
	shared fwk.PodGroupCycleState
	states []*framework.CycleState
	// refused are those that PreFilter rejected.
	refused int
}

func try(t *testing.T, g *Gate, pods ...*v1.Pod) tried {
	t.Helper()
	shared := framework.NewCycleState()
	made := tried{shared: shared}
	for _, pod := range pods {
		state := framework.NewCycleState()
		state.SetPodGroupSchedulingCycle(shared)
		made.states = append(made.states, state)
		if _, status := g.PreFilter(t.Context(), state, pod, nil); status.IsRejected() {
			made.refused++
			continue
		}
		if status := g.Reserve(t.Context(), state, pod, "n1"); !status.IsSuccess() {
			t.Errorf("%s could not be tried: %s", pod.Name, status.Message())
		}
	}
	for i, state := range made.states {
		g.Unreserve(t.Context(), state, pods[i], "n1")
		state.SetPodGroupSchedulingCycle(nil)
	}
	return made
}

// reserves says for which of the pods room is reserved once they were tried; between is called after the first one.
func (m tried) reserves(t *testing.T, g *Gate, between func(), pods ...*v1.Pod) (reserved []bool) {
	t.Helper()
	for i, pod := range pods {
		reserved = append(reserved, g.Reserve(t.Context(), m.states[i], pod, "n1").IsSuccess())
		if i == 0 {
			between()
		}
	}
	return reserved
}

// A hold that begins or ends between two pods of a group would leave one of them waiting in Permit, with its room, for
// the other one. A plan that starts counts on the room of both.
func TestPodsOfAGroupAreReservedAllOrNone(t *testing.T) {
	for text, c := range map[string]struct {
		before, between func(*Gate)
		want            bool
	}{
		"nothing happens":   {func(*Gate) {}, func(*Gate) {}, true},
		"a hold begins":     {func(*Gate) {}, func(g *Gate) { g.Hold.Begin(time.Second) }, true},
		"a hold ends":       {func(g *Gate) { g.Hold.Begin(time.Second) }, func(g *Gate) { g.Hold.End() }, false},
		"a plan has begun":  {func(g *Gate) { g.Execution.Store(executor.New(&plan.Plan{}, nil, 0)) }, func(*Gate) {}, false},
		"room is kept back": {func(g *Gate) { g.HoldBack(keepsNobody, ReasonUndecided, noRoom) }, func(*Gate) {}, false},
	} {
		g, _ := groupGate(Pace{})
		g.Hold.released = func() {}
		pods := []*v1.Pod{testMember("a", "group"), testMember("b", "group")}
		group := try(t, g, pods...)
		c.before(g)

		reserved := group.reserves(t, g, func() { c.between(g) }, pods...)

		if reserved[0] != c.want || reserved[1] != c.want || len(g.InFlight.All()) != map[bool]int{true: 2}[c.want] {
			t.Errorf("%s: reserved %v, in flight %v", text, reserved, g.InFlight.All())
		}
	}
}

func keepsNobody(*v1.Pod) bool { return false }

func noRoom() map[string]resources.Vector { return nil }

// A group that comes back from its back-off is not asked in the queue. One of its pods waits for the end of the solve,
// so all of them do; they found no node before, and say nothing new.
func TestAGroupOfWhichOnePodWaitsWaitsWhole(t *testing.T) {
	g, _ := groupGate(Pace{Type: OnUnschedulable, Settle: time.Second})
	first, second := testMember("a", "group"), testMember("b", "group")
	g.HoldBack(func(pod *v1.Pod) bool { return pod.UID == first.UID }, ReasonInSolve, nil)

	group := try(t, g, first, second)
	g.groupFailed(group.shared, []*v1.Pod{first, second})

	if group.refused != 2 || g.Waiting.Count(ReasonInSolve) != 2 || g.Trigger.All().Len() != 0 {
		t.Errorf("%d were refused, %d wait, marked are %v", group.refused, g.Waiting.Count(ReasonInSolve), g.Trigger.All())
	}
}

// Sixty-four pods of a group that fail together ask for one solve, and one more pod of the group waits for it. Pods of
// the group that wait in Permit for those that have failed would hold their room for five minutes.
func TestAGroupThatFailsIsMarkedWhole(t *testing.T) {
	g, clock := groupGate(Pace{Type: OnUnschedulable, Settle: time.Second})
	ours, theirs := &permitted{pod: testMember("waits", "group")}, &permitted{pod: testMember("theirs", "another")}
	g.handle = &permits{pods: []*permitted{ours, theirs}}
	pods := []*v1.Pod{testMember("a", "group"), testMember("b", "group")}
	for _, pod := range pods {
		pod.CreationTimestamp.Time = clock.Now()
	}

	status := g.groupFailed(try(t, g, pods...).shared, pods)
	late := g.PreEnqueue(t.Context(), testMember("late", "group"))
	stranger := g.PreEnqueue(t.Context(), testMember("other", "another"))

	if status.Code() != fwk.Unschedulable || g.Trigger.All().Len() != 3 || len(g.Wake) != 1 {
		t.Errorf("%v; marked are %v", status, g.Trigger.All())
	}
	if late.Message() != string(ReasonNextSolve) || !stranger.IsSuccess() {
		t.Errorf("a late pod of the group: %v, one of another group: %v", late, stranger)
	}
	if !ours.rejected || theirs.rejected {
		t.Errorf("rejected in Permit: %t of the group, %t of another one", ours.rejected, theirs.rejected)
	}
}

// A group that a plan keeps off some nodes is not unschedulable: no other plan would help it.
func TestAGroupThatThePlanKeepsOffNodesIsNotMarked(t *testing.T) {
	g, _ := groupGate(Pace{Type: OnUnschedulable, Settle: time.Second})
	pods := []*v1.Pod{testMember("a", "group"), testMember("b", "group")}
	node := testobjects.NodeInfos(testobjects.Node("n1", "1", "1G").Obj())[0]
	planned := testPod("planned")
	g.Execution.Store(executor.New(&plan.Plan{Placements: []plan.Step{{To: "n1",
		Pod: &snapshot.Pod{Object: planned, Owner: "rs-planned", Requests: g.book.Needs(planned)}}}}, nil, 0))
	shared := framework.NewCycleState()
	state := framework.NewCycleState()
	state.SetPodGroupSchedulingCycle(shared)
	g.PreFilter(t.Context(), state, pods[0], nil)

	kept := g.Filter(t.Context(), state, pods[0], node)
	g.groupFailed(shared, pods)

	if kept.IsSuccess() || g.Waiting.Count(ReasonReserved) != 2 || g.Trigger.All().Len() != 0 {
		t.Errorf("kept off %t, %d wait for the end of the plan, marked are %v", !kept.IsSuccess(),
			g.Waiting.Count(ReasonReserved), g.Trigger.All())
	}
}

// The queue holds a group back if it holds one of its pods back. So the gate says the same of a pod that the plan has a
// place for and of one that it has none for, until all of its places have room.
func TestThePodsOfAGroupWaitUntilAllPlannedOnesHaveRoom(t *testing.T) {
	g, _ := groupGate(Pace{})
	first, second, extra := testMember("a", "group"), testMember("b", "group"), testMember("extra", "group")
	room, of := map[string]resources.Vector{"n1": g.book.Needs(first)}, &plan.Plan{}
	for i, pod := range []*v1.Pod{first, second} {
		of.Placements = append(of.Placements, plan.Step{To: []string{"n1", "n2"}[i], Unit: "gang/" + snapshot.GroupOf(pod),
			Pod: &snapshot.Pod{Object: pod, Owner: pod.OwnerReferences[0].UID, Class: (snapshot.Classes{}).ID(pod),
				Requests: g.book.Needs(pod)}})
	}
	execution := executor.New(of, room, 0)
	execution.Note(first)
	execution.Note(second)
	g.Execution.Store(execution)
	ask := func() (reasons []waiting.Reason) {
		execution.Activatable(room, func(types.UID) bool { return false })
		for _, pod := range []*v1.Pod{first, second, extra} {
			reasons = append(reasons, waiting.Reason(g.PreEnqueue(t.Context(), pod).Message()))
		}
		return reasons
	}

	early := ask()
	hint, _ := g.hint(g.logger, extra, nil, nil)
	room["n2"] = g.book.Needs(second)
	late := ask()

	for i := range early {
		if early[i] != ReasonNoRoom || late[i] != "" {
			t.Errorf("pod %d: %q, then %q", i, early[i], late[i])
		}
	}
	if hint != fwk.QueueSkip {
		t.Error("each eviction of the plan wakes the group up")
	}
}
