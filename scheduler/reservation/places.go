package reservation

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Place is so many places of one kind on one node. Which pod leaves for one, and which arrives there, does not matter.
type Place struct {
	Kind            snapshot.Kind
	Node, Namespace string
	Priority        int32
	Requests        resources.Vector
	// Settled are for pods that already wait; they are open from the start.
	Settled int
	// InFlight are for replacements of moves that are under way.
	InFlight int
	// Unopened are for replacements of moves that have not started.
	Unopened int
}

// Open are the places that pods may take now.
func (p *Place) Open() int { return p.Settled + p.InFlight }

// Holder is a pod that has taken a place and has not arrived there yet.
type Holder struct {
	Pod   *v1.Pod
	Place *Place
	// Replaces: the place is one of those in flight.
	Replaces bool
	// Ready: the pod was seen ready before its binding was reported.
	Ready bool
}

// Places is the room of one plan: the places that no pod has taken yet. Its users hold its lock, but for the methods that
// say otherwise.
type Places struct {
	sync.Mutex
	// Kinds are the places of each kind by node, Open counts those that are open, and Replacements those in flight.
	Kinds              map[snapshot.Kind]map[string]*Place
	Open, Replacements map[snapshot.Kind]int
	// Left counts the places of all kinds.
	Left    int
	Holders map[types.UID]*Holder
	// Moving is the room on each node for the replacements under way, needed that for all places.
	Moving, needed map[string]resources.Vector
	// outstanding is the copy of needed that is handed out; nil after a change.
	outstanding map[string]resources.Vector
	// owned are the places by owner, priority is the highest of any. Neither changes once all places are added.
	owned    map[types.UID][]*Place
	priority int32
}

// NewPlaces returns a book without places.
func NewPlaces() *Places {
	return &Places{Kinds: map[snapshot.Kind]map[string]*Place{}, Open: map[snapshot.Kind]int{},
		Replacements: map[snapshot.Kind]int{}, Holders: map[types.UID]*Holder{}, Moving: map[string]resources.Vector{},
		needed: map[string]resources.Vector{}, owned: map[types.UID][]*Place{}}
}

// Add adds so many places to those of their kind on their node. It must not be called once the book is in use.
func (p *Places) Add(made Place) {
	known := p.Kinds[made.Kind][made.Node]
	if known == nil {
		if p.Kinds[made.Kind] == nil {
			p.Kinds[made.Kind] = map[string]*Place{}
		}
		if len(p.owned) == 0 || made.Priority > p.priority {
			p.priority = made.Priority
		}
		empty := made
		empty.Settled, empty.InFlight, empty.Unopened = 0, 0, 0
		known = &empty
		p.Kinds[made.Kind][made.Node] = known
		p.owned[made.Kind.Owner] = append(p.owned[made.Kind.Owner], known)
	}
	p.Change(known, made.Settled, made.InFlight, made.Unopened)
}

// Change alters the counts of a place and the sums of its node. No other code may do so.
func (p *Places) Change(of *Place, settled, inFlight, unopened int) {
	of.Settled += settled
	of.InFlight += inFlight
	of.Unopened += unopened
	p.Open[of.Kind] += settled + inFlight
	p.Replacements[of.Kind] += inFlight
	addTo(p.Moving, of, inFlight)
	if change := settled + inFlight + unopened; change != 0 {
		addTo(p.needed, of, change)
		p.Left += change
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

// Take gives the pod an open place. It reports false if there is none.
func (p *Places) Take(pod *v1.Pod, of *Place) bool {
	switch {
	case of.InFlight > 0:
		p.Change(of, 0, -1, 0)
		p.Holders[pod.UID] = &Holder{Pod: pod, Place: of, Replaces: true}
	case of.Settled > 0:
		p.Change(of, -1, 0, 0)
		p.Holders[pod.UID] = &Holder{Pod: pod, Place: of}
	default:
		return false
	}
	return true
}

// GiveBack opens the place that a pod holds again. It may be called for any pod, and twice.
func (p *Places) GiveBack(uid types.UID) {
	held := p.Holders[uid]
	if held == nil {
		return
	}
	delete(p.Holders, uid)
	if held.Replaces {
		p.Change(held.Place, 0, 1, 0)
	} else {
		p.Change(held.Place, 1, 0, 0)
	}
}

// Outstanding is the room on each node for the places that nobody has taken. It takes the lock. The map must not be changed.
func (p *Places) Outstanding() map[string]resources.Vector {
	p.Lock()
	defer p.Unlock()
	if p.outstanding == nil {
		p.outstanding = make(map[string]resources.Vector, len(p.needed))
		for node, room := range p.needed {
			if !room.IsZero() {
				p.outstanding[node] = room
			}
		}
	}
	return p.outstanding
}

// expected are the places of the pod's owner, taken or not. It needs no lock. Tenants can write owner references, but only
// in their namespaces.
func (p *Places) expected(pod *v1.Pod) []*Place {
	places := p.owned[OwnerOf(pod)]
	if len(places) == 0 || places[0].Namespace != pod.Namespace {
		return nil
	}
	return places
}

// OwnerOf is the pod's controller, or the pod itself.
func OwnerOf(pod *v1.Pod) types.UID {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.UID
	}
	return pod.UID
}
