package reservation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/reservation"
)

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
			l.HoldPlan("uid-p", "p", []reservation.Arrival{moved("n1", "1", "b")})
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
	first, version := l.Account("uid-r").Allocated.CPUMilli, l.AccountVersion("uid-r")
	l.Observe(pod.DeepCopy())
	same := l.AccountVersion("uid-r") == version

	relabelled := pod.DeepCopy()
	relabelled.Labels = map[string]string{"app": "b"}
	l.Observe(relabelled)
	second := l.Account("uid-r").Allocated.CPUMilli
	l.Put(reserved(t, "r", "n1", "2", "b", ofGeneration(2)))
	third := l.Account("uid-r").Allocated.CPUMilli

	if first != 1000 || !same || second != 0 || third != 1000 {
		t.Errorf("allocated %d, then %d, then %d; the account changed without a cause: %t", first, second, third, !same)
	}
}
