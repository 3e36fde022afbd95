// Package executor decides in which order a plan is carried out, and which pods may take the room
// that it makes. It calls no API: the plugin asks it what to evict next and reports what happened.
//
// Invariants:
//
//  1. A running pod is evicted for a move only once its target has room for it, beside the
//     replacements that are still to arrive there. Only where moves wait for each other in a cycle
//     is one pod of the cycle evicted early: the one whose replacement will wait for the shortest time.
//  2. Places are so many pods of an owner and class on a node, because replacements have new names: any replacement may
//     take any of them, whichever pod left for it. Each place is taken once: Reserve takes it, Unreserve gives it back,
//     and Bound completes it.
//  3. Pods outside the plan only get what is free beyond the room of all outstanding arrivals.
//  4. No more pods of one owner are being moved at a time than allowed. A move lasts until its replacement has been ready.
//     Where a replacement waits for room while another place of its kind has some, it takes that one, even if the pod
//     that the place was for has not left, so that owners do not wait for each other.
//  5. An eviction that turns out not to be needed is not carried out.
package executor

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// State is the state of a move or an eviction.
type State = packingplan.State

const (
	Waiting   = packingplan.Waiting
	Evicted   = packingplan.Evicted
	Gone      = packingplan.Gone
	Bound     = packingplan.Bound
	NotNeeded = packingplan.NotNeeded
)

// defaultGraceSeconds is Kubernetes' default termination grace period.
const defaultGraceSeconds = 30

// step is a pod that leaves its node.
type step struct {
	pod      *snapshot.Pod
	kind     snapshot.Kind
	unit     *unit
	from, to string // to is empty for an eviction
	state    State
	// opened: its place is open, so its eviction is under way or done.
	opened bool
	// early: the pod goes without room for its replacement although others are expected.
	early bool
	grace int64
}

func (s *step) UnitName() string { return s.unit.name }

// unit is carried out together or not at all.
type unit struct {
	name string // empty where a pod alone is the unit
	// steps are those of the pods that leave.
	steps []*step
	// kinds are those of its pods, and of no others, if it has a name.
	kinds []snapshot.Kind
}

// begun says that some pod has left for the unit.
func (u *unit) begun() bool {
	return slices.ContainsFunc(u.steps, func(s *step) bool { return s.state.Disrupted() })
}

// Execution is one plan being carried out. It is safe for concurrent use.
type Execution struct {
	// Places are the room of the plan; their lock is that of the whole execution.
	*reservation.Places
	moves     []*step
	movesOf   map[snapshot.Kind][]*step
	evictions []*step
	// units are those with a name, by the kinds of their pods.
	units   map[snapshot.Kind]*unit
	byUID   map[types.UID]*step
	owners  sets.Set[types.UID]
	classes snapshot.Classes
	// starting are the pods that the plan waits for: replacements that have a node and have not been ready yet.
	starting map[types.UID]*v1.Pod
	// vanished counts by owner those that were gone before they were ready, and that no other pod has come for yet.
	vanished map[types.UID]int
	// waiting are the pods that wait for a node and have an owner in the plan.
	waiting map[types.UID]waitingPod
	// free is the room on the nodes of the plan at the last call of Ready. It is never changed.
	free map[string]resources.Vector
	// vacated are the nodes that evicted pods leave, by kind. Its sets are replaced, never changed.
	vacated map[snapshot.Kind]sets.Set[string]
	// arrived are the nodes of replacements that came before any pod of their kind was gone for them.
	arrived map[snapshot.Kind][]string
	// exchanged are the places that waiting pods have left, until the plan's object shows it.
	exchanged []exchanged
	// bound counts the places that are filled.
	bound  int
	atOnce int
}

// New starts a plan. free is the room that every node has now; atOnce is how many pods of one owner may be moved at a
// time, 0 any number.
func New(of *plan.Plan, free map[string]resources.Vector, atOnce int) *Execution {
	e := &Execution{
		atOnce:   atOnce,
		free:     free,
		byUID:    map[types.UID]*step{},
		owners:   sets.New[types.UID](),
		units:    map[snapshot.Kind]*unit{},
		classes:  of.Classes,
		Places:   reservation.NewPlaces(),
		movesOf:  map[snapshot.Kind][]*step{},
		starting: map[types.UID]*v1.Pod{},
		vanished: map[types.UID]int{},
		arrived:  map[snapshot.Kind][]string{},
		waiting:  map[types.UID]waitingPod{},
	}
	for _, steps := range of.Units() {
		together := &unit{name: steps[0].Unit}
		for _, one := range steps {
			e.add(one, together)
		}
	}
	e.skipUnneeded()
	return e
}

