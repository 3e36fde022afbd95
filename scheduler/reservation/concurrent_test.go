package reservation_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stowage/stowage/scheduler/reservation"
)

// Filters read in many goroutines while objects change and pods come and go; run with -race. At the end exactly the
// claims of the remaining pods count.
func TestLedgerIsSafeForConcurrentUse(t *testing.T) {
	l := reservation.NewLedger()
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 200 {
				name := fmt.Sprint("r-", i%5)
				l.Put(reserved(t, name, "n1", "1000", "a", ofGeneration(int64(i))))
				l.HoldPlan("uid-p", "p", []reservation.Arrival{moved("n1", "1", "a"), moved("n1", fmt.Sprint(1+i%2), "b")})
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
		taken += account.Allocated.CPUMilli
		if account.Allocated.CPUMilli != int64(1000*len(account.Pods)) {
			t.Errorf("%d allocated by %d pods", account.Allocated.CPUMilli, len(account.Pods))
		}
	}
	if taken > 4000 {
		t.Errorf("%d allocated by the last pod of each of 4 workers", taken)
	}
}
