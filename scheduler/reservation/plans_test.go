package reservation_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// moved is the place of a replacement of an app's pod, placed that of a pod itself. Both have priority 5.
func moved(node, cpu, app string) reservation.Arrival {
	return reservation.Arrival{Node: node, Controller: types.UID("rs-" + app), Namespace: "ns", Priority: 5,
		Requests: resources.OfPod(podOf(app, "", cpu, 5))}
}

func placed(node, cpu, app, pod string) reservation.Arrival {
	arrival := moved(node, cpu, app)
	arrival.Pod = types.UID(pod)
	return arrival
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
	l.HoldPlan("uid-p", "p", []reservation.Arrival{placed("n1", "1", "a", "a-1"), moved("n1", "3", "b")})
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
	l.HoldPlan("uid-p", "p", []reservation.Arrival{moved("n1", "1", "a"), moved("n1", "1", "a"), moved("n2", "1", "a")})

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
	record := planOf(t, "p", packingplan.Status{
		Phase:   packingplan.Executing,
		Classes: []packingplan.Class{{ID: "k", Priority: 5, Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1500m")}}},
		Placements: []packingplan.Placement{{Pod: "ns/a-1", PodUID: "a-1", OwnerUID: "rs-a", Class: "k", Node: "n1"},
			{Pod: "ns/bare", PodUID: "bare", Class: "k", Node: "n1"}},
		Moves: []packingplan.Move{{Pod: "ns/b-1", PodUID: "b-1", OwnerUID: "rs-b", Class: "k", FromNode: "n2", ToNode: "n1"},
			{Pod: "ns/old", PodUID: "old", OwnerUID: "rs-c", Class: "of a former version", FromNode: "n2", ToNode: "n1"}},
	})
	arrived := bound(podOf("b", "b-2", "1500m", 5), "n1", "p")
	for name, updates := range map[string][]func(*reservation.Ledger){
		"first the plan": {func(l *reservation.Ledger) { hold(l, record) }, func(l *reservation.Ledger) { l.Observe(arrived) }},
		"first the pod":  {func(l *reservation.Ledger) { l.Observe(arrived) }, func(l *reservation.Ledger) { hold(l, record) }},
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

func hold(l *reservation.Ledger, record *packingplan.Record) {
	l.HoldPlan(record.UID(), record.Name(), reservation.ArrivalsOf(record))
}

// An update of a plan after its end must not hold room that would never be released.
func TestPlanThatHasEndedHoldsNothingAnyMore(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("d", "d", "1", 0)
	arrivals := []reservation.Arrival{moved("n1", "1", "a")}
	l.HoldPlan("uid-p", "p", arrivals)
	l.HoldPlan("uid-p", "p", arrivals)
	before := held(l, stranger, "n1")

	l.EndPlan("uid-p")
	l.HoldPlan("uid-p", "p", arrivals)
	l.Observe(bound(podOf("a", "a-1", "1", 5), "n1", "p"))

	if before != 1000 || held(l, stranger, "n1") != 0 || !l.Empty() {
		t.Errorf("%d held before its end, %d after it", before, held(l, stranger, "n1"))
	}
}

// A plan's own room must not count in its rehearsal, nor in the next snapshot.
func TestRoomOfPlansDoesNotCountInRehearsals(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	l.HoldPlan("uid-p", "p", []reservation.Arrival{moved("n1", "1", "a")})
	l.Put(reserved(t, "standing", "n1", "2", "a"))

	rehearsed, _ := l.For(stranger, true).Held("n1")

	if rehearsed.CPUMilli != 2000 || held(l, stranger, "n1") != 3000 || l.HeldByNode()["n1"].CPUMilli != 2000 {
		t.Errorf("rehearsal %v, live %d, standing %v", rehearsed, held(l, stranger, "n1"), l.HeldByNode())
	}
}

// The room of a plan with the longest name that Kubernetes accepts is held and released.
func TestPlanWithTheLongestNameHasItsRoom(t *testing.T) {
	l, name := reservation.NewLedger(), strings.Repeat("a", 253)
	l.HoldPlan("uid-p", name, []reservation.Arrival{moved("n1", "1", "a")})

	taken, ok := l.Take(podOf("a", "a-1", "1", 5), "n1")
	parsed, read := reservation.TakenBy(&v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations: map[string]string{reservation.AllocatedAnnotation: taken.Text()}}})

	if !ok || !read || parsed.Name != name {
		t.Errorf("took %v %t, read %v %t", taken, ok, parsed, read)
	}
}

// A Reservation must not become available in room that a plan needs.
func TestRoomOfAPlanIsNotReserved(t *testing.T) {
	l, record := reservation.NewLedger(), reserved(t, "r", "n1", "2", "c", inPhase("Waiting"))
	l.Put(record)
	l.HoldPlan("uid-p", "p", []reservation.Arrival{moved("n1", "1", "a")})
	free := resources.Vector{CPUMilli: 2500, Pods: 10}
	before := l.HasRoom(record, free)
	l.EndPlan("uid-p")

	if before || !l.HasRoom(record, free) {
		t.Errorf("room during the plan %t, after it %t", before, l.HasRoom(record, free))
	}
}
