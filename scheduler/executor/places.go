package executor

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// place counts the open places of one kind on one node.
type place struct {
	kind     snapshot.Kind
	node     string
	requests resources.Vector
	// settled are for pods that already wait; they are open from the start.
	settled int
	// inFlight are for replacements of moves that are under way.
	inFlight int
	// unopened are for replacements of moves that have not started.
	unopened int
}

// taken is a place that a pod holds between Reserve and Bound.
type taken struct {
	pod      *v1.Pod
	kind     snapshot.Kind
	node     string
	inFlight bool
	// ready: the pod was seen ready before its binding was reported.
	ready bool
}

func (e *Execution) placeOf(kind snapshot.Kind, node string, requests resources.Vector) *place {
	e.owners.Insert(kind.Owner)
	nodes, ok := e.places[kind]
	if !ok {
		nodes = map[string]*place{}
		e.places[kind] = nodes
	}
	if nodes[node] == nil {
		nodes[node] = &place{kind: kind, node: node, requests: requests}
	}
	return nodes[node]
}

// change alters the counts of a place and the sums of its node. No other code may do so.
func (e *Execution) change(p *place, settled, inFlight, unopened int) {
	p.settled += settled
	p.inFlight += inFlight
	p.unopened += unopened
	e.open[p.kind] += settled + inFlight
	addTo(e.moving, p, inFlight)
	if arrivals := settled + inFlight + unopened; arrivals != 0 {
		addTo(e.needed, p, arrivals)
		e.arrivals += arrivals
		e.outstanding = nil
	}
}

// addTo adds or subtracts the requests of one pod of the place.
func addTo(sums map[string]resources.Vector, p *place, pods int) {
	switch {
	case pods > 0:
		sums[p.node] = sums[p.node].Plus(p.requests)
	case pods < 0:
		sums[p.node] = sums[p.node].Minus(p.requests)
	}
}

// Concerns says whether the pod is of an owner that the plan touches. It needs no lock.
func (e *Execution) Concerns(pod *v1.Pod) bool { return e.owners.Has(ownerOf(pod)) }

// ownerOf is the pod's controller, or the pod itself.
func ownerOf(pod *v1.Pod) types.UID {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.UID
	}
	return pod.UID
}

// kindOf hashes the pod's spec only if its owner is in the plan. For waiting pods it uses the known kind: they are looked
// up each time that a pod leaves.
func (e *Execution) kindOf(pod *v1.Pod) (kind snapshot.Kind, concerned bool) {
	owner := ownerOf(pod)
	if !e.owners.Has(owner) {
		return snapshot.Kind{}, false
	}
	e.mu.Lock()
	known, waits := e.waiting[pod.UID]
	e.mu.Unlock()
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
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[kind] > 0
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
	e.mu.Lock()
	defer e.mu.Unlock()
	if free == nil {
		free = func(node string) resources.Vector { return e.free[node] }
	}
	return e.nodesOf(kind, free), e.open[kind] > 0
}

