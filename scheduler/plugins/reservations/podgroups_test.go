package reservations

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func inGroup(pod *v1.Pod) *v1.Pod {
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{}
	return pod
}

// The scheduler reserves room for the pods of a group, takes it back, and reserves it again when it has decided.
func TestATrialOfAPodGroupTakesNothing(t *testing.T) {
	plugin, _ := queueing(t)
	owner, cycle := inGroup(podOf("owner")), framework.NewCycleState()
	takes := func(trial bool) bool {
		cycle.SetPodGroupSchedulingCycle(nil)
		if trial {
			cycle.SetPodGroupSchedulingCycle(framework.NewCycleState())
		}
		if status := plugin.Reserve(t.Context(), cycle, owner, "n1"); !status.IsSuccess() {
			t.Fatal(status)
		}
		found := stateOf(cycle)
		return found != nil && found.taken != nil
	}

	tried, taken := takes(true), takes(false)
	cycle.SetPodGroupSchedulingCycle(framework.NewCycleState())
	plugin.Unreserve(t.Context(), cycle, owner, "n1")

	if tried || !taken || stateOf(cycle).taken == nil {
		t.Errorf("taken in the trial: %t, then: %t, after another trial: %v", tried, taken, stateOf(cycle).taken)
	}
}
