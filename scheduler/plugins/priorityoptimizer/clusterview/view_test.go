package clusterview_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// The waiting pods of a gang are planned together. If one comes after the others were tried, a plan for these alone
// could not be carried out, and one for none of them would leave the group waiting as long as pods keep coming.
func TestASnapshotHasAllWaitingPodsOfAGroupOrNone(t *testing.T) {
	handle := testobjects.NewHandle()
	add := func(name string, change func(*v1.Pod)) {
		pod := testobjects.With(testobjects.Pod(name, "1", "1Gi").Obj(), change)
		testobjects.Must(t, handle.Informers.Core().V1().Pods().Informer().GetStore().Add(pod))
	}
	for name, group := range map[string]string{"tried": "a", "late": "a", "other": "b"} {
		add(name, func(pod *v1.Pod) { pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To(group)} })
		add("job-"+name, func(pod *v1.Pod) { pod.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": group} })
	}
	add("alone", func(*v1.Pod) {})
	rules := snapshot.Rules{SchedulerName: v1.DefaultSchedulerName, GroupKinds: snapshot.KnownGroupKinds}
	view := testobjects.Value(clusterview.New(handle, rules, nil))(t)
	view.Groups = func(string, string) (minor.Group, bool) { return minor.Group{Gang: true, MinCount: 2}, true }

	s := view.SnapshotUnder(view.Rules, "s", func(pod *v1.Pod) bool { return pod.Name == "tried" || pod.Name == "job-tried" })

	for _, want := range []types.UID{"tried", "late", "job-tried", "job-late"} {
		if s.Pods[want] == nil {
			t.Errorf("pod %s is not in the snapshot", want)
		}
	}
	if got := s.WaitingOmitted(); got != 3 {
		t.Errorf("%d waiting pods are left out, want 3", got)
	}
}
