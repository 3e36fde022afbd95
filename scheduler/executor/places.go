package executor

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// place counts the open places of one kind on one node.
type place struct {
	requests resources.Vector
	// settled are for pods that wait already; they are open from the start.
	settled int
	// inFlight are for replacements of moves that are under way.
	inFlight int
	// unopened are for replacements of moves whose turn has not come.
	unopened int
}

func (p *place) outstanding() int { return p.settled + p.inFlight + p.unopened }

// taken is a place that a pod holds between Reserve and Bound.
type taken struct {
	kind     snapshot.Kind
	node     string
	inFlight bool
}

func (e *Execution) placeOf(kind snapshot.Kind, node string, requests resources.Vector) *place {
	e.owners.Insert(kind.Owner)
	nodes, ok := e.places[kind]
	if !ok {
		nodes = map[string]*place{}
		e.places[kind] = nodes
	}
	if nodes[node] == nil {
		nodes[node] = &place{requests: requests}
	}
	return nodes[node]
}

// placesOf finds the places of a pod, hashing its spec only if its owner is in the plan.
func (e *Execution) placesOf(pod *v1.Pod) (snapshot.Kind, map[string]*place) {
	owner := pod.UID
	if controller := metav1.GetControllerOf(pod); controller != nil {
		owner = controller.UID
	}
	if !e.owners.Has(owner) {
		return snapshot.Kind{}, nil
	}
	kind := snapshot.Kind{Owner: owner, Class: snapshot.ClassID(pod)}
	return kind, e.places[kind]
}

// Nodes are those on which the plan has an open place for the pod. planned is false for a pod
// that is none of the plan's business. A planned pod without nodes has to wait. free is the room
// that a node has now.
func (e *Execution) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, places := e.placesOf(pod)
	for node, place := range places {
		switch {
		case place.inFlight > 0:
			planned = true
			nodes = append(nodes, node)
		case place.settled > 0:
			planned = true
			// A waiting pod does not overtake the replacements that are on their way there.
			if place.requests.FitsIn(free(node).Minus(e.inFlight(node))) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes, planned
}

// Vacated are the nodes that the plan evicts pods of the same kind from. While it lasts their
// replacements must not come back there, also if there is room: they may be in the way otherwise.
func (e *Execution) Vacated(pod *v1.Pod) sets.Set[string] {
	e.mu.Lock()
	defer e.mu.Unlock()
	kind, _ := e.placesOf(pod)
	vacated := sets.New[string]()
	for _, step := range e.evictions {
		if step.kind == kind && step.state != NotNeeded {
			vacated.Insert(step.from)
		}
	}
	return vacated
}

// inFlight is the room that replacements on their way to the node will take.
func (e *Execution) inFlight(node string) resources.Vector {
	var sum resources.Vector
	for _, places := range e.places {
		if place := places[node]; place != nil {
			for range place.inFlight {
				sum = sum.Plus(place.requests)
			}
		}
	}
	return sum
}

// Outstanding is the room that the plan still needs on each node.
func (e *Execution) Outstanding() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	needed := map[string]resources.Vector{}
	for _, places := range e.places {
		for node, place := range places {
			for range place.outstanding() {
				needed[node] = needed[node].Plus(place.requests)
			}
		}
	}
	return needed
}

// Reserve takes an open place on the node for the pod. It reports false if there is none, which
// makes the pod an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	kind, places := e.placesOf(pod)
	place := places[node]
	if _, again := e.reserved[pod.UID]; again {
		return true
	}
	switch {
	case place == nil:
		return false
	case place.inFlight > 0:
		place.inFlight--
		e.reserved[pod.UID] = taken{kind, node, true}
	case place.settled > 0:
		place.settled--
		e.reserved[pod.UID] = taken{kind, node, false}
	default:
		return false
	}
	return true
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
		place.inFlight++
	} else {
		place.settled++
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
	for _, move := range e.moves {
		if move.kind == held.kind && move.to == held.node && move.opened && move.state != Bound {
			move.arrived()
			break
		}
	}
	return true
}

// InFlight is the room that replacements on their way will take on each node.
func (e *Execution) InFlight() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	moving := map[string]resources.Vector{}
	for _, places := range e.places {
		for node := range places {
			moving[node] = e.inFlight(node)
		}
	}
	return moving
}
