package reservation

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// PlacesOf are the places of a plan in its object, including those that are taken by now: the pods' annotations say
// which. A move that turned out not to be needed has none, nor has a plan whose pods another scheduler places.
func PlacesOf(record *packingplan.Record) *Places {
	places := NewPlaces()
	if record.IsRehearsed() {
		return places
	}
	status := &record.Status
	classes := make(map[string]Place, len(status.Classes))
	for _, class := range status.Classes {
		classes[class.ID] = Place{Priority: class.Priority, Requests: resources.OfList(class.Requests).WithPods(1), Settled: 1}
	}
	for _, step := range status.Steps {
		made, known := classes[step.Class]
		if !known || step.To == "" || step.State == packingplan.NotNeeded {
			continue // its requests are not known, or it arrives nowhere
		}
		made.Node, made.Kind = step.To, snapshot.KindOf(step)
		made.Namespace, _, _ = strings.Cut(step.Pod, "/")
		places.Add(made)
	}
	return places
}

// planRoom is the room that is held for the pods of one plan.
type planRoom struct {
	name string
	*Places
	// promised is the room of all its places on each node, taken or not.
	promised map[string]resources.Vector
	// carried: this process carries the plan out. The places are those of the execution, which alone fills them.
	carried bool
}

// HoldPlan holds room for the pods of a plan, as its object has it.
func (l *Ledger) HoldPlan(plan types.UID, name string, places *Places) {
	promised := places.Outstanding()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(plan) {
		return
	}
	room := l.plans[plan]
	if room == nil {
		room = &planRoom{name: name, promised: promised}
		l.plans[plan] = room
	}
	l.freeChanged(room.promised, promised)
	l.freeChanged(promised, room.promised)
	room.promised = promised
	if !room.carried {
		room.Places = places
		l.recount(plan)
	}
}

func (l *Ledger) freeChanged(before, now map[string]resources.Vector) {
	for node, room := range before {
		if !room.Equal(now[node]) {
			l.free(node)
		}
	}
}

// CarryPlan holds the room of a plan that is held already as its execution has it.
func (l *Ledger) CarryPlan(plan types.UID, places *Places) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := l.plans[plan]; room != nil {
		room.Places, room.carried = places, true
	}
}

// EndPlan ends what is held for a plan, for good.
func (l *Ledger) EndPlan(plan types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.plans[plan]; was != nil {
		delete(l.plans, plan)
		l.freeChanged(was.promised, nil)
	}
	l.markGone(plan)
}

// claim says whether the pod holds a place on the node. Where no execution gives pods their places, it takes one of its
// owner's that is large enough.
func (p *planRoom) claim(pod *v1.Pod, node string, requests resources.Vector) bool {
	p.Lock()
	defer p.Unlock()
	if held := p.Holders[pod.UID]; held != nil || p.carried {
		return held != nil && held.Place.Node == node
	}
	for _, place := range p.expected(pod) {
		if place.Node == node && requests.FitsIn(place.Requests) && p.Take(pod, place) {
			return true
		}
	}
	return false
}

// left are those of the places that are not taken and large enough.
func (p *planRoom) left(places []*Place, requests resources.Vector) []*Place {
	p.Lock()
	defer p.Unlock()
	return slices.DeleteFunc(slices.Clone(places), func(one *Place) bool {
		return one.Open()+one.Unopened == 0 || !requests.FitsIn(one.Requests)
	})
}

func (p *planRoom) release(uid types.UID) {
	p.Lock()
	defer p.Unlock()
	if !p.carried {
		p.GiveBack(uid)
	}
}
