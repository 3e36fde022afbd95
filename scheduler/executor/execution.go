// Package executor decides in which order a plan is carried out, and which pods may take the room
// that it makes. It calls no API: the plugin asks it what to evict next and reports what happened.
//
// Invariants:
//
//  1. A running pod is evicted for a move only once its target has room for it, beside the
//     replacements that are still to arrive there. Only where moves wait for each other in a cycle
//     is one pod of the cycle evicted early: the one whose replacement will wait for the shortest time.
//  2. Places are so many pods of an owner and class on a node, because replacements have new names: any replacement may
//     take any of them, whichever pod left for it, but no more are taken than pods have left or waited at the start. Each
//     place is taken once: Reserve takes it, Unreserve gives it back, and Bound completes it.
//  3. Pods outside the plan only get what is free beyond the room of all outstanding arrivals.
//  4. No more pods of one owner are being moved at a time than allowed. A move lasts until its replacement has been ready.
//     Where a replacement waits for room while another place that it could take has some, it takes that one, even if the
//     pod that the place was for has not left, so that owners do not wait for each other.
//  5. An eviction that turns out not to be needed is not carried out.
//  6. The pods of a unit leave together, and none of them has a node before all that it lacks can come. What has begun of
//     it is finished.
//  7. Pods with turns on a node come there in this order, after all pods of the plan have left it.
package executor

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// step is a pod that leaves its node. What it was planned with may change: replicas may exchange their targets.
type step struct {
	plan.Step // To is empty for an eviction
	unit      *unit
	state     packingplan.State
	// opened: its place is open, so its eviction is under way or done.
	opened bool
	// unanswered: nobody knows yet whether the last attempt evicted the pod.
	unanswered bool
	// early: the pod goes without room for its replacement although others are expected.
	early bool
}

// uid is that of the pod.
func (s *step) uid() types.UID { return s.Pod.Object.UID }

// toLeave says that the pod is still on its node.
func (s *step) toLeave() bool {
	return s.state == packingplan.Waiting || s.state == packingplan.Evicted
}

// unsure says that the place of the move is open, and that nobody knows yet whether its pod leaves.
func (s *step) unsure() bool {
	return s.opened && s.state == packingplan.Waiting && s.To != ""
}

// unit is carried out together or not at all.
type unit struct {
	// steps are those of the pods that leave.
	steps []*step
	// keys are those of the pods of a unit with a name, which are of no other.
	keys []snapshot.ReplicaKey
	// ready: at the last call of Activatable there were a pod and room for each place that is left.
	ready bool
	// carriedOn: a pod has come to one of its places, or a former process began with it.
	carriedOn bool
}

// begun says that some pod has left for the unit, or may have, or has come. What is left of it is not given up then.
func (u *unit) begun() bool {
	return u.carriedOn || slices.ContainsFunc(u.steps, func(s *step) bool { return s.unanswered || s.state.Disrupted() })
}

// Execution is one plan being carried out. It is safe for concurrent use.
type Execution struct {
	// Places are the room of the plan; their lock is that of the whole execution.
	*Places
	// steps are those of the pods that leave: moves and evictions.
	steps []*step
	byUID map[types.UID]*step
	// units are those with a name, by the keys of their pods, and named are the same by their names.
	units   map[snapshot.ReplicaKey]*unit
	named   map[string]*unit
	owners  sets.Set[types.UID]
	classes snapshot.Classes
	// starting are the pods that the plan waits for: replacements that have a node and have not been ready yet.
	starting map[types.UID]*v1.Pod
	// vanished counts by owner those that were gone before they were ready, and that no other pod has come for yet.
	vanished map[types.UID]int
	// waiting are the pods that wait for a node and have an owner in the plan.
	waiting map[types.UID]waitingPod
	// free is the room on the nodes of the plan at the last call of Activatable. It is never changed.
	free map[string]resources.Vector
	// arrived are the nodes of replacements that came before any pod was gone that they could replace.
	arrived map[snapshot.ReplicaKey][]string
	// untold are the changes of places for waiting pods that the plan's object does not show yet.
	untold []placeChange
	// unsure counts the moves with each key of which nobody knows yet whether the pod leaves.
	unsure map[snapshot.ReplicaKey]int
	// leavers are the pods that the plan takes off the nodes with turns, as far as these wait for them. holdsDevices says
	// whether claims of a pod hold devices, also once it is gone.
	leavers      map[string][]leaver
	holdsDevices func(types.UID) bool
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
		units:    map[snapshot.ReplicaKey]*unit{},
		named:    map[string]*unit{},
		classes:  of.Classes,
		Places:   newPlaces(of.Classes.Book()),
		starting: map[types.UID]*v1.Pod{},
		vanished: map[types.UID]int{},
		arrived:  map[snapshot.ReplicaKey][]string{},
		waiting:  map[types.UID]waitingPod{},
		unsure:   map[snapshot.ReplicaKey]int{},

		holdsDevices: of.Classes.HoldsDevices,
	}
	e.Carried = true
	for _, steps := range of.Units() {
		together := e.unitOf(steps[0].Unit)
		for _, one := range steps {
			e.plan(one, together)
		}
	}
	e.noteLeavers()
	e.skipUnneeded()
	return e
}

