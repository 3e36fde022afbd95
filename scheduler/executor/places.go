package executor

import (
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Place is so many places of one kind on one node. Which pod leaves for one, and which arrives there, does not matter.
type Place struct {
	Node     string
	Requests resources.Vector

	kind      snapshot.Kind
	namespace string
	priority  int32
	// settled are for pods that already wait; they are open from the start. inFlight are for replacements of moves that are
	// under way, unopened for those of moves that have not started.
	settled, inFlight, unopened int
}

// open are the places that pods may take now.
func (p *Place) open() int { return p.settled + p.inFlight }

// holder is a pod that has taken a place and has not arrived there yet.
type holder struct {
	pod   *v1.Pod
	place *Place
	// replaces: the place is one of those in flight.
	replaces bool
	// ready: the pod was seen ready before its binding was reported.
	ready bool
}

// Places is the room of one plan: the places that no pod has taken yet. It is safe for concurrent use.
type Places struct {
	// Priority is the highest of any pod. Carried: an execution alone fills the places; else any pod of an owner may.
	Priority int32
	Carried  bool

	mu sync.Mutex
	// kinds are the places of each kind by node, open counts those that are open, and replacements those in flight.
	kinds              map[snapshot.Kind]map[string]*Place
	open, replacements map[snapshot.Kind]int
	// left counts the places of all kinds.
	left    int
	holders map[types.UID]*holder
	// moving is the room on each node for the replacements under way, needed that for all places.
	moving, needed map[string]resources.Vector
	// outstanding is the copy of needed that is handed out; nil after a change.
	outstanding map[string]resources.Vector
	// owned are the places by owner. It does not change once all places are added.
	owned map[types.UID][]*Place
}

func newPlaces() *Places {
	return &Places{kinds: map[snapshot.Kind]map[string]*Place{}, open: map[snapshot.Kind]int{},
		replacements: map[snapshot.Kind]int{}, holders: map[types.UID]*holder{}, moving: map[string]resources.Vector{},
		needed: map[string]resources.Vector{}, owned: map[types.UID][]*Place{}}
}

// PlacesOf are the places of a plan in its object, including those that are taken by now: the pods' annotations say
// which. A move that turned out not to be needed has none, nor has a plan whose pods another scheduler places.
func PlacesOf(record *packingplan.Record) *Places {
	places := newPlaces()
	if record.IsRehearsed() {
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
		made.Node, made.kind = step.To, snapshot.KindOf(step)
		made.namespace, _, _ = strings.Cut(step.Pod, "/")
		places.add(made, 1, 0)
	}
	return places
}

// add adds so many places to those of their kind on their node. It must not be called once the places are in use.
func (p *Places) add(made Place, settled, unopened int) {
	known := p.kinds[made.kind][made.Node]
	if known == nil {
		if p.kinds[made.kind] == nil {
			p.kinds[made.kind] = map[string]*Place{}
		}
		if len(p.owned) == 0 || made.priority > p.Priority {
			p.Priority = made.priority
		}
		made.settled, made.inFlight, made.unopened = 0, 0, 0
		known = &made
		p.kinds[made.kind][made.Node] = known
		p.owned[made.kind.Owner] = append(p.owned[made.kind.Owner], known)
	}
	p.change(known, settled, 0, unopened)
}

// change alters the counts of a place and the sums of its node. No other code may do so.
func (p *Places) change(of *Place, settled, inFlight, unopened int) {
	of.settled += settled
	of.inFlight += inFlight
	of.unopened += unopened
	p.open[of.kind] += settled + inFlight
	p.replacements[of.kind] += inFlight
	addTo(p.moving, of, inFlight)
	if change := settled + inFlight + unopened; change != 0 {
		addTo(p.needed, of, change)
		p.left += change
		p.outstanding = nil
	}
}

// addTo adds or subtracts the requests of so many pods of the place.
func addTo(sums map[string]resources.Vector, of *Place, pods int) {
	for ; pods > 0; pods-- {
		sums[of.Node] = sums[of.Node].Plus(of.Requests)
	}
	for ; pods < 0; pods++ {
		sums[of.Node] = sums[of.Node].Minus(of.Requests)
	}
}

// take gives the pod an open place, rather one that is in flight. It reports false if there is none.
func (p *Places) take(pod *v1.Pod, of *Place) bool {
	if of.open() == 0 {
		return false
	}
	replaces := of.inFlight > 0
	p.holders[pod.UID] = &holder{pod: pod, place: of, replaces: replaces}
	if replaces {
		p.change(of, 0, -1, 0)
	} else {
		p.change(of, -1, 0, 0)
	}
	return true
}

// giveBack opens the place that a pod holds again. It may be called for any pod, and twice.
func (p *Places) giveBack(uid types.UID) {
	held := p.holders[uid]
	if held == nil {
		return
	}
	delete(p.holders, uid)
	if held.replaces {
		p.change(held.place, 0, 1, 0)
	} else {
		p.change(held.place, 1, 0, 0)
	}
}

// Outstanding is the room on each node for the places that nobody has taken. The map must not be changed.
func (p *Places) Outstanding() map[string]resources.Vector {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outstanding == nil {
		p.outstanding = maps.Clone(p.needed)
		maps.DeleteFunc(p.outstanding, func(_ string, room resources.Vector) bool { return room.IsZero() })
	}
	return p.outstanding
}

// Claim says whether the pod holds a place on the node. Where no execution gives pods their places, it takes one of its
// owner's that is large enough.
func (p *Places) Claim(pod *v1.Pod, node string, requests resources.Vector) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if held := p.holders[pod.UID]; held != nil || p.Carried {
		return held != nil && held.place.Node == node
	}
	return slices.ContainsFunc(p.expected(pod), func(one *Place) bool {
		return one.Node == node && requests.FitsIn(one.Requests) && p.take(pod, one)
	})
}

// Release gives back what Claim took.
func (p *Places) Release(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.Carried {
		p.giveBack(uid)
	}
}

// For are the places that are left for the pod and large enough. expected says whether there were ever any for its owner.
func (p *Places) For(pod *v1.Pod, requests resources.Vector) (left []*Place, expected bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.expected(pod)
	for _, one := range all {
		if one.open()+one.unopened > 0 && requests.FitsIn(one.Requests) {
			left = append(left, one)
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
