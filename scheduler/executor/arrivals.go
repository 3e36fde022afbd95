package executor

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Concerns says whether the pod is of an owner that the plan touches. It needs no lock.
func (e *Execution) Concerns(pod *v1.Pod) bool { return e.owners.Has(snapshot.OwnerOf(pod)) }

// kindOf is nothing for a pod whose owner is not in the plan: its spec is not hashed. For waiting pods it is the known
// kind: they are looked up each time that a pod leaves.
func (e *Execution) kindOf(pod *v1.Pod) snapshot.Kind {
	if !e.Concerns(pod) {
		return snapshot.Kind{}
	}
	e.mu.Lock()
	known, waits := e.waiting[pod.UID]
	e.mu.Unlock()
	if waits {
		return known.kind
	}
	return snapshot.Kind{Owner: snapshot.OwnerOf(pod), Class: e.classes.ID(pod)}
}

// Plans says whether the plan has an open place for the pod, whatever room there is now. It costs the same for any plan:
// the scheduling queue asks it about each waiting pod at each event.
func (e *Execution) Plans(pod *v1.Pod) bool {
	if e == nil || !e.Concerns(pod) {
		return false
	}
	kind := e.kindOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[kind] > 0
}

// Nodes are those on which the plan has a place for the pod, and room. planned is false for a pod that the plan does not
// concern. A planned pod without nodes has to wait. free is the room that a node has now; nil for what it had at the last
// call of Ready.
func (e *Execution) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	if e == nil || !e.Concerns(pod) {
		return nil, false
	}
	kind := e.kindOf(pod)
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
	for node, place := range e.kinds[kind] {
		switch {
		case place.open() > 0 && e.hasRoom(place, free(node), place.inFlight > 0):
			nodes = append(nodes, node)
		case place.unopened > 0 && e.hasRoom(place, free(node), false):
			unopened = append(unopened, node)
		}
	}
	if len(nodes) == 0 && e.replacements[kind] > 0 {
		return unopened
	}
	return nodes
}

// hasRoom says whether one more pod of the place fits into what is free on its node. A pod that was waiting before the
// plan must not take the room of replacements that are still to arrive there.
func (e *Execution) hasRoom(place *Place, free resources.Vector, replaces bool) bool {
	if !replaces {
		free = free.Minus(e.moving[place.Node])
	}
	return place.Requests.FitsIn(free)
}

// Vacated are the nodes from which the plan evicts pods of the same kind. During the plan their replacements must not be
// bound there, even if there is room: they could block the plan.
func (e *Execution) Vacated(pod *v1.Pod) sets.Set[string] {
	if !e.Concerns(pod) {
		return nil // like most pods: it is asked in each scheduling cycle
	}
	kind, nodes := e.kindOf(pod), sets.New[string]()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.steps {
		if step.To == "" && step.state != packingplan.NotNeeded && step.Pod.Kind() == kind {
			nodes.Insert(step.From)
		}
	}
	return nodes
}

// Reserve takes a place on the node for the pod; planned says whether Nodes named the node. It reports false if there is
// none: then the pod is an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string, planned bool) bool {
	kind := e.kindOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.holders[pod.UID] != nil {
		return true
	}
	place := e.kinds[kind][node]
	if place == nil {
		return false
	}
	var early *step
	if planned && place.open() == 0 { // it has that of a move whose pod has not left yet
		early = e.moveTo(place, func(s *step) bool { return !s.opened && s.state == packingplan.Waiting })
		if early != nil {
			early.opened = true
			e.change(place, 0, 1, -1)
		}
	}
	took := e.take(pod, place)
	if early != nil {
		e.retarget(early)
	}
	return took
}

// moveTo is the first move to the place for which the condition holds, or nil.
func (e *Execution) moveTo(place *Place, holds func(*step) bool) *step {
	for _, one := range e.steps {
		if one.To == place.Node && one.Pod.Kind() == place.kind && holds(one) {
			return one
		}
	}
	return nil
}

// retarget gives a move whose pod stays for now, and whose place another pod of its kind has taken, an open place that
// this pod could have had: rather one of a replacement than one of a pod that waits. If none is open any more, the pod that
// came has the place of the one that is still to leave.
func (e *Execution) retarget(s *step) {
	open := slices.DeleteFunc(slices.Collect(maps.Values(e.kinds[s.Pod.Kind()])), func(one *Place) bool { return one.open() == 0 })
	if len(open) == 0 {
		return
	}
	to := slices.MinFunc(open, func(a, b *Place) int {
		return cmp.Or(cmp.Compare(min(b.inFlight, 1), min(a.inFlight, 1)), cmp.Compare(a.Node, b.Node))
	})
	if to.inFlight > 0 {
		e.exchange(s, to)
		e.change(to, 0, -1, 1)
	} else {
		e.settle(e.target(s))
		e.exchanged = append(e.exchanged, exchanged{s.Pod.Kind(), to.Node, s.To})
		s.To = to.Node
		e.change(to, -1, 0, 1)
	}
	s.opened = false
	if s.To == s.From {
		s.state = packingplan.NotNeeded
		e.change(to, 0, 0, -1)
	}
}

// exchanged is a place that a waiting pod has left to a move, and the one that it has taken for it.
type exchanged struct {
	kind     snapshot.Kind
	from, to string
}

// settle counts a pod that has taken the place of a replacement, or has arrived there, as one that waited.
func (e *Execution) settle(place *Place) {
	for _, held := range e.holders {
		if held.place == place && held.replaces {
			held.replaces = false
			return
		}
	}
	if i := slices.Index(e.arrived[place.kind], place.Node); i >= 0 {
		e.arrived[place.kind] = slices.Delete(e.arrived[place.kind], i, i+1)
	}
}

// exchange has a move exchange its target with one under way to the place.
func (e *Execution) exchange(s *step, place *Place) {
	if move := e.moveTo(place, func(one *step) bool { return one.opened && one.state != packingplan.Bound }); move != nil {
		s.To, move.To = move.To, s.To
	}
}

// Unreserve gives the pod's place back. It may be called for any pod, and twice.
func (e *Execution) Unreserve(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.giveBack(uid)
}

// Bound marks the arrival of a pod that holds a place, and reports whether it held one.
func (e *Execution) Bound(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.holders[uid]
	if held == nil {
		return false
	}
	delete(e.holders, uid)
	e.bound++
	if !held.replaces {
		return true
	}
	if !held.ready {
		e.starting[uid] = held.pod
	}
	kind := held.place.kind
	e.arrived[kind] = append(e.arrived[kind], held.place.Node)
	e.pair(kind)
	return true
}

// pair counts each replacement that has arrived for a move of its kind whose pod has gone. The pods may still terminate.
func (e *Execution) pair(kind snapshot.Kind) {
	for _, move := range e.steps {
		arrived := e.arrived[kind]
		if len(arrived) > 0 && move.state == packingplan.Gone && move.To != "" && move.Pod.Kind() == kind {
			e.exchange(move, e.kinds[kind][arrived[0]])
			move.state, e.arrived[kind] = packingplan.Bound, arrived[1:]
		}
	}
}
