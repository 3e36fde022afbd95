package reservation_test

import (
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/reservation"
)

func held(l *reservation.Ledger, pod *v1.Pod, node string) int64 {
	held, _ := l.For(pod, false).Held(node)
	return held.Of(v1.ResourceCPU)
}

// Reserved room is not available, except to its owners and to pods of higher priority. A reservation whose room is not
// free yet is closed to its owners too. One that failed or lost its node holds nothing, whatever its object still says.
func TestReservedRoomIsHeldAgainstAllOtherPods(t *testing.T) {
	for name, c := range map[string]struct {
		phase, app string
		priority   int32
		want       int64
		takes      bool
	}{
		"an owner":               {"Available", "a", 0, 0, true},
		"a stranger":             {"Available", "b", 0, 2000, false},
		"of equal priority":      {"Available", "b", 5, 2000, false},
		"of higher priority":     {"Available", "b", 6, 0, false},
		"an owner, waiting":      {"Waiting", "a", 0, 2000, false},
		"a stranger, failed":     {"Failed", "b", 0, 0, false},
		"a stranger, node taken": {"Pending", "b", 0, 0, false},
	} {
		l, pod := reservation.NewLedger(), podOf(c.app, "p", "1", c.priority)
		if c.phase != "Waiting" {
			l.Put(reserved(t, "r", "n1", "2", "a"))
		}
		l.Put(reserved(t, "r", "n1", "2", "a", inPhase(c.phase)))
		got, elsewhere := held(l, pod, "n1"), held(l, pod, "n2")
		if _, takes := l.Take(pod, "n1"); got != c.want || elsewhere != 0 || takes != c.takes {
			t.Errorf("%s: %d held, takes %t; want %d, %t", name, got, takes, c.want, c.takes)
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

	if !ok || taken.UID != record.UID() || after != 500 || again || account.Allocated.Of(v1.ResourceCPU) != 1500 || len(account.Pods) != 1 {
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
	if a.Allocated.Of(v1.ResourceCPU) != 2000 || b.Allocated.Of(v1.ResourceCPU) != 2000 || len(a.Pods) != 2 || len(b.Pods) != 2 {
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

// A status may be written while the reservation is being deleted: the writer must not enter it in the ledger again, since
// no event would ever remove it.
func TestReservationThatIsGoneIsNotEnteredAgain(t *testing.T) {
	l, stranger := reservation.NewLedger(), podOf("b", "s", "1", 0)
	deleted, withdrawn := reserved(t, "r", "n1", "2", "a"), reserved(t, "w", "n2", "2", "a")
	l.Put(deleted)
	l.Put(withdrawn)

	l.Remove(deleted.UID())
	l.Put(reserved(t, "w", "n2", "2", "a", inPhase("Pending")))
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
	l, record := reservation.NewLedger(), reserved(t, "r", "n1", "4", "a")
	record.Spec.Owners = []reservation.Owner{{Controller: &reservation.ControllerReference{}}, {LabelSelector: &metav1.LabelSelector{
		MatchLabels:      map[string]string{"app": "a"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "role", Operator: metav1.LabelSelectorOpExists}}}}}
	l.Put(record)
	reads := l.OwnerLabels()
	l.Remove(record.UID())

	if !reads.Equal(sets.New("app", "role")) || l.OwnerLabels().Len() != 0 {
		t.Errorf("%v, and %v when it is gone", reads.UnsortedList(), l.OwnerLabels().UnsortedList())
	}
}

// reserved is a reservation of so much CPU on a node for the pods of an app, with priority 5.
func reserved(t testing.TB, name, node, cpu, app string, changes ...func(*unstructured.Unstructured)) *reservation.Record {
	t.Helper()
	object := testobjects.Reservation(name, node, v1.ResourceCPU, cpu, app)
	testobjects.Must(t, unstructured.SetNestedField(object.Object, int64(5), "spec", "template", "spec", "priority"))
	testobjects.With(object, changes...)
	record := testobjects.Value(reservation.Read(object))(t)
	return record
}

func inPhase(phase string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		object.Object["status"].(map[string]any)["phase"] = phase
	}
}

func podOf(app, name, cpu string, priority int32) *v1.Pod {
	return testobjects.Pod(app, cpu, "").Namespace("ns").Name(name).UID(name).Priority(priority).Obj()
}

func ofGeneration(generation int64) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) { object.SetGeneration(generation) }
}

// Tenants may write any annotation on their pods: that must not free room that is reserved for others, neither at runtime
// nor when the ledger is rebuilt.
func TestForgedAnnotationTakesNothing(t *testing.T) {
	elsewhere := bound(podOf("b", "b-1", "1", 5), "n1", "r")
	elsewhere.Namespace = "of a tenant"
	for name, forged := range map[string]*v1.Pod{
		"of a stranger":                  bound(podOf("c", "c-1", "1", 5), "n1", "r"),
		"of an owner on another node":    bound(podOf("a", "a-1", "1", 5), "n2", "r"),
		"of a stranger to the plan":      bound(podOf("c", "c-1", "1", 5), "n1", "p"),
		"of its pod on another node":     bound(podOf("b", "b-1", "1", 5), "n2", "p"),
		"of the name's other namespace":  elsewhere,
		"of one too large for the place": bound(podOf("b", "b-1", "2", 5), "n1", "p"),
	} {
		for _, anew := range []bool{false, true} {
			l, stranger := reservation.NewLedger(), podOf("d", "d", "1", 0)
			if anew {
				l.Observe(forged)
			}
			l.Put(reserved(t, "r", "n1", "2", "a"))
			l.HoldPlan(plan(t, moved("n1", "1", "b")))
			if !anew {
				l.Observe(forged)
			}
			if got := held(l, stranger, "n1"); got != 3000 || len(l.Account("uid-r").Pods) != 0 {
				t.Errorf("%s, anew %t: %d held, %d have taken", name, anew, got, len(l.Account("uid-r").Pods))
			}
		}
	}
}

// A pod that is no longer an owner, because its labels or the reservation have changed, has taken nothing.
func TestOnlyOwnersHaveTaken(t *testing.T) {
	l, pod := reservation.NewLedger(), bound(podOf("a", "a-1", "1", 5), "n1", "r")
	l.Put(reserved(t, "r", "n1", "2", "a"))
	l.Observe(pod)
	first, version := l.Account("uid-r").Allocated.Of(v1.ResourceCPU), l.AccountVersion("uid-r")
	l.Observe(pod.DeepCopy())
	same := l.AccountVersion("uid-r") == version

	relabelled := pod.DeepCopy()
	relabelled.Labels = map[string]string{"app": "b"}
	l.Observe(relabelled)
	second := l.Account("uid-r").Allocated.Of(v1.ResourceCPU)
	l.Put(reserved(t, "r", "n1", "2", "b", ofGeneration(2)))
	third := l.Account("uid-r").Allocated.Of(v1.ResourceCPU)

	if first != 1000 || !same || second != 0 || third != 1000 {
		t.Errorf("allocated %d, then %d, then %d; the account changed without a cause: %t", first, second, third, !same)
	}
}

// Filters read in many goroutines while objects change and pods come and go; run with -race. At the end exactly the
// charges of the remaining pods count.
func TestLedgerIsSafeForConcurrentUse(t *testing.T) {
	l := reservation.NewLedger()
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 200 {
				name := fmt.Sprint("r-", i%5)
				l.Put(reserved(t, name, "n1", "1000", "a", ofGeneration(int64(i))))
				l.HoldPlan(plan(t, moved("n1", "1", "a"), moved("n1", fmt.Sprint(1+i%2), "b")))
				pod := podOf("a", fmt.Sprint("a-", worker, "-", i), "1", 0)
				view := l.For(podOf("b", "b", "1", 0), false)
				view.IsRestricted()
				view.Held("n1")
				taken, ok := l.Take(pod, "n1")
				if !ok {
					t.Errorf("%s took nothing", pod.Name)
				}
				l.Observe(bound(pod, "n1", taken.Name))
				l.Freed()
				l.Account(taken.UID)
				if i > 0 {
					l.Release(podOf("a", fmt.Sprint("a-", worker, "-", i-1), "1", 0).UID)
				}
			}
		})
	}
	group.Wait()
	l.EndPlan("uid-p")

	taken := int64(0)
	for i := range 5 {
		account := l.Account(reserved(t, fmt.Sprint("r-", i), "n1", "1000", "a").UID())
		taken += account.Allocated.Of(v1.ResourceCPU)
		if account.Allocated.Of(v1.ResourceCPU) != int64(1000*len(account.Pods)) {
			t.Errorf("%d allocated by %d pods", account.Allocated.Of(v1.ResourceCPU), len(account.Pods))
		}
	}
	if taken > 4000 {
		t.Errorf("%d allocated by the last pod of each of 4 workers", taken)
	}
}