// Expect adds places for pods that are still to be created. It must be called before the plan begins.
func (e *Execution) Expect(places *Places) {
	for key, nodes := range places.byKey {
		e.owners.Insert(key.Owner)
		for _, place := range nodes {
			if place.unit != "" {
				e.join(key, e.unitOf(place.unit))
			}
			e.add(*place, place.settled, 0)
		}
	}
	e.noteLeavers()
	e.skipUnneeded()
}

// CarryOn says which units a former process began with. It must be called before the plan begins.
func (e *Execution) CarryOn(units ...string) {
	for _, name := range units {
		e.unitOf(name).carriedOn = true
	}
}

// unitOf is the unit of that name; a new one for a pod that is a unit alone.
func (e *Execution) unitOf(name string) *unit {
	known := e.named[name]
	if known == nil {
		known = &unit{}
		if name != "" {
			e.named[name] = known
		}
	}
	return known
}

// join notes that the pods with the key are of the unit.
func (e *Execution) join(key snapshot.ReplicaKey, together *unit) {
	if e.units[key] == nil {
		e.units[key], together.keys = together, append(together.keys, key)
	}
}

// plan adds a step of the plan.
func (e *Execution) plan(one plan.Step, to *unit) {
	key := one.Pod.ReplicaKey()
	e.owners.Insert(key.Owner)
	if one.Unit != "" {
		e.join(key, to)
	}
	made := Place{Node: one.To, Requests: one.Pod.Requests, key: key, namespace: one.Pod.Object.Namespace,
		priority: one.Pod.Priority, unit: one.Unit}
	if one.Turn > 0 {
		made.turns = []int32{one.Turn}
	}
	if one.From == "" {
		e.add(made, 1, 0)
		return
	}
	leaves := &step{Step: one, unit: to, state: packingplan.Waiting}
	e.steps, e.byUID[leaves.uid()], to.steps = append(e.steps, leaves), leaves, append(to.steps, leaves)
	if one.To != "" {
		e.add(made, 0, 1)
	}
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
	e.mu.Lock()
	defer e.mu.Unlock()
	progress := Progress{Arrivals: len(e.holders) + e.left, Bound: e.bound, Starting: len(e.starting)}
	for _, count := range e.vanished {
		progress.Starting += count
	}
	for _, step := range e.steps {
		if step.toLeave() {
			progress.Departures++
		}
	}
	return progress
}

// States are the states of the moves and evictions by pod UID.
func (e *Execution) States() map[types.UID]packingplan.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	states := make(map[types.UID]packingplan.State, len(e.steps))
	for _, step := range e.steps {
		states[step.uid()] = step.state
	}
	return states
}

// Opened must be called before the pod is evicted: its replacement may come before the eviction's answer, and waits for that.
// The places of the whole unit are opened.
func (e *Execution) Opened(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil {
		e.openAll(step.unit)
	}
}

func (e *Execution) openAll(together *unit) {
	for _, step := range together.steps {
		if step.opened || step.state == packingplan.NotNeeded {
			continue
		}
		e.set(step, true, step.state)
		if step.To != "" {
			e.change(e.target(step), 0, 1, -1)
		}
	}
}

// set alters a step that may be unsure before or after it. No other code may do so.
func (e *Execution) set(s *step, opened bool, state packingplan.State) {
	before := s.unsure()
	s.opened, s.state = opened, state
	switch after := s.unsure(); {
	case after && !before:
		e.unsure[s.Pod.ReplicaKey()]++
	case before && !after:
		e.unsure[s.Pod.ReplicaKey()]--
	}
}

// target are the places where the step's replacement may go.
func (e *Execution) target(s *step) *Place { return e.byKey[s.Pod.ReplicaKey()][s.To] }

