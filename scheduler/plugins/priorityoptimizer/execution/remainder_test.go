package execution

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
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
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	status := &record.Status
	for _, node := range []string{"n1", "n2", "n3"} {
		status.Steps = append(status.Steps, &packingplan.Step{PodUID: "gone-" + node, OwnerUID: "rs-web", Class: "c",
			From: "x", To: node, State: "Evicted"})
	}
	status.Steps = append(status.Steps, &packingplan.Step{PodUID: "d", OwnerUID: "rs-web", Class: "c", From: "x", To: "n2", State: "Bound"})

	left := RemainderOf(record, now)

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

// The rest of a unit that a former process was moving would be of no use without the pod that has no replacement.
func TestUnitIsAdoptedWholeOrNotAtAll(t *testing.T) {
	for text, row := range map[string]struct {
		comes     []string
		steps     int
		adopted   int
		unitsLeft string
	}{
		"a replacement is missing": {[]string{"a"}, 1, 0, ""},
		"both have come":           {[]string{"a", "b"}, 4, 2, "gang"},
	} {
		now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{}}
		add := func(uid types.UID, owner types.UID, node string) {
			object := testobjects.Pod(string(uid), "", "1G").Obj()
			object.UID = uid
			now.Pods[uid] = &snapshot.Pod{Object: object, Class: "c", Owner: owner, Node: node}
		}
		add("alone", "rs-alone", "n9")
		add("stays", "gang", "n3")
		for _, name := range row.comes {
			add(types.UID(name), types.UID("gang-"+name), "")
		}
		record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
		status := &record.Status
		status.Steps = []*packingplan.Step{
			{PodUID: "gone-a", OwnerUID: "gang-a", Class: "c", From: "n1", To: "n4", State: "Evicted", Unit: "gang"},
			{PodUID: "gone-b", OwnerUID: "gang-b", Class: "c", From: "n2", To: "n5", State: "Evicted", Unit: "gang"},
			{PodUID: "stays", OwnerUID: "gang", Class: "c", From: "n3", To: "n6", State: "Waiting", Unit: "gang"},
			{PodUID: "alone", OwnerUID: "rs-alone", Class: "c", From: "n9", To: "n7", State: "Waiting"}}

		left := RemainderOf(record, now)

		if len(left.Steps) != row.steps || len(left.adopted) != row.adopted || left.Steps[0].Unit != row.unitsLeft {
			t.Errorf("%s: %d steps are left, %d adopted, the first of unit %q", text, len(left.Steps), len(left.adopted), left.Steps[0].Unit)
		}
		if states := status.Steps[0].State + status.Steps[2].State; states != "GoneWaiting" {
			t.Errorf("%s: states %s", text, states)
		}
	}
}

// Pods of a kind are alike: any of them may have taken the place that was made for the replacement of another one. The plan
// must not send a second pod there, for which there is no room. A replacement that is still to be created has its place, too.
func TestPlaceThatAnotherPodOfTheKindHasTakenIsNotGivenTwice(t *testing.T) {
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	record.Status.Steps = []*packingplan.Step{{PodUID: "gone", OwnerUID: "rs-web", Class: "c", From: "n2", To: "n1", State: "Evicted"}}
	web := func(name, node, takenFrom string) *snapshot.Pod {
		object := testobjects.Pod("web", "", "1G").UID(name).Obj()
		if takenFrom != "" {
			object.Annotations = map[string]string{reservation.AllocatedAnnotation: reservation.Taken{UID: types.UID(takenFrom)}.Text()}
		}
		return &snapshot.Pod{Object: object, Class: "c", Owner: "rs-web", Node: node}
	}
	for text, c := range map[string]struct {
		there          []*snapshot.Pod
		steps, awaited int
	}{
		"taken":              {[]*snapshot.Pod{web("sibling", "n1", "uid-plan"), web("replacement", "", "")}, 0, 0},
		"taken from another": {[]*snapshot.Pod{web("sibling", "n1", "uid-other"), web("replacement", "", "")}, 1, 0},
		"not replaced yet":   {nil, 0, 1},
	} {
		now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{}}
		for _, pod := range c.there {
			now.Pods[pod.Object.UID] = pod
		}
		record.Status.Steps[0].State = "Evicted"

		left := RemainderOf(record, now)

		if len(left.Steps) != c.steps || len(left.Awaited) != c.awaited {
			t.Errorf("%s: steps %v, awaited %v", text, left.Steps, left.Awaited)
		}
	}
}

// What a pod takes that a former process has evicted is room to come: the plan must not end for lack of it.
func TestPodsThatStillTerminateAreNamed(t *testing.T) {
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	leaves := &snapshot.Pod{Object: testobjects.Pod("web", "", "1G").UID("leaves").Obj(), Owner: "rs-web", Node: "n2", Immovable: snapshot.Terminating}
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{"leaves": leaves}}
	for to, recorded := range map[string]packingplan.State{"n1": packingplan.Evicted, "n3": packingplan.Waiting, "": packingplan.Evicted} {
		record.Status.Steps = []*packingplan.Step{{PodUID: "leaves", OwnerUID: "rs-web", From: "n2", To: to, State: recorded}}

		if left := RemainderOf(record, now); len(left.Terminating) != 1 {
			t.Errorf("to %q, recorded as %s: %d pods terminate", to, recorded, len(left.Terminating))
		}
	}
}
