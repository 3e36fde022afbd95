package execution

import (
	"fmt"
	"slices"
	"strings"
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
		object := testobjects.Pod("web", "", "1G").Annotation(reservation.AllocatedAnnotation, reservation.Taken{UID: "uid-plan"}.Text()).Obj()
		object.Name = name
		if serves {
			object.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		}
		return &snapshot.Pod{Object: object, Class: "c", Owner: "rs-web", Node: node}
	}
	leaving := pod("leaving", "n3", true)
	leaving.Immovable = snapshot.Terminating
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{"a": pod("serves", "n1", true), "b": pod("starts", "n2", false), "c": leaving,
		"d": pod("serves-too", "n2", true)}}
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	status := &record.Status
	for _, node := range []string{"n1", "n2", "n3"} {
		status.Steps = append(status.Steps, &packingplan.Step{PodUID: "gone-" + node, OwnerUID: "rs-web", Class: "c",
			From: "x", To: node, State: "Evicted"})
	}
	status.Steps = append(status.Steps, &packingplan.Step{PodUID: "gone", OwnerUID: "rs-web", Class: "c", From: "x", To: "n2", State: "Bound"})

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

// Of a unit that a former process was moving, what has left is of no use without the rest. So the rest follows, and the
// place of a pod that has no replacement yet is kept.
func TestUnitThatAFormerProcessHasBegunIsAdoptedWhole(t *testing.T) {
	for text, row := range map[string]struct {
		comes   []string
		steps   int
		adopted int
		awaited int
	}{
		"a replacement is missing": {[]string{"a"}, 3, 1, 1},
		"both have come":           {[]string{"a", "b"}, 4, 2, 0},
		"none has come":            {nil, 2, 0, 2},
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

		if len(left.Steps) != row.steps || adopted(left) != row.adopted || len(left.Awaited) != row.awaited {
			t.Errorf("%s: %d steps are left, %d adopted, %d awaited", text, len(left.Steps), adopted(left), len(left.Awaited))
		}
		others := slices.ContainsFunc(left.Awaited, func(one *packingplan.Step) bool { return one.Unit != "gang" })
		if others || !slices.Equal(left.CarriedOn, []string{"gang"}) {
			t.Errorf("%s: begun are %v, awaited %v", text, left.CarriedOn, left.Awaited)
		}
		if states := status.Steps[0].State + status.Steps[2].State; states != "GoneWaiting" {
			t.Errorf("%s: states %s", text, states)
		}
	}
}

// A unit of which nothing has begun is of no use without the pod that is gone. If a pod of it has come, the others
// follow.
func TestUnitOfWaitingPodsIsAdoptedWholeUnlessOneHasCome(t *testing.T) {
	for text, c := range map[string]struct {
		// there are the pods of the plan that still exist, as name@node.
		there, left string
	}{
		"all wait":                      {"a@ b@ c@", "a b c"},
		"one is gone":                   {"a@ b@", ""},
		"one has come":                  {"a@n1 b@ c@", "b c"},
		"one has come, another is gone": {"a@n1 b@", "b"},
	} {
		record, now := interrupted(t, "", "", "")
		for _, one := range strings.Fields(c.there) {
			name, node, _ := strings.Cut(one, "@")
			now.Pods[types.UID(name)] = webPod(name, node, map[bool]string{true: "uid-plan"}[node != ""])
			now.Pods[types.UID(name)].Owner = types.UID("rs-" + name)
		}
		for i, name := range []string{"a", "b", "c"} {
			record.Status.Steps = append(record.Status.Steps, &packingplan.Step{PodUID: name, OwnerUID: "rs-" + name, Class: "c",
				To: fmt.Sprintf("n%d", i+1), Unit: "gang"})
		}

		left := RemainderOf(record, now)

		var names []string
		for _, step := range left.Steps {
			names = append(names, step.PodUID)
		}
		if got := strings.Join(names, " "); got != c.left || len(left.CarriedOn) > 0 != strings.Contains(text, "come") {
			t.Errorf("%s: left %q, want %q; begun %v", text, got, c.left, left.CarriedOn)
		}
	}
}

// adopted counts the steps of replacements that wait.
func adopted(left Remainder) (count int) {
	for _, step := range left.Steps {
		if step.From == "" {
			count++
		}
	}
	return count
}

// webPod has taken room from a reservation or a plan, unless its UID is "".
func webPod(name, node, takenFrom string) *snapshot.Pod {
	object := testobjects.Pod("web", "", "1G").UID(name).Obj()
	if takenFrom != "" {
		object.Annotations = map[string]string{reservation.AllocatedAnnotation: reservation.Taken{UID: types.UID(takenFrom)}.Text()}
	}
	return &snapshot.Pod{Object: object, Class: "c", Owner: "rs-web", Node: node}
}

