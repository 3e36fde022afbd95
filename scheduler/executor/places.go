package executor

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Concerns says whether the pod is of an owner that the plan touches. It needs no lock.
func (e *Execution) Concerns(pod *v1.Pod) bool { return e.owners.Has(reservation.OwnerOf(pod)) }

// kindOf is nothing for a pod whose owner is not in the plan: its spec is not hashed. For waiting pods it is the known
// kind: they are looked up each time that a pod leaves.
func (e *Execution) kindOf(pod *v1.Pod) snapshot.Kind {
	if !e.Concerns(pod) {
		return snapshot.Kind{}
	}
	e.Lock()
	known, waits := e.waiting[pod.UID]
	e.Unlock()
	if waits {
		return known.kind
	}
	return snapshot.Kind{Owner: reservation.OwnerOf(pod), Class: e.classes.ID(pod)}
}

// Plans says whether the plan has an open place for the pod, whatever room there is now. It costs the same for any plan:
// the scheduling queue asks it about each waiting pod at each event.
func (e *Execution) Plans(pod *v1.Pod) bool {
	if e == nil || !e.Concerns(pod) {
		return false
	}
	kind := e.kindOf(pod)
	e.Lock()
	defer e.Unlock()
	return e.Open[kind] > 0
}

// Nodes are those on which the plan has a place for the pod, and room. planned is false for a pod that the plan does not
// concern. A planned pod without nodes has to wait. free is the room that a node has now; nil for what it had at the last
// call of Ready.
func (e *Execution) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	if e == nil || !e.Concerns(pod) {
		return nil, false
	}
	kind := e.kindOf(pod)
	e.Lock()
	defer e.Unlock()
	if free == nil {
		free = func(node string) resources.Vector { return e.free[node] }
	}
	return e.nodesOf(kind, free), e.Open[kind] > 0
}

// nodesOf are the nodes where a pod of the kind can take an open place now. A replacement whose open places all lack room
// may take one for which no pod has left yet: the pods of a kind are alike, so the plan leads to the same state. Without
// that, moves could wait for each other for ever.
func (e *Execution) nodesOf(kind snapshot.Kind, free func(node string) resources.Vector) (nodes []string) {
	var unopened []string
	for node, place := range e.Kinds[kind] {
		switch {
		case place.Open() > 0 && e.hasRoom(place, free(node), place.InFlight > 0):
			nodes = append(nodes, node)
		case place.Unopened > 0 && e.hasRoom(place, free(node), false):
			unopened = append(unopened, node)
		}
	}
	if len(nodes) == 0 && e.Replacements[kind] > 0 {
		return unopened
	}
	return nodes
}

// hasRoom says whether one more pod of the place fits into what is free on its node. A pod that was waiting before the
// plan must not take the room of replacements that are still to arrive there.
func (e *Execution) hasRoom(place *reservation.Place, free resources.Vector, replaces bool) bool {
	if !replaces {
		free = free.Minus(e.Moving[place.Node])
	}
	return place.Requests.FitsIn(free)
}

// Vacated are the nodes from which the plan evicts pods of the same kind. During the plan their replacements must not be
// bound there, even if there is room: they could block the plan. The caller must not change the set.
func (e *Execution) Vacated(pod *v1.Pod) sets.Set[string] {
	kind := e.kindOf(pod)
	e.Lock()
	defer e.Unlock()
	return e.vacated[kind]
}

// Reserve takes a place on the node for the pod; planned says whether Nodes named the node. It reports false if there is
// none: then the pod is an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string, planned bool) bool {
	kind := e.kindOf(pod)
	e.Lock()
	defer e.Unlock()
	if e.Holders[pod.UID] != nil {
		return true
	}
	place := e.Kinds[kind][node]
	if place == nil {
		return false
	}
	var early *step
	if planned && place.Open() == 0 {
		early = e.openEarly(place)
	}
	took := e.Take(pod, place)
	if early != nil {
		e.retarget(early)
	}
	return took
}

// openEarly opens the place of a move whose pod has not left yet; nil if there is none.
func (e *Execution) openEarly(place *reservation.Place) *step {
	for _, move := range e.movesOf[place.Kind] {
		if move.to == place.Node && !move.opened && move.state == Waiting {
			move.opened = true
			e.Change(place, 0, 1, -1)
			return move
		}
	}
	return nil
}

// retarget gives a move whose pod stays for now, and whose place another pod of its kind has taken, an open place that
// this pod could have had: rather one of a replacement than one of a pod that waits. If none is open any more, the pod that
// came has the place of the one that is still to leave.
func (e *Execution) retarget(s *step) {
	open := slices.DeleteFunc(slices.Collect(maps.Values(e.Kinds[s.kind])), func(one *reservation.Place) bool { return one.Open() == 0 })
	if len(open) == 0 {
		return
	}
	to := slices.MinFunc(open, func(a, b *reservation.Place) int {
		return cmp.Or(cmp.Compare(min(b.InFlight, 1), min(a.InFlight, 1)), cmp.Compare(a.Node, b.Node))
	})
	if to.InFlight > 0 {
		e.exchange(s, to.Node)
		e.Change(to, 0, -1, 1)
	} else {
		e.settle(e.Kinds[s.kind][s.to])
		e.exchanged = append(e.exchanged, exchanged{s.kind, to.Node, s.to})
		s.to = to.Node
		e.Change(to, -1, 0, 1)
	}
	s.opened = false
	if s.to == s.from {
		s.state = NotNeeded
		e.Change(to, 0, 0, -1)
	}
}

// exchanged is a place that a waiting pod has left to a move, and the one that it has taken for it.
type exchanged struct {
	kind     snapshot.Kind
	from, to string
}

// settle counts a pod that has taken the place of a replacement, or has arrived there, as one that waited.
func (e *Execution) settle(place *reservation.Place) {
	for _, held := range e.Holders {
		if held.Place == place && held.Replaces {
			held.Replaces = false
			return
		}
	}
	if i := slices.Index(e.arrived[place.Kind], place.Node); i >= 0 {
		e.arrived[place.Kind] = slices.Delete(e.arrived[place.Kind], i, i+1)
	}
}

// exchange has a move exchange its target with one under way to the node.
func (e *Execution) exchange(s *step, node string) {
	for _, move := range e.movesOf[s.kind] {
		if move.to == node && move.opened && move.state != Bound {
			s.to, move.to = move.to, s.to
			return
		}
	}
}

// Unreserve gives the pod's place back. It may be called for any pod, and twice.
func (e *Execution) Unreserve(uid types.UID) {
	e.Lock()
	defer e.Unlock()
	e.GiveBack(uid)
}

// Bound marks the arrival of a pod that holds a place, and reports whether it held one.
func (e *Execution) Bound(uid types.UID) bool {
	e.Lock()
	defer e.Unlock()
	held := e.Holders[uid]
	if held == nil {
		return false
	}
	delete(e.Holders, uid)
	e.bound++
	if !held.Replaces {
		return true
	}
	if !held.Ready {
		e.starting[uid] = held.Pod
	}
	kind := held.Place.Kind
	e.arrived[kind] = append(e.arrived[kind], held.Place.Node)
	e.pair(kind)
	return true
}

// pair counts each replacement that has arrived for a move of its kind whose pod has gone. The pods may still terminate.
func (e *Execution) pair(kind snapshot.Kind) {
	for _, move := range e.movesOf[kind] {
		if arrived := e.arrived[kind]; move.state == Gone && len(arrived) > 0 {
			e.exchange(move, arrived[0])
			move.state, e.arrived[kind] = Bound, arrived[1:]
		}
	}
}
