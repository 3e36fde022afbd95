package executor

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
func PlacesOf(record *packingplan.Record, book *resources.Book) *Places {
	places := newPlaces(book)
	if record.PlacedElsewhere() {
		return places
	}
	status := &record.Status
	classes := make(map[string]Place, len(status.Classes))
	for _, class := range status.Classes {
		classes[class.ID] = Place{priority: class.Priority, Requests: resources.OfList(class.Requests).WithPods(1)}
	}
	for _, step := range status.Steps {
		made, known := classes[step.Class]
		if !known || step.To == "" || step.State == packingplan.NotNeeded {
			continue // its requests are not known, or it arrives nowhere
		}
		made.Node, made.key, made.unit = step.To, snapshot.ReplicaKeyOf(step), step.Unit
		made.namespace, _, _ = strings.Cut(step.Pod, "/")
		if step.Turn > 0 {
			made.turns = []int32{step.Turn}
		}
		places.add(made, 1, 0)
	}
	return places
}

// Occupy says whether the pod holds a place on the node. Where no execution gives pods their places, it takes one of its
// owner's that is large enough.
func (p *Places) Occupy(pod *v1.Pod, node string, requests resources.Vector) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if held := p.holders[pod.UID]; held != nil || p.Carried {
		return held != nil && held.place.Node == node
	}
	return slices.ContainsFunc(p.expected(pod), func(one *Place) bool {
		return one.Node == node && requests.WithoutDevices().FitsIn(one.Requests) && p.take(pod, one)
	})
}

// Release gives back what Occupy took.
func (p *Places) Release(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Carried {
		p.giveBack(uid)
	}
}

// For are the places that are left for the pod and large enough. expected says whether there were ever any for its owner.
func (p *Places) For(pod *v1.Pod, requests resources.Vector) (left []Place, expected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recount()
	all := p.expected(pod)
	for _, one := range all {
		if one.open()+one.unopened > 0 && requests.WithoutDevices().FitsIn(one.Requests) {
			left = append(left, *one)
		}
	}
	return left, len(all) > 0
}

// expected are the places of the pod's owner, taken or not. Tenants can write owner references, but only in their namespaces.
func (p *Places) expected(pod *v1.Pod) []*Place {
	places := p.owned[snapshot.OwnerOf(pod)]
	if len(places) == 0 || places[0].namespace != pod.Namespace {
		return nil
	}
	return places
}