// Replicas are alike: any of them may have taken the place that was made for the replacement of another one. The plan
// must not send a second pod there, for which there is no room. A replacement that is still to be created has its place, too.
func TestPlaceThatAnotherReplicaHasTakenIsNotGivenTwice(t *testing.T) {
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	record.Status.Steps = []*packingplan.Step{{PodUID: "gone", OwnerUID: "rs-web", Class: "c", From: "n2", To: "n1", State: "Evicted"}}
	for text, c := range map[string]struct {
		there          []*snapshot.Pod
		steps, awaited int
	}{
		"taken":              {[]*snapshot.Pod{webPod("sibling", "n1", "uid-plan"), webPod("replacement", "", "")}, 0, 0},
		"taken from another": {[]*snapshot.Pod{webPod("sibling", "n1", "uid-other"), webPod("replacement", "", "")}, 1, 0},
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

// Tenants can write annotations: a plan that is resumed must not wait until a pod is ready that has none of its places.
func TestAForgedAnnotationIsNoArrival(t *testing.T) {
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	record.Status.Steps = []*packingplan.Step{{PodUID: "gone", OwnerUID: "rs-web", Class: "c", From: "n2", To: "n1", State: packingplan.Evicted},
		{PodUID: "left", OwnerUID: "rs-web", Class: "c", From: "n3", State: packingplan.Evicted}}
	other := webPod("other", "n1", "uid-plan")
	other.Owner = "rs-other"
	for text, forged := range map[string]*snapshot.Pod{"another owner": other, "elsewhere": webPod("elsewhere", "n4", "uid-plan"),
		"waits": webPod("waits", "", "uid-plan")} {
		now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{forged.Object.UID: forged}}

		left := RemainderOf(record, now)

		// A pod that waits is the replacement.
		if got := len(left.starting) - adopted(left); got != 0 || len(left.Awaited)+adopted(left) != 1 {
			t.Errorf("%s: %+v", text, left)
		}
		record.Status.Steps[0].State = packingplan.Evicted
	}
}

// The room that pods of the plan still take is waited for, whatever the status says of them.
func TestPodsThatStillTerminateAreKnown(t *testing.T) {
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	leaves := &snapshot.Pod{Object: testobjects.Pod("web", "", "1G").UID("leaves").Obj(), Owner: "rs-web", Node: "n2", Immovable: snapshot.Terminating}
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{"leaves": leaves}}
	for to, recorded := range map[string]packingplan.State{"n1": packingplan.Evicted, "n3": packingplan.Waiting, "": packingplan.Evicted} {
		record.Status.Steps = []*packingplan.Step{{PodUID: "leaves", OwnerUID: "rs-web", From: "n2", To: to, State: recorded}}

		if left := RemainderOf(record, now); !left.Leaving || record.Status.Steps[0].State != packingplan.Evicted {
			t.Errorf("to %q, recorded as %s: %+v, %+v", to, recorded, left, record.Status.Steps[0])
		}
	}
	record.Status.Steps = []*packingplan.Step{{PodUID: "waits", OwnerUID: "rs-web", To: "n2"}}
	if left := RemainderOf(record, now); !left.Leaving {
		t.Error("a pod that the plan does not name is not waited for, although it terminates where another one is to go")
	}
}

// Which pod has taken which place may not be written yet when a process ends. The places that are left are for the pods
// that still have to come, and the status says so.
func TestPlacesThatAreLeftAreDealtOutAnew(t *testing.T) {
	for text, c := range map[string]struct{ steps, taken, others, told, left string }{
		"a pod that waited is where a move was to go":    {":a>n3 n1:b>n2", "a@n2", "b@n1", ":a>n2 n1:b>n3 Waiting", "b>n3"},
		"its place is where the move's pod runs":         {":a>n1 n1:b>n2", "a@n2", "b@n1", ":a>n2 n1:b>n1 NotNeeded", ""},
		"a replacement is where a move was to go":        {"n0:a>n3 n1:b>n2", "x@n2", "b@n1", "n0:a>n2 Bound n1:b>n3 Waiting", "b>n3"},
		"a pod too many has the place of a move":         {"n1:b>n2", "x@n2", "b@n1", "n1:b>n2 NotNeeded", ""},
		"an evicted pod's replacement has it":            {"n1:b>n2 n0:c>", "x@n2", "b@n1", "n1:b> Waiting n0:c>n2 Bound", "b>"},
		"and no pod of the plan runs any more":           {":a>n3 n0:c>", "x@n3", "a@", ":a>n3 n0:c> Gone", ""},
		"a pod too many has the place of one that waits": {":a>n2", "x@n2", "a@", ":a>n2", ""},
		"a pod that waited is gone":                      {":a>n2 n0:c>n3", "", "x@", ":a>n2 NotNeeded n0:c>n3 Gone", "x>n3"},
		"a pod has left the only place again":            {"n1:a>n2", "", "x@", "n1:a>n2 Gone", "x>n2"},
		"all is as planned":                              {":a>n3 n1:b>n2 n0:c>n4", "", "a@ b@n1 x@", ":a>n3 n1:b>n2 Waiting n0:c>n4 Gone", "a>n3 b>n2 x>n4"},
	} {
		record, now := interrupted(t, c.steps, c.taken, c.others)

		left := RemainderOf(record, now)

		var told, rest []string
		for _, step := range record.Status.Steps {
			told = append(told, strings.TrimSpace(fmt.Sprintf("%s:%s>%s %s", step.From, step.PodUID, step.To, step.State)))
		}
		for _, step := range left.Steps {
			rest = append(rest, step.PodUID+">"+step.To)
		}
		if strings.Join(told, " ") != c.told || strings.Join(rest, " ") != c.left {
			t.Errorf("%s: told %v, want %s; left %v, want %s", text, told, c.told, rest, c.left)
		}
	}
}

