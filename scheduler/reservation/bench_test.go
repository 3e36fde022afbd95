package reservation_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/reservation"
)

// largeLedger is a ledger of 2,000 reservations on 1,000 nodes, which has seen 50,000 pods: one in ten took from one of
// them, one in ten from one that is long gone.
func largeLedger(b *testing.B) *reservation.Ledger {
	b.Helper()
	l := reservation.NewLedger()
	for i := range 2000 {
		l.Put(reserved(b, fmt.Sprint("r-", i), nodeOf(i), "64", fmt.Sprint("app-", i)))
	}
	for i := range 50_000 {
		pod := podOf(fmt.Sprint("app-", i%2000), fmt.Sprint("pod-", i), "100m", 0)
		pod.Spec.NodeName = nodeOf(i % 2000)
		switch i % 10 {
		case 0:
			pod = bound(pod, pod.Spec.NodeName, fmt.Sprint("r-", i%2000))
		case 1:
			pod = bound(pod, pod.Spec.NodeName, "gone")
		}
		l.Observe(pod)
	}
	return l
}

func nodeOf(reservation int) string { return fmt.Sprint("n-", reservation%1000) }

// BenchmarkHeld is a cycle, over 100 nodes, of a pod that owns no reservation.
func BenchmarkHeld(b *testing.B) {
	l, stranger := largeLedger(b), podOf("stranger", "s", "1", 0)
	b.ResetTimer()
	for range b.N {
		view := l.For(stranger, false)
		if !view.IsRestricted() {
			b.Fatal("nothing is held")
		}
		for i := range 100 {
			view.Held(nodeOf(i))
		}
	}
}

// BenchmarkHeldOfAPlan is the same with a plan of 2,000 arrivals.
func BenchmarkHeldOfAPlan(b *testing.B) {
	l, stranger := reservation.NewLedger(), podOf("stranger", "s", "1", 0)
	var arrivals []reservation.Arrival
	for i := range 2000 {
		arrivals = append(arrivals, moved(nodeOf(i), "1", fmt.Sprint("app-", i%50)))
	}
	l.HoldPlan("p", "p", arrivals)
	b.ResetTimer()
	for range b.N {
		view := l.For(stranger, false)
		for i := range 100 {
			view.Held(nodeOf(i))
		}
	}
}

// BenchmarkOffers looks up what an owner may take.
func BenchmarkOffers(b *testing.B) {
	l, owner := largeLedger(b), podOf("app-7", "o", "1", 0)
	b.ResetTimer()
	for range b.N {
		if len(l.For(owner, false).Offers()) != 1 {
			b.Fatal("there is no offer")
		}
	}
}

// BenchmarkTake is an owner that takes and gives back.
func BenchmarkTake(b *testing.B) {
	l, owner := largeLedger(b), podOf("app-7", "o", "1", 0)
	b.ResetTimer()
	for range b.N {
		if _, ok := l.Take(owner, nodeOf(7)); !ok {
			b.Fatal("nothing is taken")
		}
		l.Release(owner.UID)
	}
}

// BenchmarkObserve is an update of a pod that took nothing, as kubelets send them all the time.
func BenchmarkObserve(b *testing.B) {
	l, pod := largeLedger(b), podOf("app-3", "pod-3", "100m", 0)
	pod.Spec.NodeName = "n-3"
	pod.Status.Phase = v1.PodRunning
	b.ResetTimer()
	for range b.N {
		l.Observe(pod)
	}
}

// BenchmarkPlacesChange is a plan of one workload of which all pods have their places, and one place changes.
func BenchmarkPlacesChange(b *testing.B) {
	for _, n := range []int{500, 1000, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := reservation.NewLedger()
			var arrivals []reservation.Arrival
			for i := range n {
				arrivals = append(arrivals, moved(nodeOf(i), "1", "web"))
			}
			l.HoldPlan("uid-p", "p", arrivals)
			for i := range n {
				l.Observe(bound(podOf("web", fmt.Sprint("web-", i), "1", 5), nodeOf(i), "p"))
			}
			for b.Loop() {
				l.HoldPlan("uid-p", "p", arrivals[1:])
				l.HoldPlan("uid-p", "p", arrivals)
			}
		})
	}
}
