package reservation_test

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	rules "github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// moved is the move of an app's pod, which is gone, to the node. It has priority 5.
func moved(node, cpu, app string) *packingplan.Step {
	return &packingplan.Step{Pod: "ns/gone", PodUID: "gone", OwnerUID: "rs-" + app, Class: cpu, From: "n0", To: node}
}

// plan is the plan p with these moves.
func plan(t *testing.T, moves ...*packingplan.Step) *packingplan.Record {
	t.Helper()
	status := packingplan.Status{Phase: packingplan.Executing, Steps: moves}
	for _, cpu := range []string{"1", "2", "3"} {
		status.Classes = append(status.Classes, packingplan.Class{ID: cpu, Priority: 5,
			Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}})
	}
	return testobjects.Value(packingplan.Read(planOf(t, status)))(t)
}

// bound is the pod on a node, with the annotation of what it took.
func bound(pod *v1.Pod, node, from string) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = node
	pod.Annotations = map[string]string{reservation.AllocatedAnnotation: reservation.Taken{Name: from, UID: types.UID("uid-" + from)}.Text()}
	return pod
}

// A plan makes room step by step: no other pod may have it, and a pod that may already arrive must not be kept out by the
// room that is held for later arrivals.
func TestRoomOfAPlanIsHeldForItsPods(t *testing.T) {
	l := reservation.NewLedger()
	l.HoldPlan(plan(t, moved("n1", "1", "a"), moved("n1", "3", "b")))
	l.Put(reserved(t, "standing", "n1", "2", "c"))
	for name, c := range map[string]struct {
		pod  *v1.Pod
		want int64
	}{
		"a pod that waits for its place": {podOf("a", "a-1", "1", 5), 2000},
		"a sibling that may replace it":  {podOf("a", "a-2", "1", 5), 2000},
		"a replacement":                  {podOf("b", "b-2", "3", 5), 2000},
		"a stranger":                     {podOf("d", "d", "1", 0), 6000},
		"of equal priority":              {podOf("d", "d", "1", 5), 6000},
		"of higher priority":             {podOf("d", "d", "1", 6), 0},
	} {
		if got := held(l, c.pod, "n1"); got != c.want || held(l, c.pod, "n2") != 0 {
			t.Errorf("%s: %d held, want %d", name, got, c.want)
		}
	}
}

// An arriving pod takes one place, whose room is no longer held.
func TestArrivalTakesOnePlaceOfThePlan(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("d", "d", "1", 0)
	l.HoldPlan(plan(t, moved("n1", "1", "a"), moved("n1", "1", "a"), moved("n2", "1", "a")))

	taken, ok := l.Take(podOf("a", "a-1", "1", 5), "n1")
	again, _ := l.Take(podOf("a", "a-1", "1", 5), "n1")
	after := held(l, stranger, "n1")
	_, large := l.Take(podOf("a", "a-2", "2", 5), "n1")
	_, other := l.Take(podOf("d", "d", "1", 5), "n1")
	l.Release("a-1")

	if !ok || taken.UID != "uid-p" || taken.Name != "p" || again != taken || after != 1000 || large || other {
		t.Errorf("took %v %t, again %v, %d held after it; a larger one %t, a stranger %t", taken, ok, again, after, large, other)
	}
	if got := held(l, stranger, "n1"); got != 2000 || held(l, stranger, "n2") != 1000 {
		t.Errorf("%d held after its release, %d elsewhere", got, held(l, stranger, "n2"))
	}
}

