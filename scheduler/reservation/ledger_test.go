package reservation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
)

func held(l *reservation.Ledger, pod *v1.Pod, node string) int64 {
	held, _ := l.For(pod, false).Held(node)
	return held.CPUMilli
}

// Reserved room is not available, except to its owners and to pods of higher priority.
func TestReservedRoomIsHeldAgainstAllOtherPods(t *testing.T) {
	l := reservation.NewLedger()
	l.Put(reserved(t, "r", "n1", "2", "a"))
	for name, c := range map[string]struct {
		pod  *v1.Pod
		want int64
	}{
		"an owner":           {podOf("a", "p", "1", 0), 0},
		"a stranger":         {podOf("b", "p", "1", 0), 2000},
		"of equal priority":  {podOf("b", "p", "1", 5), 2000},
		"of higher priority": {podOf("b", "p", "1", 6), 0},
	} {
		if got := held(l, c.pod, "n1"); got != c.want || held(l, c.pod, "n2") != 0 {
			t.Errorf("%s: %d held, want %d", name, got, c.want)
		}
	}
}

// What an owner took is no longer held, and is held again once the owner is gone.
func TestWhatIsTakenIsNoLongerHeld(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	record := reserved(t, "r", "n1", "2", "a")
	l.Put(record)
	owner := podOf("a", "p", "1500m", 0)

	taken, ok := l.Take(owner, "n1")
	after := held(l, stranger, "n1")
	_, again := l.Take(podOf("a", "q", "1", 0), "n1")
	account := l.Account(record.UID())
	released := l.Release(owner.UID)

	if !ok || taken.UID != record.UID() || after != 500 || again || account.Allocated.CPUMilli != 1500 || len(account.Pods) != 1 {
		t.Errorf("took %v %t, %d held after, again %t, account %+v", taken, ok, after, again, account)
	}
	if !released || held(l, stranger, "n1") != 2000 || l.Release(owner.UID) {
		t.Errorf("released %t, %d held", released, held(l, stranger, "n1"))
	}
}

// Of several reservations the one that is filled most is taken, so that large ones stay whole.
func TestTheReservationThatIsFilledMostIsTaken(t *testing.T) {
	l := reservation.NewLedger()
	for name, cpu := range map[string]string{"large": "8", "fitting": "2", "small": "1"} {
		l.Put(reserved(t, name, "n1", cpu, "a"))
	}
	l.Put(reserved(t, "elsewhere", "n2", "1500m", "a"))

	first, _ := l.Take(podOf("a", "p", "1500m", 0), "n1")
	second, _ := l.Take(podOf("a", "q", "1500m", 0), "n1")
	_, third := l.Take(podOf("a", "r", "9", 0), "n1")

	if first.Name != "fitting" || second.Name != "large" || third {
		t.Errorf("took %q, then %q, then one of 9 CPUs: %t", first.Name, second.Name, third)
	}
}

// The ledger can be rebuilt from the pods alone: after a restart, and to check it.
func TestLedgerIsTheSameWhenRebuiltFromThePods(t *testing.T) {
	record := reserved(t, "r", "n1", "4", "a")
	live, pods := reservation.NewLedger(), []*v1.Pod{}
	live.Put(record)
	for _, name := range []string{"p", "q", "r"} {
		pod := podOf("a", name, "1", 0)
		taken, ok := live.Take(pod, "n1")
		if !ok {
			t.Fatalf("%s took nothing", name)
		}
		pod.Annotations = map[string]string{reservation.AllocatedAnnotation: taken.Text()}
		pod.Spec.NodeName = "n1"
		live.Observe(pod)
		pods = append(pods, pod)
	}
	pods[2].Status.Phase = v1.PodSucceeded
	live.Observe(pods[2])

	anew := reservation.NewLedger()
	for _, pod := range pods {
		anew.Observe(pod)
	}
	anew.Put(record)

	a, b := live.Account(record.UID()), anew.Account(record.UID())
	if a.Allocated.CPUMilli != 2000 || b.Allocated.CPUMilli != 2000 || len(a.Pods) != 2 || len(b.Pods) != 2 {
		t.Errorf("live %+v, anew %+v", a.Allocated, b.Allocated)
	}
}

// A pod with the annotation that is not bound has taken nothing: a binding may fail.
func TestAnAnnotationWithoutANodeCountsForNothing(t *testing.T) {
	l, record := reservation.NewLedger(), reserved(t, "r", "n1", "4", "a")
	pod := podOf("a", "p", "1", 0)
	for _, text := range []string{`{"name":"r","uid":"uid-r"}`, "nonsense", `{"name":"r"}`} {
		pod.Annotations = map[string]string{reservation.AllocatedAnnotation: text}
		l.Observe(pod)
	}
	if account := l.Account(record.UID()); len(account.Pods) != 0 {
		t.Errorf("account %+v", account)
	}
}

// A reservation whose room is not free yet is closed to all pods.
func TestWaitingReservationIsClosedToAllPods(t *testing.T) {
	l, owner := reservation.NewLedger(), podOf("a", "p", "1", 0)
	l.Put(reserved(t, "r", "n1", "1", "a", inPhase("Waiting")))
	_, took := l.Take(owner, "n1")

	if got := held(l, owner, "n1"); got != 1000 || took {
		t.Errorf("held %d, took %t", got, took)
	}
}

// A reservation that failed or lost its node holds nothing, whatever its object still says.
func TestFailedReservationsHoldNothing(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	for _, phase := range []string{"Failed", "Pending"} {
		l.Put(reserved(t, "r", "n1", "2", "a"))
		l.Put(reserved(t, "r", "n1", "2", "a", inPhase(phase)))
		if got := held(l, stranger, "n1"); got != 0 {
			t.Errorf("%s: %d held", phase, got)
		}
	}
}

// A status may be written while the reservation is being deleted: the writer must not enter it in the ledger again, since
// no event would ever remove it.
func TestReservationThatIsGoneIsNotEnteredAgain(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	deleted, withdrawn := reserved(t, "r", "n1", "2", "a"), reserved(t, "w", "n2", "2", "a")
	l.Put(deleted)
	l.Put(withdrawn)

	l.Remove(deleted.UID())
	l.Withdraw(withdrawn.UID())
	between := held(l, stranger, "n2")
	l.Put(deleted)
	l.Put(withdrawn)

	if held(l, stranger, "n1") != 0 || between != 0 || held(l, stranger, "n2") != 2000 {
		t.Errorf("%d held by what is gone, %d and then %d by what was withdrawn",
			held(l, stranger, "n1"), between, held(l, stranger, "n2"))
	}
}

// A label that a selector reads distinguishes pods, but only as long as a reservation uses the selector.
func TestOwnerLabelsAreThoseThatSelectorsRead(t *testing.T) {
	l, record := reservation.NewLedger(), reserved(t, "r", "n1", "4", "a", func(object *unstructured.Unstructured) {
		owners := []any{
			map[string]any{"controller": map[string]any{"name": "web"}},
			map[string]any{"labelSelector": map[string]any{
				"matchLabels":      map[string]any{"app": "a"},
				"matchExpressions": []any{map[string]any{"key": "role", "operator": "Exists"}}}},
		}
		object.Object["spec"].(map[string]any)["owners"] = owners
	})
	l.Put(record)
	reads := l.OwnerLabels()
	l.Remove(record.UID())

	if !reads.Equal(sets.New("app", "role")) || l.OwnerLabels().Len() != 0 {
		t.Errorf("%v, and %v when it is gone", reads.UnsortedList(), l.OwnerLabels().UnsortedList())
	}
}
