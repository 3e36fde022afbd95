package reservation

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/resources"
)

// Ledger is what is reserved on every node, and what pods have taken of it. It is safe for
// concurrent use.
type Ledger struct {
	mu      sync.RWMutex
	entries map[types.UID]*entry
	// gone are the reservations that were struck last: whoever still writes about one of them is late.
	gone *lru.Cache
	// takers are the pods that have taken from a reservation, also one that is not known (yet).
	takers map[types.UID]taker
}

// entry is a reservation that has a node.
type entry struct {
	record   *Record
	node     string
	capacity resources.Vector
}

// open says that owners may take from the reservation. The pods of a plan may come as soon as there
// is room for them; the others wait until there is room for all that was reserved.
func (e *entry) open() bool {
	return e.record.Status.Phase == Available || e.record.Plan() != ""
}

type taker struct {
	from     types.UID
	pod      *v1.Pod
	requests resources.Vector
}

// goneRemembered is how many reservations are known to be gone: far more than can end while a
// single status is being written.
const goneRemembered = 10_000

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{entries: map[types.UID]*entry{}, takers: map[types.UID]taker{}, gone: lru.New(goneRemembered)}
}

// Put enters a reservation as it is now. One without a node, or that failed, or that has been
// removed meanwhile, holds nothing.
func (l *Ledger) Put(record *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, gone := l.gone.Get(record.UID()); gone {
		return
	}
	live := record.Status.Phase == Available || record.Status.Phase == Waiting
	if !live || record.Status.NodeName == "" {
		if known := l.entries[record.UID()]; known != nil && record.Status.Phase == Pending && record.Plan() != "" {
			return // the plan knows already where; the status is yet to be written
		}
		delete(l.entries, record.UID())
		return
	}
	l.entries[record.UID()] = &entry{record: record, node: record.Status.NodeName, capacity: record.Requests()}
}

// Withdraw takes back what was entered of a reservation, which may be entered again.
func (l *Ledger) Withdraw(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.entries, uid)
}

// Remove strikes a reservation that is gone, for good.
func (l *Ledger) Remove(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.strike(uid)
}

// RemovePlan strikes all that was reserved for a plan, for good.
func (l *Ledger) RemovePlan(plan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, one := range l.entries {
		if one.record.Plan() == plan {
			l.strike(uid)
		}
	}
}

func (l *Ledger) strike(uid types.UID) {
	delete(l.entries, uid)
	l.gone.Add(uid, struct{}{})
}

// Standing is what is held on each node for others than a plan's pods.
func (l *Ledger) Standing() map[string]resources.Vector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	allocated := l.allocated()
	held := map[string]resources.Vector{}
	for uid, one := range l.entries {
		if one.record.Plan() == "" {
			held[one.node] = held[one.node].Plus(allocated.leave(uid, one.capacity))
		}
	}
	return held
}

// See takes note of a pod as the API shows it.
func (l *Ledger) See(pod *v1.Pod) {
	taken, some := TakenBy(pod)
	finished := podutil.IsPodTerminal(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case some && pod.Spec.NodeName != "" && !finished:
		l.takers[pod.UID] = taker{taken.UID, pod, resources.OfPod(pod)}
	case finished:
		delete(l.takers, pod.UID)
	}
}

// Release gives back what a pod took, and reports whether it took anything.
func (l *Ledger) Release(pod types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, took := l.takers[pod]
	delete(l.takers, pod)
	return took
}

// Empty says that nothing is reserved anywhere.
func (l *Ledger) Empty() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.entries) == 0
}

// Held is the room on each node that the pod must leave alone: that of reservations which are
// not for it, unless its priority is higher than theirs. The pods of a plan do not stand in each
// other's way: the plan sees to their order. In a rehearsal the rooms of plans do not count: the
// plan itself is what is tried.
func (l *Ledger) Held(pod *v1.Pod, rehearsal bool) map[string]resources.Vector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	priority := corev1helpers.PodPriority(pod)
	allocated := l.allocated()
	plans := l.plansOf(pod)
	held := map[string]resources.Vector{}
	for uid, one := range l.entries {
		plan := one.record.Plan()
		own := one.open() && one.record.Owns(pod) || plans.Has(plan)
		if own || priority > one.record.Priority() || uid == pod.UID || rehearsal && plan != "" {
			continue
		}
		held[one.node] = held[one.node].Plus(allocated.leave(uid, one.capacity))
	}
	return held
}