// A process that begins to lead knows the plan from its object and the arrivals from the pods alone, in whatever order it
// sees them.
func TestRoomOfAPlanIsTheSameAfterARestart(t *testing.T) {
	record, err := packingplan.Read(planOf(t, packingplan.Status{
		Phase:   packingplan.Executing,
		Classes: []packingplan.Class{{ID: "k", Priority: 5, Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1500m")}}},
		Steps: []*packingplan.Step{{Pod: "ns/a-1", PodUID: "a-1", OwnerUID: "rs-a", Class: "k", To: "n1"},
			{Pod: "ns/bare", PodUID: "bare", Class: "k", To: "n1"},
			{Pod: "ns/b-1", PodUID: "b-1", OwnerUID: "rs-b", Class: "k", From: "n2", To: "n1"},
			// Held to the plan's end, the place of a move that is not needed would keep others out.
			{Pod: "ns/b-9", PodUID: "b-9", OwnerUID: "rs-b", Class: "k", From: "n2", To: "n1", State: "NotNeeded"},
			{Pod: "ns/old", PodUID: "old", OwnerUID: "rs-c", Class: "of a former version", From: "n2", To: "n1"}},
	}))
	testobjects.Must(t, err)
	arrived := bound(podOf("b", "b-2", "1500m", 5), "n1", "p")
	for name, updates := range map[string][]func(*reservation.Ledger){
		"first the plan": {func(l *reservation.Ledger) { l.HoldPlan(record) }, func(l *reservation.Ledger) { l.Observe(arrived) }},
		"first the pod":  {func(l *reservation.Ledger) { l.Observe(arrived) }, func(l *reservation.Ledger) { l.HoldPlan(record) }},
	} {
		l := reservation.NewLedger()
		for _, update := range updates {
			update(l)
		}
		if got := held(l, podOf("d", "d", "1", 5), "n1"); got != 3000 {
			t.Errorf("%s: %d held, want that of the two who have not come", name, got)
		}
	}
}

// Where a plan is carried out, its execution alone fills its places: its record comes late, and a pod of its workload that
// has none of them must not count as one that has. After the execution's end the record counts again, and who has come.
func TestRoomOfAPlanIsThatOfItsExecution(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("d", "d", "1", 0)
	pod, other, record := podOf("a", "a-1", "1", 5), podOf("a", "a-2", "1", 5), plan(t, moved("n1", "1", "a"), moved("n1", "1", "a"))
	l.HoldPlan(record)
	step := rules.Step{To: "n1", Pod: &snapshot.Pod{Object: pod, Owner: "rs-a", Class: snapshot.Classes{}.ID(pod), Priority: 5,
		Requests: (*resources.Book)(nil).Needs(pod)}}
	execution := executor.New(&rules.Plan{Placements: []rules.Step{step, step}}, nil, 1)
	l.CarryPlan("uid-p", execution)

	took := execution.Reserve(pod, "n1", true)
	taken, planned := l.Take(pod, "n1")
	_, ordinary := l.Take(other, "n1")
	l.Observe(bound(other, "n1", "p"))
	l.HoldPlan(record)

	if got := held(l, stranger, "n1"); !took || !planned || !taken.Planned || ordinary || got != 1000 {
		t.Errorf("took %t, then %v, %v; another one %t; %d held", took, taken, planned, ordinary, got)
	}
	l.DropExecution("uid-p")
	if got := held(l, stranger, "n1"); got != 0 || !l.Freed().Has("n1") {
		t.Errorf("%d held for pods that have come; is anybody told?", got)
	}
}

// An update of a plan after its end must not hold room that would never be released.
func TestPlanThatHasEndedHoldsNothingAnyMore(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("d", "d", "1", 0)
	arrivals := moved("n1", "1", "a")
	l.HoldPlan(plan(t, arrivals))
	l.HoldPlan(plan(t, arrivals))
	before := held(l, stranger, "n1")

	l.EndPlan("uid-p")
	l.HoldPlan(plan(t, arrivals))
	l.Observe(bound(podOf("a", "a-1", "1", 5), "n1", "p"))

	if before != 1000 || held(l, stranger, "n1") != 0 || !l.Empty() {
		t.Errorf("%d held before its end, %d after it", before, held(l, stranger, "n1"))
	}
}

// A plan's own room must not count in its rehearsal, nor in the next snapshot.
func TestRoomOfPlansDoesNotCountInRehearsals(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	l.HoldPlan(plan(t, moved("n1", "1", "a")))
	l.Put(reserved(t, "standing", "n1", "2", "a"))

	rehearsed, _ := l.For(stranger, true).Held("n1")

	if rehearsed.Of(v1.ResourceCPU) != 2000 || held(l, stranger, "n1") != 3000 || l.HeldByNode()["n1"].Of(v1.ResourceCPU) != 2000 {
		t.Errorf("rehearsal %v, live %d, standing %v", rehearsed, held(l, stranger, "n1"), l.HeldByNode())
	}
}

// A Reservation must not become available in room that a plan needs.
func TestRoomOfAPlanIsNotReserved(t *testing.T) {
	l, record := reservation.NewLedger(), reserved(t, "r", "n1", "2", "c", inPhase("Waiting"))
	l.Put(record)
	l.HoldPlan(plan(t, moved("n1", "1", "a")))
	free := resources.OfList(v1.ResourceList{v1.ResourceCPU: resource.MustParse("2.5"), v1.ResourcePods: resource.MustParse("10")})
	before := l.HasRoom(record, free)
	l.EndPlan("uid-p")

	if before || !l.HasRoom(record, free) {
		t.Errorf("room during the plan %t, after it %t", before, l.HasRoom(record, free))
	}
}

// kept is a ledger that follows the API, and the client of reservations and plans.
func kept(t *testing.T) (context.Context, *reservation.Ledger, dynamic.Interface) {
	t.Helper()
	logger, ctx := ktesting.NewTestContext(t)
	client := testobjects.CustomClient()
	factory, l := informers.NewSharedInformerFactory(fake.NewClientset(), 0), reservation.NewLedger()
	from := reservation.Informers{Reservations: reservation.NewInformer(client), Plans: packingplan.NewInformer(client),
		Pods: factory.Core().V1().Pods().Informer()}
	synced := testobjects.Value(l.Watch(logger, from, func() {}))(t)
	go from.Reservations.RunWithContext(ctx)
	go from.Plans.RunWithContext(ctx)
	factory.Start(ctx.Done())
	testobjects.Eventually(t, "the ledger knows what there is", synced)
	return ctx, l, client
}

// written is the plan that sends a pod of 1 CPU to n1, in a phase.
func written(t *testing.T, phase packingplan.Phase) *unstructured.Unstructured {
	t.Helper()
	return planOf(t, packingplan.Status{
		Phase:   phase,
		Classes: []packingplan.Class{{ID: "k", Priority: 5, Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}},
		Steps:   []*packingplan.Step{{Pod: "ns/a-1", PodUID: "a-1", OwnerUID: "rs-a", Class: "k", From: "n2", To: "n1"}},
	})
}

// planOf is the PackingPlan p with that status.
func planOf(t *testing.T, status packingplan.Status) *unstructured.Unstructured {
	t.Helper()
	content := testobjects.Value(runtime.DefaultUnstructuredConverter.ToUnstructured(status.Stored()))(t)
	object := testobjects.Custom(packingplan.Kind, "p", map[string]any{})
	object.Object["status"] = content
	return object
}

// Every process holds a plan's room, even one that only stands by, from the start of the plan's execution until its end.
// Before that it holds none, and earlier updates must not keep it from holding the room later.
func TestEveryProcessHoldsTheRoomOfPlansThatAreCarriedOut(t *testing.T) {
	const deleted = packingplan.Phase("")
	for _, end := range []packingplan.Phase{packingplan.Completed, packingplan.Aborted, deleted} {
		t.Run(string(end), func(t *testing.T) {
			ctx, l, client := kept(t)
			plans, stranger := client.Resource(packingplan.Resource), podOf("d", "d", "1", 5)
			testobjects.Value(plans.Create(ctx, written(t, packingplan.Proposed), metav1.CreateOptions{}))(t)
			before := held(l, stranger, "n1")

			testobjects.Value(plans.Update(ctx, written(t, packingplan.Executing), metav1.UpdateOptions{}))(t)
			testobjects.Eventually(t, "its room is held", func() bool { return held(l, stranger, "n1") == 1000 })
			if end == deleted {
				testobjects.Must(t, plans.Delete(ctx, "p", metav1.DeleteOptions{}))
			} else {
				testobjects.Value(plans.Update(ctx, written(t, end), metav1.UpdateOptions{}))(t)
			}
			testobjects.Eventually(t, "its room is free", l.Empty)

			if before != 0 || !l.Freed().Has("n1") {
				t.Errorf("%d held before it was carried out; no event says that its room is free", before)
			}
		})
	}
}

// One object that cannot be read must not keep all others from being known.
func TestObjectThatCannotBeReadIsLeftOut(t *testing.T) {
	ctx, l, client := kept(t)
	broken := written(t, packingplan.Executing)
	broken.SetName("broken")
	testobjects.Must(t, unstructured.SetNestedField(broken.Object, "soon", "status", "startTime"))
	testobjects.Must(t, unstructured.SetNestedField(broken.Object, "no list", "status", "moves"))
	for _, object := range []*unstructured.Unstructured{broken, written(t, packingplan.Executing)} {
		testobjects.Value(client.Resource(packingplan.Resource).Create(ctx, object, metav1.CreateOptions{}))(t)
	}

	testobjects.Eventually(t, "the other one is known", func() bool { return held(l, podOf("d", "d", "1", 5), "n1") == 1000 })
}

// overtaken is a store whose objects are always changed just before a write, and the calls to the API.
func overtaken(t *testing.T) (store reservation.Store, record *reservation.Record, calls func() []clienttesting.Action) {
	t.Helper()
	client := testobjects.CustomClient()
	conflict := func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewConflict(reservation.Resource.GroupResource(), "r", errors.New("it has changed"))
	}
	client.PrependReactor("update", "reservations", conflict)
	client.PrependReactor("delete", "reservations", conflict)
	return reservation.NewStore(client), reserved(t, "r", "n1", "1", "a"), client.Actions
}

// A status is computed from the object as it was seen: if the object has changed, the controller has to sync again.
func TestStatusOfAReservationThatHasChangedIsNotWritten(t *testing.T) {
	store, record, calls := overtaken(t)

	err := store.WriteStatus(context.Background(), &record.Object)

	if !apierrors.IsConflict(err) || len(calls()) != 1 {
		t.Errorf("%v after %d calls, want a conflict after one", err, len(calls()))
	}
}

// By the time a reservation is collected, another one may have its name.
func TestReservationWithTheNameOfACollectedOneIsNotDeleted(t *testing.T) {
	store, record, calls := overtaken(t)

	if err := store.Delete(context.Background(), &record.Object); err != nil {
		t.Errorf("%v, want a namesake to be left alone", err)
	}

	options := calls()[0].(clienttesting.DeleteActionImpl).DeleteOptions
	if options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != record.UID() {
		t.Errorf("deleted with %+v, want its UID as precondition", options)
	}
}

// A plan's places change while it is carried out. Only the nodes on which they do may have room for pods that wait, and
// pods of one workload that have exchanged their places change nothing.
func TestOnlyNodesWhosePlacesChangeAreTriedAgain(t *testing.T) {
	l := reservation.NewLedger()
	first := []*packingplan.Step{moved("n1", "1", "a"), moved("n2", "2", "b"), moved("n1", "2", "b"), moved("n3", "1", "c")}
	l.HoldPlan(plan(t, first...))
	for text, c := range map[string]struct {
		now  []*packingplan.Step
		want []string
	}{
		"exchanged":  {[]*packingplan.Step{first[0], first[2], first[1], first[3]}, nil},
		"not needed": {[]*packingplan.Step{first[0], first[1], first[2]}, []string{"n3"}},
		"elsewhere":  {[]*packingplan.Step{first[0], first[1], moved("n4", "2", "b"), first[3]}, []string{"n1", "n4"}},
	} {
		l.HoldPlan(plan(t, first...))
		l.Freed()

		l.HoldPlan(plan(t, c.now...))

		if freed := l.Freed(); !freed.Equal(sets.New(c.want...)) {
			t.Errorf("%s: %v may have room, want %v", text, freed, c.want)
		}
	}
}

// While the pods of a plan come to a node in turn, a stranger would take the device that the next of them is to have: it may be
// free between two turns, or come free. A process that does not carry the plan out knows the turns from its object.
func TestNoStrangerHasADeviceBetweenTheTurnsOfAPlan(t *testing.T) {
	inTurn := func(turn int32, on, app string) *packingplan.Step {
		step := moved(on, "1", app)
		step.Turn = turn
		return step
	}
	l := reservation.NewLedger()
	l.HoldPlan(plan(t, inTurn(1, "n1", "a"), inTurn(2, "n1", "b"), moved("n2", "1", "c")))
	for name, c := range map[string]struct {
		pod *v1.Pod
		n1  bool
	}{
		"a stranger":         {podOf("d", "d", "1", 5), true},
		"of higher priority": {podOf("d", "d", "1", 6), false},
		"a pod of the plan":  {podOf("b", "b-2", "1", 5), false},
	} {
		if view := l.For(c.pod, false); view.AwaitsTurns("n1") != c.n1 || view.AwaitsTurns("n2") {
			t.Errorf("%s: kept off the devices of n1: %t, of n2: %t", name, view.AwaitsTurns("n1"), view.AwaitsTurns("n2"))
		}
	}
	stranger := podOf("d", "d", "1", 5)
	if l.For(stranger, true).AwaitsTurns("n1") {
		t.Error("a rehearsal of the plan waits for itself")
	}
	l.Observe(bound(podOf("a", "a-2", "1", 5), "n1", "p"))
	one := l.For(stranger, false).AwaitsTurns("n1")
	l.Observe(bound(podOf("b", "b-2", "1", 5), "n1", "p"))
	if all := l.For(stranger, false).AwaitsTurns("n1"); !one || all {
		t.Errorf("kept off after one has come: %t, after all: %t", one, all)
	}
}
