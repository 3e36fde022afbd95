package execution

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// A replacement that runs already is the arrival of its move, and waited for as long as it has not been ready.
func TestRemainderFindsTheReplacementsThatRun(t *testing.T) {
	pod := func(name, node string, serves bool) *snapshot.Pod {
		object := testobjects.Pod("web", "", "1G").Obj()
		object.Name = name
		if serves {
			object.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
		return &snapshot.Pod{Object: object, Class: "c", Owner: "rs-web", Node: node}
	}
	leaving := pod("leaving", "n3", true)
	leaving.Immovable = snapshot.Terminating
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{"a": pod("serves", "n1", true), "b": pod("starts", "n2", false), "c": leaving}}
	status := &packingplan.Status{}
	for _, node := range []string{"n1", "n2", "n3"} {
		status.Steps = append(status.Steps, &packingplan.Step{PodUID: "gone-" + node, OwnerUID: "rs-web", Class: "c",
			From: "x", To: node, State: "Evicted"})
	}
	status.Steps = append(status.Steps, &packingplan.Step{PodUID: "d", OwnerUID: "rs-web", Class: "c", From: "x", To: "n2", State: "Bound"})

	left := RemainderOf(status, now)

	states := ""
	for _, move := range status.Steps {
		states += string(move.State) + " "
	}
	if states != "Bound Bound Gone Bound " {
		t.Errorf("states %s", states)
	}
	if len(left.starting) == 0 || slices.ContainsFunc(left.starting, func(pod *v1.Pod) bool { return pod.Name != "starts" }) {
		t.Errorf("waits for %v", left.starting)
	}
}
