package reservation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
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
// which. A move that turned out not to be needed has none, nor has a plan whose pods another scheduler places.
func ArrivalsOf(record *packingplan.Record) []Arrival {
	if record.IsRehearsed() {
		return nil
	}
	status := &record.Status
	classes := make(map[string]*packingplan.Class, len(status.Classes))
	requests := make(map[string]resources.Vector, len(status.Classes))
	for i := range status.Classes {
		class := &status.Classes[i]
		classes[class.ID], requests[class.ID] = class, resources.OfList(class.Requests).WithPods(1)
	}
	arrivals := make([]Arrival, 0, len(status.Placements)+len(status.Moves))
	add := func(node, pod, class string, of Arrival) {
		known := classes[class]
		if known == nil {
			return // its requests are not known
		}
		of.Node, of.Priority, of.Requests = node, known.Priority, requests[class]
		of.Namespace, _, _ = strings.Cut(pod, "/")
		arrivals = append(arrivals, of)
	}
	for _, one := range status.Placements {
		add(one.Node, one.Pod, one.Class, Arrival{Pod: types.UID(one.PodUID), Controller: types.UID(one.OwnerUID)})
	}
	for _, one := range status.Moves {
		if one.State == string(executor.NotNeeded) {
			continue
		}
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
		changed := was.changed(made)
		if len(changed) == 0 {
			return // pods of one kind have exchanged their places
		}
		for _, node := range changed {
			l.free(node)
		}
	}
	l.plans[plan] = made
	l.recount(plan)
}

// changed are the nodes on which the two do not hold the same places.
func (p *planRoom) changed(now *planRoom) (nodes []string) {
	for node, places := range p.onNode {
		if !samePlaces(places, now.onNode[node]) {
			nodes = append(nodes, node)
		}
	}
	for node := range now.onNode {
		if len(p.onNode[node]) == 0 {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// samePlaces compares the few places on one node in any order.
func samePlaces(before, after []*place) bool {
	left := slices.Clone(after)
	for _, one := range before {
		i := slices.IndexFunc(left, func(other *place) bool { return one.isLike(&other.Arrival) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// isLike compares all but the nodes.
func (a *Arrival) isLike(other *Arrival) bool {
	return a.Pod == other.Pod && a.Controller == other.Controller && a.Namespace == other.Namespace &&
		a.Priority == other.Priority && a.Requests.Equal(other.Requests)
}

func (l *Ledger) holdsAlready(plan types.UID, arrivals []Arrival) bool {
	l.mu.RLock()
	was := l.plans[plan]
	l.mu.RUnlock()
	return was != nil && slices.EqualFunc(was.arrivals, arrivals, func(a, b Arrival) bool { return a.Node == b.Node && a.isLike(&b) })
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
		if one.Pod != pod.UID && one.isFor(pod) {
			found(one)
		}
	}
}

// isFor says whether the pod may take the place: its own, or any of its controller's.
func (p *place) isFor(pod *v1.Pod) bool {
	if p.Pod == pod.UID {
		return true
	}
	of := metav1.GetControllerOfNoCopy(pod)
	return of != nil && p.Controller == of.UID && p.Namespace == pod.Namespace
}

// placeFor is the place on the node that the pod has taken or can take best, or nil.
func (p *planRoom) placeFor(pod *v1.Pod, node string, requests resources.Vector) *place {
	var best *place
	for _, one := range p.onNode[node] {
		free := one.takenBy == "" || one.takenBy == pod.UID
		if free && one.isFor(pod) && requests.FitsIn(one.Requests) && (best == nil || one.rank(pod) > best.rank(pod)) {
			best = one
		}
	}
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
