package clusterview_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// The scheduler tries the waiting pods of a group together. If one comes after the others were tried, a plan for these alone
// could not be carried out, and one for none of them would leave the group waiting as long as pods keep coming.
func TestASnapshotHasAllWaitingPodsOfAGroupOrNone(t *testing.T) {
	handle := testobjects.NewHandle()
	for name, group := range map[string]string{"tried": "a", "late": "a", "other": "b", "alone": ""} {
		pod := testobjects.Pod(name, "1", "1Gi").Obj()
		if group != "" {
			pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To(group)}
		}
		testobjects.Must(t, handle.Informers.Core().V1().Pods().Informer().GetStore().Add(pod))
	}
	view := testobjects.Value(clusterview.New(handle, snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}, nil))(t)
	view.Groups = func(string, string) (minor.Group, bool) { return minor.Group{Gang: true, MinCount: 2}, true }

	s := view.SnapshotUnder(view.Rules, "s", func(pod *v1.Pod) bool { return pod.Name == "tried" })

	if s.Pods["tried"] == nil || s.Pods["late"] == nil || len(s.Pods) != 2 {
		t.Errorf("the snapshot has %d pods: %v", len(s.Pods), s.Message.Pods)
	}
	if got := s.WaitingOmitted(); got != 2 {
		t.Errorf("%d waiting pods are left out, want 2", got)
	}
}
