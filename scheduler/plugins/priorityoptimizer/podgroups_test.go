package priorityoptimizer

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
)

// member is a pod of a pod group. Here its group is no more than a name, so that the scheduler tries it alone.
func member(owner string, memoryGB int) *v1.Pod {
	pod := testPod(owner, memoryGB, 0)
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To("group")}
	return pod
}

// One pod of a group that is held back holds back all of them, and none of them says why.
func TestNoPodOfAGroupWaitsForASolve(t *testing.T) {
	c := fullNode(t, silent, nil)
	c.eventually("the solve has begun", func() bool { return c.optimizer.asked() == 1 })
	c.add(testPod("newcomer", 1, 0))
	c.await("the newcomer is held", func() bool { return c.plugin.waiting.Count(reasonHeld) == 1 }, false)

	c.add(member("member", 1))

	c.await("the pod of a group is placed", func() bool { return c.nodeOf("member") != "" }, false)
	if c.nodeOf("newcomer") != "" || !c.plugin.hold.active() {
		t.Error("the solve is over, and proves nothing")
	}
}

// The scheduler reserves room for the pods of a group, takes it back, and reserves it again when it has decided. What was
// only tried must not look like a pod that is about to be bound, nor wake anybody.
func TestATrialOfAPodGroupReservesNothing(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	p := &Plugin{inFlight: newInFlight(), wake: make(chan struct{}, 1), hold: testHold(clock)}
	pod, state := member("member", 1), framework.NewCycleState()

	state.SetPodGroupSchedulingCycle(framework.NewCycleState())
	tried := p.Reserve(t.Context(), state, pod, "n1")
	counted := len(p.inFlight.all())
	state.SetPodGroupSchedulingCycle(nil)
	reserved := p.Reserve(t.Context(), state, pod, "n1")
	state.SetPodGroupSchedulingCycle(framework.NewCycleState())
	p.Unreserve(t.Context(), state, pod, "n1")

	if !tried.IsSuccess() || !reserved.IsSuccess() || counted != 0 || len(p.inFlight.all()) != 1 || len(p.wake) != 0 {
		t.Errorf("tried %v, %d in flight; reserved %v, %d in flight after another trial", tried, counted, reserved,
			len(p.inFlight.all()))
	}
}