// A turn belongs to a place, and whoever came had the first. If the next process sent the others there in turns that are over,
// or those of other places, they would get devices that the rest of the plan counts on.
func TestTurnsThatAreLeftAreThoseOfPlacesThatAreLeft(t *testing.T) {
	for text, c := range map[string]struct{ steps, taken, others, told, left string }{
		"the first has come":                 {":a>n2/1 :b>n2/4 :c>n3/2", "a@n2", "b@ c@", "a>n2/1 b>n2/4 c>n3/2", "b>n2/4 c>n3/2"},
		"another came first":                 {":a>n2/1 :b>n2/4 :c>n3/2", "b@n2", "a@ c@", "a>n2/4 b>n2/1 c>n3/2", "a>n2/4 c>n3/2"},
		"a replacement is where others were": {"n0:a>n3/1 n1:b>n2/2", "x@n2", "b@n1", "a>n2/2 b>n3/1", "b>n3/1"},
		"an evicted pod's replacement came":  {"n1:b>n2/3 n0:c>", "x@n2", "b@n1", "b> c>n2/3", "b>"},
		"a replacement waits":                {"n1:a>n2/3", "", "x@", "a>n2/3", "x>n2/3"},
		"none has come":                      {"n1:a>n2/3", "", "", "a>n2/3", ""},
	} {
		record, now := interrupted(t, c.steps, c.taken, c.others)

		left := RemainderOf(record, now)

		told := func(steps []*packingplan.Step) string {
			var all []string
			for _, step := range steps {
				one := step.PodUID + ">" + step.To
				if step.Turn > 0 {
					one += fmt.Sprintf("/%d", step.Turn)
				}
				if step.Turn > 0 != (len(step.Devices) > 0) || step.Turn > 0 && step.Devices[0] != fmt.Sprintf("device of %d", step.Turn) {
					t.Errorf("%s: devices %v in turn %d", text, step.Devices, step.Turn)
				}
				all = append(all, one)
			}
			return strings.Join(all, " ")
		}
		if told(record.Status.Steps) != c.told || told(left.Steps) != c.left {
			t.Errorf("%s: told %s, want %s; left %s, want %s", text, told(record.Status.Steps), c.told, told(left.Steps), c.left)
		}
		if gone := len(left.Left); gone != strings.Count(c.steps, "n0:")+strings.Count(c.steps, "n1:a") {
			t.Errorf("%s: %d pods were known to have left", text, gone)
		}
	}
}

// interrupted are a plan's object whose steps are written as from:uid>to, with /turn if they have one, and the cluster that the
// next process finds: pods that have taken a place of the plan, and others, as name@node.
func interrupted(t *testing.T, steps, taken, others string) (*packingplan.Record, *snapshot.Snapshot) {
	t.Helper()
	record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, "plan", nil)))(t)
	for _, step := range strings.Fields(steps) {
		from, rest, _ := strings.Cut(step, ":")
		uid, to, _ := strings.Cut(rest, ">")
		node, turn, some := strings.Cut(to, "/")
		made := &packingplan.Step{PodUID: uid, OwnerUID: "rs-web", Class: "c", From: from, To: node}
		if some {
			made.Devices = []string{"device of " + turn}
			_, err := fmt.Sscan(turn, &made.Turn)
			testobjects.Must(t, err)
		}
		if from != "" {
			made.State = packingplan.Waiting
		}
		record.Status.Steps = append(record.Status.Steps, made)
	}
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{}}
	for i, pods := range []string{taken, others} {
		for _, pod := range strings.Fields(pods) {
			name, node, _ := strings.Cut(pod, "@")
			now.Pods[types.UID(name)] = webPod(name, node, []string{"uid-plan", ""}[i])
		}
	}
	return record, now
}
