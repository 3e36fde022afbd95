package reservation

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/resources"
)

// Ledger contains what is reserved on every node, by Reservations and for the pods of plans, and what pods have taken of
// it. It is safe for concurrent use, and keeps nothing that a caller could change.
type Ledger struct {
	// book is nil before Watch.
	book *resources.Book

	mu sync.RWMutex
	// entries are the reservations that have a node, onNode those of each node.
	entries map[types.UID]*entry
	onNode  map[string]map[types.UID]*entry
	owners  ownerIndex
	plans   map[types.UID]*planRoom
	// charges are by pod, and accounts by reservation or plan.
	charges  map[types.UID]*charge
	accounts map[types.UID]account
	// version counts the changes of accounts.
	version uint64
	// gone are the reservations and plans that ended last: later entries about them are ignored.
	gone *lru.Cache
	// freed are the nodes on which room may have come free for rejected pods since the last call of Freed.
	freed sets.Set[string]
	// news holds a message while freed holds a node.
	news chan struct{}
}

// entry is a reservation that has a node. It never changes.
type entry struct {
	uid        types.UID
	name, node string
	generation int64
	priority   int32
	// open: its owners may take from it. Until then they wait for room for the whole reservation.
	open bool
	// capacity is what its pod needs, with the devices as they were counted then.
	pod      *v1.Pod
	capacity resources.Vector
	owners   []owner
}

// goneRemembered is how many ended reservations and plans are remembered: far more than can end while one status is
// being written.
const goneRemembered = 10_000

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{
		entries: map[types.UID]*entry{}, onNode: map[string]map[types.UID]*entry{},
		owners: ownerIndex{}, plans: map[types.UID]*planRoom{},
		charges: map[types.UID]*charge{}, accounts: map[types.UID]account{},
		gone: lru.New(goneRemembered), freed: sets.New[string](), news: make(chan struct{}, 1),
	}
}

// Put enters a reservation as it is now. One that has no node, has failed or has been removed holds nothing.
func (l *Ledger) Put(record *Record) {
	now := l.entryOf(record)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(record.UID()) {
		return
	}
	was := l.entries[record.UID()]
	l.replace(was, now)
	switch {
	case was != nil && (now == nil || now.node != was.node || now.generation != was.generation):
		l.free(was.node)
	case now != nil && now.open && (was == nil || !was.open):
		l.free(now.node) // for its owners
	}
	if now != nil && (was == nil || was.node != now.node || was.generation != now.generation) {
		l.recount(record.UID())
	}
}

// entryOf is nil for a reservation that holds nothing.
func (l *Ledger) entryOf(record *Record) *entry {
	status := &record.Status
	if status.Phase != Available && status.Phase != Waiting || status.NodeName == "" {
		return nil
	}
	pod := record.Pod()
	return &entry{uid: record.UID(), name: record.Name(), node: status.NodeName, generation: record.Generation(),
		priority: record.Priority(), open: status.Phase == Available, pod: pod, capacity: l.book.Needs(pod),
		owners: parseOwners(record.Spec.Owners)}
}

func (l *Ledger) replace(was, now *entry) {
	if was != nil {
		delete(l.entries, was.uid)
		delete(l.onNode[was.node], was.uid)
		if len(l.onNode[was.node]) == 0 {
			delete(l.onNode, was.node)
		}
		l.owners.remove(was)
	}
	if now != nil {
		l.entries[now.uid] = now
		if l.onNode[now.node] == nil {
			l.onNode[now.node] = map[types.UID]*entry{}
		}
		l.onNode[now.node][now.uid] = now
		l.owners.add(now)
	}
}

// Requests is what a reservation is to hold.
func (l *Ledger) Requests(record *Record) resources.Vector { return l.book.Needs(record.Pod()) }

// Remove removes a reservation that is gone, for good.
func (l *Ledger) Remove(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.entries[uid]; was != nil {
		l.replace(was, nil)
		l.free(was.node)
	}
	l.markGone(uid)
}

// markGone makes sure that nothing more is entered about a reservation or plan that has ended.
func (l *Ledger) markGone(uid types.UID) {
	l.gone.Add(uid, nil)
	for made := range l.accounts[uid].charges {
		delete(l.charges, made.pod.UID)
	}
	delete(l.accounts, uid)
}

func (l *Ledger) isGone(uid types.UID) bool {
	_, gone := l.gone.Get(uid)
	return gone
}

