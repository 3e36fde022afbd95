package executor

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Concerns says whether the pod is of an owner that the plan touches. It needs no lock.
func (e *Execution) Concerns(pod *v1.Pod) bool { return e.owners.Has(reservation.OwnerOf(pod)) }

// kindOf hashes the pod's spec only if its owner is in the plan. For waiting pods it uses the known kind: they are looked
// up each time that a pod leaves.
func (e *Execution) kindOf(pod *v1.Pod) (kind snapshot.Kind, concerned bool) {
	owner := reservation.OwnerOf(pod)
	if !e.owners.Has(owner) {
		return snapshot.Kind{}, false
	}
	e.Lock()
	known, waits := e.waiting[pod.UID]
	e.Unlock()
	if waits {
		return known.kind, true
	}
	return snapshot.Kind{Owner: owner, Class: e.classes.ID(pod)}, true
}

// Plans says whether the plan has an open place for the pod, whatever room there is now. It costs the same for any plan:
// the scheduling queue asks it about each waiting pod at each event.
func (e *Execution) Plans(pod *v1.Pod) bool {
	if e == nil {
		return false
	}
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return false
	}
	e.Lock()
	defer e.Unlock()
	return e.Open[kind] > 0
}

// Nodes are those on which the plan has a place for the pod, and room. planned is false for a pod that the plan does not
// concern. A planned pod without nodes has to wait. free is the room that a node has now; nil for what it had at the last
// call of Ready.
func (e *Execution) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	if e == nil {
		return nil, false
	}
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return nil, false
	}
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
	replaced := false
	for node, place := range e.Kinds[kind] {
		replaced = replaced || place.InFlight > 0
		switch {
		case place.Open() > 0 && e.hasRoom(place, free(node), place.InFlight > 0):
			nodes = append(nodes, node)
		case place.Unopened > 0 && e.hasRoom(place, free(node), false):
			unopened = append(unopened, node)
		}
	}
	if len(nodes) == 0 && replaced {
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
	if len(e.evictions) == 0 {
		return nil
	}
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return nil
	}
	e.Lock()
	defer e.Unlock()
	return e.vacated[kind]
}

// Reserve takes a place on the node for the pod; planned says whether Nodes named the node. It reports false if there is
// none: then the pod is an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string, planned bool) bool {
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return false
	}
	e.Lock()
	defer e.Unlock()
	if e.Holders[pod.UID] != nil {
		return true
	}
	place := e.Kinds[kind][node]
	if place != nil && planned && place.Open() == 0 {
		e.openFor(place)
	}
	return place != nil && e.Take(pod, place)
}

// openFor opens a place for which no pod has left yet, if there is one on the node, and closes another open place of the
// kind: two moves exchange their targets. If none is open any more, because an eviction was refused meanwhile, the pod that
// comes takes the place of the one that is still to leave.
func (e *Execution) openFor(place *reservation.Place) {
	for _, move := range e.movesOf[place.Kind] {
		if move.to == place.Node && !move.opened && move.state == Waiting {
			move.opened = !e.retarget(move)
			e.Change(place, 0, 1, -1)
			return
		}
	}
}

// retarget gives a move whose target another pod of the kind has taken, or takes, the place that this pod was to have: the
// target of a move whose pod leaves or has left, or the place of a pod that waits. It reports false if there is none.
func (e *Execution) retarget(s *step) bool {
	if late := e.lateMove(s.kind); late != nil {
		s.to, late.to = late.to, s.to
		if s.bound {
			late.arrived()
		}
		e.Change(e.Kinds[s.kind][s.to], 0, -1, 1)
	} else if open := e.settledPlace(s.kind); open != nil {
		s.to = open.Node
		e.Change(open, -1, 0, 1)
	} else {
		return false
	}
	s.opened, s.bound = false, false
	if s.to == s.from {
		s.state = NotNeeded
		e.Change(e.Kinds[s.kind][s.to], 0, 0, -1)
	}
	return true
}

// lateMove is a move of the kind whose pod leaves or has left, and whose place is open still; nil if there is none.
func (e *Execution) lateMove(kind snapshot.Kind) *step {
	for _, move := range e.movesOf[kind] {
		if move.departed() && !move.bound && e.Kinds[kind][move.to].InFlight > 0 {
			return move
		}
	}
	return nil
}

// settledPlace is the first of a kind's open places for pods that wait, by node; nil if there is none.
func (e *Execution) settledPlace(kind snapshot.Kind) (first *reservation.Place) {
	for _, place := range e.Kinds[kind] {
		if place.Settled > 0 && (first == nil || place.Node < first.Node) {
			first = place
		}
	}
	return first
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
	e.countArrival(held.Place)
	return true
}

// countArrival counts the arrival of a replacement for one move: for one whose pod has left, if there is any. A move whose
// own pod still terminates may have had its arrival already.
func (e *Execution) countArrival(at *reservation.Place) {
	var here, late *step
	for _, move := range e.movesOf[at.Kind] {
		switch {
		case !move.opened || move.bound || move.state == Bound:
		case move.to == at.Node && (here == nil || here.state == Waiting):
			here = move
		case move.departed():
			late = move
		}
	}
	switch {
	case here == nil:
		return
	case here.state == Waiting && late != nil:
		here.to, late.to = late.to, here.to
		late.arrived()
	default:
		here.arrived()
	}
}
