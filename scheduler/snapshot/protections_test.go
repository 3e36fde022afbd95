package snapshot_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Users with a waiting pod want to know which rule keeps the room that it needs, not each rule that protects some pod.
func TestARuleIsInTheWayOfPodsThatNeedTheRoomThatItKeeps(t *testing.T) {
	needs := func(amount string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse(amount)
		}
	}
	bare := func(pod *v1.Pod) { pod.OwnerReferences = nil }
	s := build([]*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "4Gi")},
		aPod("b-bare", "n1", bare), aPod("a-bare", "n1", bare), aPod("daemon", "n2", ownedBy("DaemonSet")),
		aPod("movable", "n1"),
		aPod("large", "", needs("7Gi")), aPod("large-too", "", needs("7Gi")), aPod("placed", "", needs("7Gi")),
		aPod("small", "", needs("1Gi")), aPod("too-large", "", needs("9Gi")))

	kept := s.Protections(func(uid types.UID) bool { return uid != "uid-placed" })

	want := []snapshot.Protection{
		{Reason: snapshot.Bare, Pods: 2, Example: "default/a-bare", InTheWayOf: 2},
		{Reason: snapshot.DaemonSet, Pods: 1, Example: "default/daemon"},
	}
	if !slices.Equal(kept, want) {
		t.Errorf("%+v, want %+v", kept, want)
	}
}
