package reservation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/resources"
)

// charge is what a pod says it has taken from a reservation or plan, which may not be known yet. A pod that is no owner, or
// on another node, has taken nothing, whatever its annotation says: tenants can write annotations too.
type charge struct {
	pod      *v1.Pod
	node     string
	requests resources.Vector
	from     types.UID
	holds    bool
}

// account is what pods say they have taken from one reservation or plan. There may be very many charges to all of them.
type account struct {
	charges sets.Set[*charge]
	// sum is the total of the valid charges.
	sum resources.Vector
	// version is the ledger's version when the sum last changed.
	version uint64
}

// Observe updates the charge of a pod as the API shows it.
func (l *Ledger) Observe(pod *v1.Pod) {
	if pod.Spec.NodeName == "" && !podutil.IsPodTerminal(pod) {
		return // it may be about to be bound
	}
	taken, some := TakenBy(pod)
	if !some || podutil.IsPodTerminal(pod) {
		l.Release(pod.UID)
		return
	}
	made := &charge{pod: pod, node: pod.Spec.NodeName, requests: l.book.Needs(pod), from: taken.UID}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(taken.UID) {
		l.release(pod.UID)
		return
	}
	l.enter(made)
}

// Release gives back what a pod took, and reports whether it took anything.
func (l *Ledger) Release(pod types.UID) bool {
	l.mu.RLock()
	charged := l.charges[pod] != nil
	l.mu.RUnlock()
	if !charged {
		return false // like most pods: the write lock is not needed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.release(pod)
}

func (l *Ledger) release(pod types.UID) (took bool) {
	made := l.charges[pod]
	if made == nil {
		return false
	}
	took = made.holds
	l.uncount(made)
	delete(l.charges, pod)
	if of := l.accounts[made.from].charges.Delete(made); of.Len() == 0 {
		delete(l.accounts, made.from)
	}
	return took
}

// enter enters what a pod says it has taken, in place of its earlier charge.
func (l *Ledger) enter(made *charge) {
	if was := l.charges[made.pod.UID]; was.isSame(made) {
		was.pod = made.pod
		return
	}
	l.release(made.pod.UID)
	l.charges[made.pod.UID] = made
	of, known := l.accounts[made.from]
	if !known {
		of.charges = sets.New[*charge]()
		l.accounts[made.from] = of
	}
	of.charges.Insert(made)
	l.count(made)
}

// isSame says that nothing that a charge depends on has changed.
func (c *charge) isSame(now *charge) bool {
	return c != nil && c.from == now.from && c.node == now.node && maps.Equal(c.pod.Labels, now.pod.Labels) &&
		equality.Semantic.DeepEqual(c.pod.OwnerReferences, now.pod.OwnerReferences) && c.requests.Equal(now.requests)
}

// count adds the charge to its account if it is valid.
func (l *Ledger) count(made *charge) {
	if one := l.entries[made.from]; one != nil {
		made.holds = one.node == made.node && anySelects(one.owners, made.pod)
	} else if plan := l.plans[made.from]; plan != nil {
		made.holds = plan.Occupy(made.pod, made.node, made.requests)
	}
	if of := l.accounts[made.from]; made.holds {
		l.version++
		l.accounts[made.from] = account{of.charges, of.sum.Plus(made.requests), l.version}
	}
}

func (l *Ledger) uncount(made *charge) {
	if !made.holds {
		return
	}
	made.holds = false
	of := l.accounts[made.from]
	l.version++
	l.accounts[made.from] = account{of.charges, of.sum.Minus(made.requests), l.version}
	if plan := l.plans[made.from]; plan != nil {
		plan.Release(made.pod.UID)
	}
}

// recount checks again which charges are valid, after the reservation or plan has changed.
func (l *Ledger) recount(from types.UID) {
	for _, check := range []func(*charge){l.uncount, l.count} {
		for made := range l.accounts[from].charges {
			check(made)
		}
	}
}

// Account is what pods have taken from one reservation.
type Account struct {
	Allocated resources.Vector
	Pods      []*v1.Pod
}

// Account is that of one reservation.
func (l *Ledger) Account(of types.UID) Account {
	l.mu.RLock()
	defer l.mu.RUnlock()
	counted := Account{Allocated: l.accounts[of].sum}
	for made := range l.accounts[of].charges {
		if made.holds {
			counted.Pods = append(counted.Pods, made.pod)
		}
	}
	return counted
}

// AccountVersion changes whenever the account does.
func (l *Ledger) AccountVersion(of types.UID) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.accounts[of].version
}