// free records that rejected pods may now pass on the node.
func (l *Ledger) free(node string) {
	l.freed.Insert(node)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// News has a message whenever there are freed nodes.
func (l *Ledger) News() <-chan struct{} { return l.news }

// Freed are the nodes on which room may have come free for rejected pods since the last call.
func (l *Ledger) Freed() sets.Set[string] {
	l.mu.Lock()
	defer l.mu.Unlock()
	freed := l.freed
	l.freed = sets.New[string]()
	return freed
}

// Empty says that nothing is reserved anywhere.
func (l *Ledger) Empty() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.entries)+len(l.plans) == 0
}

// HeldByNode is what Reservations hold on each node, without the room of plans.
func (l *Ledger) HeldByNode() map[string]resources.Vector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	held := map[string]resources.Vector{}
	for _, one := range l.entries {
		held[one.node] = held[one.node].Plus(l.left(one))
	}
	return held
}

// OwnerLabels are the keys of the labels by which Reservations select their owners: pods that differ in one of them may
// not use the same room.
func (l *Ledger) OwnerLabels() sets.Set[string] {
	keys := sets.New[string]()
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, one := range l.entries {
		for i := range one.owners {
			keys.Insert(one.owners[i].labelsRead()...)
		}
	}
	return keys
}

// HasRoom says whether what is still held of the reservation is free on its node, beside what is
// held of all others there.
func (l *Ledger) HasRoom(record *Record, free resources.Vector) bool {
	pod, node := record.Pod(), record.Status.NodeName
	capacity := l.book.Needs(pod)
	l.mu.RLock()
	defer l.mu.RUnlock()
	for uid, one := range l.onNode[node] {
		if uid != record.UID() && one.open {
			free = free.Minus(l.left(one))
		}
	}
	for _, plan := range l.plans {
		free = free.Minus(plan.Outstanding()[node])
	}
	_, left := l.rest(pod, capacity)
	return left.FitsIn(free)
}

// left is what is left of a reservation's capacity.
func (l *Ledger) left(one *entry) resources.Vector {
	_, left := l.rest(one.pod, one.capacity)
	return left
}

// rest is the capacity of the reservation with that pod, and what is left of it. Devices are counted as they are now: what
// somebody begins to ask for gives them further names.
func (l *Ledger) rest(pod *v1.Pod, capacity resources.Vector) (now, left resources.Vector) {
	of := l.accounts[pod.UID]
	if !l.book.AsksForDevices(pod) {
		return capacity, capacity.Minus(of.sum).AtLeastNothing()
	}
	now = l.book.Needs(pod)
	left = now
	for made := range of.charges {
		if made.holds {
			left = left.Minus(l.book.Needs(made.pod))
		}
	}
	return now, left.AtLeastNothing()
}

// Take gives the pod its place of a plan on the node, or lets it take from the reservation there that it fills most. ok
// is false if there is none for it.
func (l *Ledger) Take(pod *v1.Pod, node string) (taken Taken, ok bool) {
	requests := l.book.Needs(pod)
	l.mu.Lock()
	defer l.mu.Unlock()
	for uid, plan := range l.plans {
		if plan.Occupy(pod, node, requests) {
			taken, ok = Taken{Name: plan.name, UID: uid, Planned: true}, true
			break
		}
	}
	if !ok {
		taken, ok = l.fullest(pod, node, requests)
	}
	if ok {
		l.enter(&charge{pod: pod, node: node, requests: requests, from: taken.UID})
	}
	return taken, ok
}

func (l *Ledger) fullest(pod *v1.Pod, node string, requests resources.Vector) (taken Taken, ok bool) {
	var best Offer
	for _, one := range l.onNode[node] {
		if !one.open || !anySelects(one.owners, pod) {
			continue
		}
		if offer, enough := l.offer(one, pod, requests); enough && (!ok || fuller(offer, best, requests)) {
			best, ok = offer, true
		}
	}
	return Taken{Name: best.Name, UID: best.uid}, ok
}

// fuller says whether one is fuller than the other once the pod has taken from it. Names break ties, so that the choice
// is deterministic.
func fuller(one, other Offer, requests resources.Vector) bool {
	a := one.Capacity.Minus(one.Left).Plus(requests).ShareOf(one.Capacity)
	b := other.Capacity.Minus(other.Left).Plus(requests).ShareOf(other.Capacity)
	if a != b {
		return a > b
	}
	return one.Name < other.Name
}