// Refused undoes Opened: the eviction was refused and will be tried again. A unit stays open once it has begun.
func (e *Execution) Refused(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != packingplan.Waiting {
		return
	}
	if step.unanswered = false; step.unit.begun() {
		return
	}
	for _, one := range step.unit.steps {
		switch {
		case !one.opened:
		case one.To == "":
			e.set(one, false, one.state)
		case e.target(one).inFlight > 0:
			e.set(one, false, one.state)
			e.change(e.target(one), 0, -1, 1)
		default:
			e.retarget(one) // another replica has taken the place meanwhile
		}
	}
}

// Unanswered notes that the pod may have been evicted, and that the eviction will be tried again. Until then its place stays
// open, so that its replacement goes nowhere else, and the move counts as under way.
func (e *Execution) Unanswered(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == packingplan.Waiting {
		step.unanswered = true
	}
}

// Evicted marks the pod as evicted by the API. It reports whether that is new.
func (e *Execution) Evicted(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != packingplan.Waiting {
		return false
	}
	e.set(step, step.opened, packingplan.Evicted)
	step.unanswered = false
	if step.Unit != "" {
		e.openAll(step.unit) // another eviction of the unit may have been refused
	}
	return true
}

// Gone marks the pod as gone from its node.
func (e *Execution) Gone(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == packingplan.Evicted {
		step.state = packingplan.Gone
		e.pair(step.Pod.ReplicaKey())
	}
}

// Departing are the pods that are to leave, and those that have left.
func (e *Execution) Departing() sets.Set[types.UID] {
	e.mu.Lock()
	defer e.mu.Unlock()
	departing := make(sets.Set[types.UID], len(e.steps))
	for _, step := range e.steps {
		if step.state != packingplan.NotNeeded {
			departing.Insert(step.uid())
		}
	}
	return departing
}

// Leaving are the pods that were evicted, or may have been, and are not gone yet.
func (e *Execution) Leaving() (pods []*snapshot.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.steps {
		if step.unanswered || step.state == packingplan.Evicted {
			pods = append(pods, step.Pod)
		}
	}
	return pods
}

// LeftUnplaced counts the pods of the pod's owner that the plan has evicted without a place for a replacement.
func (e *Execution) LeftUnplaced(pod *v1.Pod) (count int) {
	owner := snapshot.OwnerOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.evictions() {
		if step.opened && step.Pod.ReplicaKey().Owner == owner && step.uid() != pod.UID {
			count++
		}
	}
	return count
}

// Describe puts the states of moves and evictions, and all targets, into the steps of the plan's object. It reports whether
// anything changed.
func (e *Execution) Describe(steps []*packingplan.Step) (changed bool) {
	turns := TurnsOf(steps)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.untold {
		changed = e.tell(one, steps) || changed
	}
	e.untold = nil
	for _, told := range steps {
		if step := e.byUID[types.UID(told.PodUID)]; step != nil && (told.State != step.state || told.To != step.To) {
			told.State, told.To, changed = step.state, step.To, true
		}
	}
	turns.Deal(steps, func(*packingplan.Step) int { return 0 })
	return changed
}

// tell puts a change of a place for a waiting pod into the steps. A place that is dropped becomes that of a placement whose
// pod waits no more: pods with a key are alike, and a later process must not send one there that waits.
func (e *Execution) tell(one placeChange, steps []*packingplan.Step) (changed bool) {
	arrives := func(told *packingplan.Step) bool {
		return e.byUID[types.UID(told.PodUID)] == nil && snapshot.ReplicaKeyOf(told) == one.key &&
			told.State != packingplan.Bound && told.State != packingplan.NotNeeded
	}
	waits := func(told *packingplan.Step) bool { return e.waiting[types.UID(told.PodUID)].pod != nil }
	at := slices.IndexFunc(steps, func(told *packingplan.Step) bool {
		return told.To == one.from && (one.arrived == "" || told.From != "") && arrives(told)
	})
	switch {
	case at < 0:
		return false
	case one.arrived != "": // at the target of a move that a former process began
		own := slices.IndexFunc(steps, func(told *packingplan.Step) bool { return told.PodUID == string(one.arrived) })
		if own >= 0 {
			steps[own].To, steps[at].To = steps[at].To, steps[own].To
		} else {
			steps[at].State = packingplan.Bound
		}
		return true
	case one.to != "":
		steps[at].To = one.to
		return true
	case steps[at].From != "":
		return false // the state of a move says that its replacement has not come
	}
	dropped := steps[at]
	if waits(dropped) {
		other := slices.IndexFunc(steps, func(told *packingplan.Step) bool {
			return arrives(told) && told.From == "" && !waits(told)
		})
		if other >= 0 {
			dropped.To, steps[other].To = steps[other].To, dropped.To
			dropped = steps[other]
		}
	}
	dropped.State = packingplan.NotNeeded
	return true
}
