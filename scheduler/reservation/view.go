package reservation

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage/stowage/scheduler/resources"
)

// View is what is reserved from the point of view of one pod. Its cost grows with what is reserved for the pod, and per
// node with what is reserved on that node; only IsRestricted may look at all Reservations. What they hold is looked up on
// demand.
type View struct {
	ledger   *Ledger
	pod      types.UID
	priority int32
	// own are the reservations that the pod owns.
	own sets.Set[types.UID]
	// plans are the rooms of the plans that do not expect the pod. None of them ever changes.
	plans []map[string]resources.Vector
	// turns are the nodes to which pods of such plans still come in turn.
	turns []sets.Set[string]
	// Offers are those on each node that have enough left for the pod.
	Offers map[string][]Offer
}

// Offer is what is left of a reservation, or a plan's place, that a pod may take from.
type Offer struct {
	Name           string
	Capacity, Left resources.Vector

	uid types.UID
}

// For is the view of a pod. In a rehearsal the room of plans does not count: the plan itself is being tried.
func (l *Ledger) For(pod *v1.Pod, rehearsal bool) *View {
	v := &View{ledger: l, pod: pod.UID, priority: corev1helpers.PodPriority(pod), own: sets.New[types.UID](),
		Offers: map[string][]Offer{}}
	requests := l.book.Needs(pod)
	l.mu.RLock()
	defer l.mu.RUnlock()
	l.owners.each(pod, func(uid types.UID) {
		one := l.entries[uid]
		if v.own.Has(uid) || !anySelects(one.owners, pod) {
			return
		}
		v.own.Insert(uid)
		if offer, enough := l.offer(one, pod, requests); enough && one.open {
			v.Offers[one.node] = append(v.Offers[one.node], offer)
		}
	})
	for uid, plan := range l.plans {
		places, expected := plan.For(pod, requests)
		for _, one := range places {
			v.Offers[one.Node] = append(v.Offers[one.Node], Offer{Name: plan.name, Capacity: one.Requests, Left: one.Requests, uid: uid})
		}
		if room := plan.Outstanding(); !expected && len(room) > 0 && !rehearsal && v.priority <= plan.Priority {
			v.plans = append(v.plans, room)
			if nodes := plan.InTurn(); len(nodes) > 0 {
				v.turns = append(v.turns, nodes)
			}
		}
	}
	return v
}

// offer is what is left of a reservation, and whether that is enough for the pod. Several pods may share a reservation; the
// number of pods is only limited by the node.
func (l *Ledger) offer(one *entry, pod *v1.Pod, requests resources.Vector) (offer Offer, enough bool) {
	capacity, left := l.rest(one.pod, one.capacity)
	if l.book.AsksForDevices(pod) {
		requests = l.book.Needs(pod) // devices as what is left counts them
	}
	return Offer{Name: one.name, Capacity: capacity, Left: left, uid: one.uid}, requests.WithPods(0).FitsIn(left)
}

// IsRestricted says whether any room is held against the pod, on whatever node.
func (v *View) IsRestricted() bool {
	l := v.ledger
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, one := range l.entries {
		if !v.passes(one) {
			return true
		}
	}
	return len(v.plans) > 0
}

// Held is the room on the node that the pod must not take: that of reservations that are not for it, and of plans that do
// not expect it, unless its priority is higher than that of any of their pods. The pods of a plan do not block each other:
// the plan decides their order.
func (v *View) Held(node string) (held resources.Vector, some bool) {
	l := v.ledger
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, one := range l.onNode[node] {
		if !v.passes(one) {
			held, some = held.Plus(l.left(one)), true
		}
	}
	for _, plan := range v.plans {
		if room, there := plan[node]; there {
			held, some = held.Plus(room), true
		}
	}
	return held, some
}

// AwaitsTurns says that pods of a plan that does not expect the pod still come to the node in turn: until they have come, the pod
// must not get a device there that pods share or that overlaps, since that could be the first that fits the next of them.
func (v *View) AwaitsTurns(node string) bool {
	return slices.ContainsFunc(v.turns, func(nodes sets.Set[string]) bool { return nodes.Has(node) })
}

// passes says that a reservation does not restrict the pod.
func (v *View) passes(one *entry) bool {
	return one.open && v.own.Has(one.uid) || v.priority > one.priority || one.uid == v.pod
}
