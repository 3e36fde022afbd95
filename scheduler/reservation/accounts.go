package reservation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/resources"
)

// account is what pods claim to have taken from one reservation or plan, which may not be known yet. A pod that is no
// owner, or on another node, has taken nothing, whatever its annotation says: tenants can write annotations too.
type account struct {
	// claims are by pod. There are never more of them than pods.
	claims map[types.UID]*claim
	// sum is the total of the valid claims.
	sum resources.Vector
	// version is the ledger's version when the sum last changed.
	version uint64
}

type claim struct {
	pod      *v1.Pod
	node     string
	requests resources.Vector
	holds    bool
}

// Observe updates the claim of a pod as the API shows it.
func (l *Ledger) Observe(pod *v1.Pod) {
	if pod.Spec.NodeName == "" && !podutil.IsPodTerminal(pod) {
		return // it may be about to be bound
	}
	taken, some := TakenBy(pod)
	if !some || podutil.IsPodTerminal(pod) {
		l.Release(pod.UID)
		return
	}
	requests := l.book.Needs(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(taken.UID) {
		l.release(pod.UID)
		return
	}
	l.claim(pod, pod.Spec.NodeName, requests, taken.UID)
}

// Release gives back what a pod took, and reports whether it took anything.
func (l *Ledger) Release(pod types.UID) bool {
	l.mu.RLock()
	_, claimed := l.claimed[pod]
	l.mu.RUnlock()
	if !claimed {
		return false // like most pods: the write lock is not needed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.release(pod)
}

func (l *Ledger) release(pod types.UID) (took bool) {
	from, claimed := l.claimed[pod]
	if !claimed {
		return false
	}
	delete(l.claimed, pod)
	of := l.accounts[from]
	took = of.claims[pod].holds
	l.uncount(from, of.claims[pod])
	delete(of.claims, pod)
	if len(of.claims) == 0 {
		delete(l.accounts, from)
	}
	return took
}

// claim enters what a pod claims to have taken, in place of its earlier claim.
func (l *Ledger) claim(pod *v1.Pod, node string, requests resources.Vector, from types.UID) {
	of := l.accounts[from]
	if of != nil && of.claims[pod.UID].isSame(pod, node, requests) {
		of.claims[pod.UID].pod = pod
		return
	}
	l.release(pod.UID)
	if of = l.accounts[from]; of == nil {
		of = &account{claims: map[types.UID]*claim{}}
		l.accounts[from] = of
	}
	made := &claim{pod: pod, node: node, requests: requests}
	of.claims[pod.UID], l.claimed[pod.UID] = made, from
	l.count(from, made)
}

// isSame says that nothing that a claim depends on has changed.
func (c *claim) isSame(pod *v1.Pod, node string, requests resources.Vector) bool {
	return c != nil && c.node == node && maps.Equal(c.pod.Labels, pod.Labels) &&
		equality.Semantic.DeepEqual(c.pod.OwnerReferences, pod.OwnerReferences) &&
		c.requests.Equal(requests)
}

// count adds the claim to its account's sum if it is valid.
func (l *Ledger) count(from types.UID, made *claim) {
	if one := l.entries[from]; one != nil {
		made.holds = one.node == made.node && anySelects(one.owners, made.pod)
	} else if plan := l.plans[from]; plan != nil {
		made.holds = plan.claim(made.pod, made.node, made.requests)
	}
	if of := l.accounts[from]; made.holds {
		of.sum, of.version = of.sum.Plus(made.requests), l.nextVersion()
	}
}

func (l *Ledger) uncount(from types.UID, made *claim) {
	if !made.holds {
		return
	}
	made.holds = false
	of := l.accounts[from]
	of.sum, of.version = of.sum.Minus(made.requests), l.nextVersion()
	if plan := l.plans[from]; plan != nil {
		plan.release(made.pod.UID)
	}
}

// recount checks again which claims are valid, after the reservation or plan has changed.
func (l *Ledger) recount(from types.UID) {
	of := l.accounts[from]
	if of == nil {
		return
	}
	for _, made := range of.claims {
		l.uncount(from, made)
	}
	for _, made := range of.claims {
		l.count(from, made)
	}
}

func (l *Ledger) nextVersion() uint64 {
	l.version++
	return l.version
}

func (l *Ledger) closeAccount(of types.UID) {
	if closed := l.accounts[of]; closed != nil {
		for pod := range closed.claims {
			delete(l.claimed, pod)
		}
		delete(l.accounts, of)
	}
}

func (l *Ledger) allocated(of types.UID) resources.Vector {
	if account := l.accounts[of]; account != nil {
		return account.sum
	}
	return resources.Vector{}
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
	account := l.accounts[of]
	if account == nil {
		return Account{}
	}
	counted := Account{Allocated: account.sum}
	for _, made := range account.claims {
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
	if account := l.accounts[of]; account != nil {
		return account.version
	}
	return 0
}