// Expect adds places for pods that are still to be created. It must be called before the plan begins.
func (e *Execution) Expect(places *reservation.Places) {
	for kind, nodes := range places.Kinds {
		e.owners.Insert(kind.Owner)
		for _, place := range nodes {
			e.Add(*place)
		}
	}
	e.skipUnneeded()
}

func (e *Execution) add(one plan.Step, to *unit) {
	kind := one.Pod.Kind()
	e.owners.Insert(kind.Owner)
	if to.name != "" && e.units[kind] == nil {
		e.units[kind], to.kinds = to, append(to.kinds, kind)
	}
	made := reservation.Place{Kind: kind, Node: one.To, Namespace: one.Pod.Object.Namespace,
		Priority: one.Pod.Priority, Requests: one.Pod.Requests}
	switch {
	case one.From == "":
		made.Settled = 1
	case one.To == "":
		e.evictions = append(e.evictions, e.addStep(one, to))
		return
	default:
		made.Unopened = 1
		added := e.addStep(one, to)
		e.moves, e.movesOf[kind] = append(e.moves, added), append(e.movesOf[kind], added)
	}
	e.Add(made)
}

// noteVacated records which nodes evicted pods leave for good.
func (e *Execution) noteVacated() {
	e.vacated = map[snapshot.Kind]sets.Set[string]{}
	for _, step := range e.evictions {
		if step.state == NotNeeded {
			continue
		}
		if e.vacated[step.kind] == nil {
			e.vacated[step.kind] = sets.New[string]()
		}
		e.vacated[step.kind].Insert(step.from)
	}
}

func (e *Execution) addStep(one plan.Step, to *unit) *step {
	s := &step{pod: one.Pod, kind: one.Pod.Kind(), unit: to, from: one.From, to: one.To, state: Waiting, grace: defaultGraceSeconds}
	if seconds := one.Pod.Object.Spec.TerminationGracePeriodSeconds; seconds != nil {
		s.grace = *seconds
	}
	e.byUID[s.uid()], to.steps = s, append(to.steps, s)
	return s
}

// Progress counts what has been done and what is left.
type Progress struct {
	// Arrivals are the places that are still to be filled, Departures the pods still to leave.
	Arrivals, Departures int
	// Bound counts the places that are filled.
	Bound int
	// Starting are the replacements that have a node and have not been ready yet.
	Starting int
}

// Done says that everything has been carried out.
func (p Progress) Done() bool { return p.Arrivals == 0 && p.Departures == 0 }

// Progress counts what is left.
func (e *Execution) Progress() Progress {
	e.Lock()
	defer e.Unlock()
	progress := Progress{Arrivals: len(e.Holders) + e.Left, Bound: e.bound, Starting: len(e.starting)}
	for _, count := range e.vanished {
		progress.Starting += count
	}
	for _, step := range e.byUID {
		if step.state == Waiting || step.state == Evicted {
			progress.Departures++
		}
	}
	return progress
}

// States are the states of the moves and evictions by pod UID.
func (e *Execution) States() map[types.UID]State {
	e.Lock()
	defer e.Unlock()
	states := make(map[types.UID]State, len(e.byUID))
	for uid, step := range e.byUID {
		states[uid] = step.state
	}
	return states
}

// skipUnneeded marks the units of evictions without which everything still fits, those of the highest priority first: room
// may have come free since the plan was made.
func (e *Execution) skipUnneeded() {
	arriving, room := e.Outstanding(), map[string]resources.Vector{}
	maps.Copy(room, e.free)
	for _, step := range e.byUID {
		room[step.from] = room[step.from].Plus(step.pod.Requests)
	}
	byPriority := slices.Clone(e.evictions)
	slices.SortStableFunc(byPriority, func(a, b *step) int { return cmp.Compare(b.pod.Priority, a.pod.Priority) })
	for _, together := range packingplan.Units(byPriority) {
		for _, eviction := range together {
			room[eviction.from] = room[eviction.from].Minus(eviction.pod.Requests)
		}
		needed := slices.ContainsFunc(together, func(one *step) bool { return !arriving[one.from].FitsIn(room[one.from]) })
		for _, eviction := range together {
			if !needed {
				eviction.state = NotNeeded
				continue
			}
			eviction.state = Waiting
			room[eviction.from] = room[eviction.from].Plus(eviction.pod.Requests)
		}
	}
	e.noteVacated()
}

// RequireAll undoes skipUnneeded: the plan needs these evictions for something other than their room. It reports whether
// there are any.
func (e *Execution) RequireAll() bool {
	e.Lock()
	defer e.Unlock()
	some := false
	for _, eviction := range e.evictions {
		if eviction.state == NotNeeded {
			eviction.state = Waiting
			some = true
		}
	}
	e.noteVacated()
	return some
}
