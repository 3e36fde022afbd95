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
	from, to string // to is empty for an eviction
	state    State
	// opened: its place is open, so its eviction is under way or done.
	opened bool
	// bound: a replacement arrived before the pod itself was gone.
	bound bool
	// early: the pod goes without room for its replacement although others are expected.
	early bool
	grace int64
}

// Execution is one plan being carried out. It is safe for concurrent use.
type Execution struct {
	// Places are the room of the plan; their lock is that of the whole execution.
	*reservation.Places
	moves     []*step
	movesOf   map[snapshot.Kind][]*step
	evictions []*step
	byUID     map[types.UID]*step
	owners    sets.Set[types.UID]
	classes   snapshot.Classes
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
		classes:  of.Classes,
		Places:   reservation.NewPlaces(),
		movesOf:  map[snapshot.Kind][]*step{},
		starting: map[types.UID]*v1.Pod{},
		vanished: map[types.UID]int{},
		waiting:  map[types.UID]waitingPod{},
	}
	for _, placement := range of.Placements {
		made := placeFor(placement)
		made.Settled = 1
		e.owners.Insert(made.Kind.Owner)
		e.Add(made)
	}
	for _, move := range of.Moves {
		added := e.addStep(move.Pod, move.From, move.To)
		e.moves, e.movesOf[added.kind] = append(e.moves, added), append(e.movesOf[added.kind], added)
		made := placeFor(move)
		made.Unopened = 1
		e.Add(made)
	}
	for _, eviction := range of.Evictions {
		e.evictions = append(e.evictions, e.addStep(eviction.Pod, eviction.From, ""))
	}
	skipUnneeded(of, e.evictions, free)
	e.noteVacated()
	return e
}

func placeFor(step plan.Step) reservation.Place {
	return reservation.Place{Kind: step.Pod.Kind(), Node: step.To, Namespace: step.Pod.Object.Namespace,
		Priority: step.Pod.Priority, Requests: step.Pod.Requests}
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

func (e *Execution) addStep(pod *snapshot.Pod, from, to string) *step {
	s := &step{pod: pod, kind: pod.Kind(), from: from, to: to, state: Waiting, grace: defaultGraceSeconds}
	if seconds := pod.Object.Spec.TerminationGracePeriodSeconds; seconds != nil {
		s.grace = *seconds
	}
	e.byUID[pod.Object.UID] = s
	e.owners.Insert(s.kind.Owner)
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

// skipUnneeded marks the evictions without which everything still fits, those of the highest priority first: room may
// have come free since the plan was made.
func skipUnneeded(of *plan.Plan, evictions []*step, free map[string]resources.Vector) {
	arriving, room := map[string]resources.Vector{}, map[string]resources.Vector{}
	maps.Copy(room, free)
	for _, step := range of.Steps() {
		arriving[step.To] = arriving[step.To].Plus(step.Pod.Requests)
		room[step.From] = room[step.From].Plus(step.Pod.Requests)
	}
	byPriority := slices.Clone(evictions)
	slices.SortStableFunc(byPriority, func(a, b *step) int { return cmp.Compare(b.pod.Priority, a.pod.Priority) })
	for _, eviction := range byPriority {
		without := room[eviction.from].Minus(eviction.pod.Requests)
		if arriving[eviction.from].FitsIn(without) {
			eviction.state = NotNeeded
			room[eviction.from] = without
		}
	}
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
