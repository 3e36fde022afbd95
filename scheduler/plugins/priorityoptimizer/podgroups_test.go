package priorityoptimizer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
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
	c.await("the newcomer is held", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld) == 1 }, false)

	c.add(member("member", 1))

	c.await("the pod of a group is placed", func() bool { return c.nodeOf("member") != "" }, false)
	if c.nodeOf("newcomer") != "" || !c.plugin.Hold.Active() {
		t.Error("the solve is over, and proves nothing")
	}
}