// HasRoom says whether what is still held of the reservation is free on its node, beside what is
// held of all others there.
func (l *Ledger) HasRoom(record *Record, free resources.Vector) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	allocated := l.allocated()
	for uid, one := range l.entries {
		if uid != record.UID() && one.node == record.Status.NodeName && one.record.Status.Phase == Available {
			free = free.Minus(allocated.leave(uid, one.capacity))
		}
	}
	return allocated.leave(record.UID(), record.Requests()).FitsIn(free)
}

// plansOf are the plans in which the pod has a room.
func (l *Ledger) plansOf(pod *v1.Pod) sets.Set[string] {
	plans := sets.New[string]()
	for _, one := range l.entries {
		if plan := one.record.Plan(); plan != "" && !plans.Has(plan) && one.record.Owns(pod) {
			plans.Insert(plan)
		}
	}
	return plans
}

// Offer is what is left of a reservation that a pod may take from.
type Offer struct {
	Record         *Record
	Capacity, Left resources.Vector
}

// Offers are the reservations on each node that the pod may take from, and that have enough left.
func (l *Ledger) Offers(pod *v1.Pod) map[string][]Offer {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.offers(pod)
}

func (l *Ledger) offers(pod *v1.Pod) map[string][]Offer {
	requests := resources.OfPod(pod)
	// A reservation holds room, which several pods may share; how many a node takes is its own limit.
	requests.Pods = 0
	allocated := l.allocated()
	offers := map[string][]Offer{}
	for uid, one := range l.entries {
		if !one.open() || !one.record.Owns(pod) {
			continue
		}
		left := allocated.leave(uid, one.capacity)
		if requests.FitsIn(left) {
			offers[one.node] = append(offers[one.node], Offer{one.record, one.capacity, left})
		}
	}
	return offers
}

// Take lets the pod take from the reservation on the node that is filled most by it. ok is false
// if there is none for it.
func (l *Ledger) Take(pod *v1.Pod, node string) (taken Taken, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	offers := l.offers(pod)[node]
	if len(offers) == 0 {
		return Taken{}, false
	}
	requests := resources.OfPod(pod)
	best := offers[0]
	for _, offer := range offers[1:] {
		if fuller(offer, best, requests) {
			best = offer
		}
	}
	l.takers[pod.UID] = taker{best.Record.UID(), pod, requests}
	return Taken{Name: best.Record.Name(), UID: best.Record.UID()}, true
}

// fuller says whether one is filled more than the other once the pod has taken from it. Names
// break ties, so that the choice does not depend on chance.
func fuller(one, other Offer, requests resources.Vector) bool {
	a := one.Capacity.Minus(one.Left).Plus(requests).ShareOf(one.Capacity)
	b := other.Capacity.Minus(other.Left).Plus(requests).ShareOf(other.Capacity)
	if a != b {
		return a > b
	}
	return one.Record.Name() < other.Record.Name()
}

// Account is what pods have taken of one reservation.
type Account struct {
	Allocated resources.Vector
	Pods      []*v1.Pod
}

// Accounts are those of all reservations, by UID.
func (l *Ledger) Accounts() map[types.UID]Account {
	l.mu.RLock()
	defer l.mu.RUnlock()
	accounts := map[types.UID]Account{}
	for _, one := range l.takers {
		account := accounts[one.from]
		account.Allocated = account.Allocated.Plus(one.requests)
		account.Pods = append(account.Pods, one.pod)
		accounts[one.from] = account
	}
	return accounts
}

// allocations are what has been taken of each reservation.
type allocations map[types.UID]resources.Vector

// leave is what is left of a reservation's capacity.
func (a allocations) leave(of types.UID, capacity resources.Vector) resources.Vector {
	return capacity.Minus(a[of]).AtLeastNothing()
}

func (l *Ledger) allocated() allocations {
	allocated := allocations{}
	for _, one := range l.takers {
		allocated[one.from] = allocated[one.from].Plus(one.requests)
	}
	return allocated
}
