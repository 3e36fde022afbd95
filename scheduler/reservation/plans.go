package reservation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

// Arrival is a place of a plan on a node: for a waiting pod, or for the replacement of a moved one.
type Arrival struct {
	Node string
	// Pod is the waiting pod, empty for a replacement.
	Pod types.UID
	// Controller is that of the pods that may take the place; empty for a pod without one.
	Controller types.UID
	Namespace  string
	Priority   int32
	Requests   resources.Vector
}

// ArrivalsOf are the places of a plan in its object, including those that are taken by now: the pods' annotations say
// which.
func ArrivalsOf(record *packingplan.Record) []Arrival {
	status := &record.Status
	classes := make(map[string]*packingplan.Class, len(status.Classes))
	requests := make(map[string]resources.Vector, len(status.Classes))
	for i := range status.Classes {
		class := &status.Classes[i]
		classes[class.ID], requests[class.ID] = class, resources.OfList(class.Requests)
	}
	arrivals := make([]Arrival, 0, len(status.Placements)+len(status.Moves))
	add := func(node, pod, class string, of Arrival) {
		known := classes[class]
		if known == nil {
			return // its requests are not known
		}
		of.Node, of.Priority, of.Requests = node, known.Priority, requests[class]
		of.Requests.Pods = 1
		of.Namespace, _, _ = strings.Cut(pod, "/")
		arrivals = append(arrivals, of)
	}
	for _, one := range status.Placements {
		add(one.Node, one.Pod, one.Class, Arrival{Pod: types.UID(one.PodUID), Controller: types.UID(one.OwnerUID)})
	}
	for _, one := range status.Moves {
		add(one.ToNode, one.Pod, one.Class, Arrival{Controller: types.UID(one.OwnerUID)})
	}
	return arrivals
}

// planRoom is the room that is held for the pods of one plan.
type planRoom struct {
	name     string
	arrivals []Arrival
	// onNode are the places on each node, expected those for each waiting pod and for each controller.
	onNode   map[string][]*place
	expected map[types.UID][]*place
	// priority is the highest of any place.
	priority int32
}

type place struct {
	Arrival
	// takenBy is empty while no pod has taken the place.
	takenBy types.UID
}

func newPlanRoom(name string, arrivals []Arrival) *planRoom {
	made := &planRoom{name: name, arrivals: arrivals, onNode: map[string][]*place{}, expected: map[types.UID][]*place{}}
	for i, arrival := range arrivals {
		one := &place{Arrival: arrival}
		made.onNode[arrival.Node] = append(made.onNode[arrival.Node], one)
		for _, uid := range []types.UID{arrival.Pod, arrival.Controller} {
			if uid != "" {
				made.expected[uid] = append(made.expected[uid], one)
			}
		}
		if i == 0 || arrival.Priority > made.priority {
			made.priority = arrival.Priority
		}
	}
	return made
}

// HoldPlan holds room for the pods of a plan, in place of what was held for it before.
func (l *Ledger) HoldPlan(plan types.UID, name string, arrivals []Arrival) {
	if l.holdsAlready(plan, arrivals) {
		return // as after every write of its progress
	}
	made := newPlanRoom(name, slices.Clone(arrivals))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(plan) {
		return
	}
	if was := l.plans[plan]; was != nil {
		l.freeAll(was)
	}
	l.plans[plan] = made
	l.recount(plan)
}

func (l *Ledger) holdsAlready(plan types.UID, arrivals []Arrival) bool {
	l.mu.RLock()
	was := l.plans[plan]
	l.mu.RUnlock()
	return was != nil && equality.Semantic.DeepEqual(was.arrivals, arrivals)
}

// EndPlan ends what is held for a plan, for good.
func (l *Ledger) EndPlan(plan types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.plans[plan]; was != nil {
		delete(l.plans, plan)
		l.freeAll(was)
	}
	l.markGone(plan)
}

func (l *Ledger) freeAll(was *planRoom) {
	for node := range was.onNode {
		l.free(node)
	}
}

// expects says whether the plan has a place for the pod on any node.
func (p *planRoom) expects(pod *v1.Pod) bool {
	found := false
	p.each(pod, func(*place) { found = true })
	return found
}

// each calls back with the places that the pod may take, on any node.
func (p *planRoom) each(pod *v1.Pod, found func(*place)) {
	for _, one := range p.expected[pod.UID] {
		found(one)
	}
	of := metav1.GetControllerOfNoCopy(pod)
	if of == nil {
		return
	}
	for _, one := range p.expected[of.UID] {
		if one.Namespace == pod.Namespace && one.Pod != pod.UID {
			found(one)
		}
	}
}

// placeFor is the place on the node that the pod has taken or can take best, or nil.
func (p *planRoom) placeFor(pod *v1.Pod, node string, requests resources.Vector) *place {
	var best *place
	p.each(pod, func(one *place) {
		free := one.takenBy == "" || one.takenBy == pod.UID
		if one.Node == node && free && requests.FitsIn(one.Requests) && (best == nil || one.rank(pod) > best.rank(pod)) {
			best = one
		}
	})
	return best
}

// rank ranks the places that a pod may take: the one it has, its own, those for any replacement, those of its siblings.
func (p *place) rank(pod *v1.Pod) int {
	switch {
	case p.takenBy == pod.UID:
		return 3
	case p.Pod == pod.UID:
		return 2
	case p.Pod == "":
		return 1
	}
	return 0
}

func (p *planRoom) vacate(node string, pod types.UID) {
	for _, one := range p.onNode[node] {
		if one.takenBy == pod {
			one.takenBy = ""
		}
	}
}
