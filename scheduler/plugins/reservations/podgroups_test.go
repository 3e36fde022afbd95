package reservations

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func inGroup(pod *v1.Pod) *v1.Pod {
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{}
	return pod
}

// PostFilter is not asked about the pods of a group. Without the plugin's own memory such a pod would wait for minutes
// beside room that has come free.
func TestAPodOfAGroupIsWokenUpWhenRoomComesFree(t *testing.T) {
	plugin, woken := queueing(t)
	refuse(t, plugin, inGroup(waiter("member")), true, "n1")

	plugin.Freed(sets.New("n1"))

	if !slices.Equal(*woken, []string{"member"}) {
		t.Errorf("woken up %v", *woken)
	}
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