// nodesOf are the nodes where a pod of the kind can take an open place now. A replacement whose open places all lack room
// may take one for which no pod has left yet: the pods of a kind are alike, so the plan leads to the same state. Without
// that, moves could wait for each other for ever.
func (e *Execution) nodesOf(kind snapshot.Kind, free func(node string) resources.Vector) (nodes []string) {
	var unopened []string
	replaced := false
	for node, place := range e.places[kind] {
		replaced = replaced || place.inFlight > 0
		switch {
		case place.inFlight+place.settled > 0 && e.hasRoom(place, free(node), place.inFlight > 0):
			nodes = append(nodes, node)
		case place.unopened > 0 && e.hasRoom(place, free(node), false):
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
func (e *Execution) hasRoom(place *place, free resources.Vector, replaces bool) bool {
	if !replaces {
		free = free.Minus(e.moving[place.node])
	}
	return place.requests.FitsIn(free)
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
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.vacated[kind]
}

// Outstanding is the room that the plan still needs on each node. The map must not be changed.
func (e *Execution) Outstanding() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.outstanding == nil {
		e.outstanding = make(map[string]resources.Vector, len(e.needed))
		for node, room := range e.needed {
			if !room.IsZero() {
				e.outstanding[node] = room
			}
		}
	}
	return e.outstanding
}

// Reserve takes a place on the node for the pod; planned says whether Nodes named the node. It reports false if there is
// none: then the pod is an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string, planned bool) bool {
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	place := e.places[kind][node]
	if _, again := e.reserved[pod.UID]; again {
		return true
	}
	if place != nil && planned && place.inFlight+place.settled == 0 {
		e.openFor(place)
	}
	switch {
	case place == nil:
		return false
	case place.inFlight > 0:
		e.change(place, 0, -1, 0)
		e.reserved[pod.UID] = taken{pod: pod, kind: kind, node: node, inFlight: true}
	case place.settled > 0:
		e.change(place, -1, 0, 0)
		e.reserved[pod.UID] = taken{pod: pod, kind: kind, node: node}
	default:
		return false
	}
	return true
}

// openFor opens a place for which no pod has left yet, if there is one on the node, and closes another open place of the
// kind: two moves exchange their targets. If none is open any more, because an eviction was refused meanwhile, the pod that
// comes takes the place of the one that is still to leave.
func (e *Execution) openFor(place *place) {
	for _, move := range e.movesOf[place.kind] {
		if move.to == place.node && !move.opened && move.state == Waiting {
			move.opened = !e.retarget(move)
			e.change(place, 0, 1, -1)
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
		e.change(e.places[s.kind][s.to], 0, -1, 1)
	} else if open := e.settledPlace(s.kind); open != nil {
		s.to = open.node
		e.change(open, -1, 0, 1)
	} else {
		return false
	}
	s.opened, s.bound = false, false
	if s.to == s.from {
		s.state = NotNeeded
		e.change(e.places[s.kind][s.to], 0, 0, -1)
	}
	return true
}

// lateMove is a move of the kind whose pod leaves or has left, and whose place is open still; nil if there is none.
func (e *Execution) lateMove(kind snapshot.Kind) *step {
	for _, move := range e.movesOf[kind] {
		if move.departed() && !move.bound && e.places[kind][move.to].inFlight > 0 {
			return move
		}
	}
	return nil
}

// settledPlace is the first of a kind's open places for pods that wait, by node; nil if there is none.
func (e *Execution) settledPlace(kind snapshot.Kind) (first *place) {
	for _, place := range e.places[kind] {
		if place.settled > 0 && (first == nil || place.node < first.node) {
			first = place
		}
	}
	return first
}

// Unreserve gives the pod's place back. It may be called for any pod, and twice.
func (e *Execution) Unreserve(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	held, ok := e.reserved[uid]
	if !ok {
		return
	}
	delete(e.reserved, uid)
	if place := e.places[held.kind][held.node]; held.inFlight {
		e.change(place, 0, 1, 0)
	} else {
		e.change(place, 1, 0, 0)
	}
}

// Bound marks the arrival of a pod that holds a place, and reports whether it held one.
func (e *Execution) Bound(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	held, ok := e.reserved[uid]
	if !ok {
		return false
	}
	delete(e.reserved, uid)
	e.bound++
	if !held.inFlight {
		return true
	}
	if !held.ready {
		e.starting[uid] = held.pod
	}
	e.countArrival(held)
	return true
}

// countArrival counts the arrival of a replacement for one move: for one whose pod has left, if there is any. A move whose
// own pod still terminates may have had its arrival already.
func (e *Execution) countArrival(held taken) {
	var here, late *step
	for _, move := range e.movesOf[held.kind] {
		switch {
		case !move.opened || move.bound || move.state == Bound:
		case move.to == held.node && (here == nil || here.state == Waiting):
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

// InFlight is the room that the replacements under way will take on each node.
func (e *Execution) InFlight() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.moving)
}
