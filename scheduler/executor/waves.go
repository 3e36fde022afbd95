package executor

import (
	"cmp"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Departure is a pod to evict now.
type Departure struct {
	Pod *snapshot.Pod
	// To is where a replacement goes; empty for a pod that is left unplaced.
	To string
	// Early is set where the replacement will wait: moves wait for each other in a cycle, or another replica has taken
	// the place.
	Early bool
}

// Next is the next wave: the pods to evict now. free is the room that every node has now: its allocatable less all pods
// on it, including those that are terminating or being bound.
func (e *Execution) Next(free map[string]resources.Vector) []Departure {
	e.mu.Lock()
	defer e.mu.Unlock()
	var wave []Departure
	for _, step := range e.evictions() {
		if step.state == packingplan.Waiting {
			wave = append(wave, Departure{Pod: step.Pod})
		}
	}
	e.recount()
	room, expected := e.room(free)
	starting, away, begun := e.notReady(), e.away(), sets.New[string]()
	limited := [][]*step{}
	send := func(moves []*step, early bool) {
		for _, step := range moves {
			wave = append(wave, Departure{Pod: step.Pod, To: step.To, Early: early || step.opened})
			away[step.Pod.ReplicaKey().Owner]++
		}
	}
	waiting := packingplan.Units(waitingMoves(e.steps))
	for _, moves := range waiting {
		if !e.maySend(moves, away) {
			limited = append(limited, moves)
			// It goes as soon as the replacement is ready that its owner lacks.
			if slices.ContainsFunc(moves, func(s *step) bool {
				return starting[s.Pod.ReplicaKey().Owner] > 0 && e.target(s).Requests.FitsIn(room[s.To]) && e.mayBegin(e.target(s))
			}) {
				expected.Insert(moves[0].From)
			}
		} else if e.mayBeginAll(moves, begun) && e.takeRoom(moves, room) {
			send(moves, false)
			for _, step := range moves {
				begun.Insert(step.To)
			}
		}
	}
	if len(waiting) == 0 {
		return wave
	}
	// Moves that share no node, directly or through others, do not wait for each other.
	left := e.leftNow(wave)
	for node := range e.leavers {
		if e.awaitsClaimsOn(node) > 0 {
			expected.Insert(node)
		}
	}
	if len(left)+len(expected) > 0 { // their owner's pods may come back anywhere
		for _, moves := range limited {
			expected.Insert(moves[0].From)
		}
	}
	joined := e.joined(slices.Concat(waiting...))
	left, expected = joined.roots(left), joined.roots(expected)
	waiting = slices.DeleteFunc(waiting, func(moves []*step) bool {
		of := joined.root(moves[0].From)
		return !e.maySend(moves, away) || left.Has(of) || expected.Has(of) && !moves[0].early
	})
	for _, step := range e.oneOfEachCycle(slices.Concat(waiting...), free) {
		if moves := waitingMoves(step.unit.steps); e.maySend(moves, away) {
			send(moves, true)
		}
	}
	return wave
}

// leftNow are the nodes from which pods are leaving, or will in this wave, and those to which their replacements go.
func (e *Execution) leftNow(wave []Departure) sets.Set[string] {
	nodes := sets.New[string]()
	for _, one := range wave {
		nodes.Insert(one.Pod.Node, one.To)
	}
	for _, step := range e.steps {
		if step.state == packingplan.Evicted {
			nodes.Insert(step.From, step.To)
		}
	}
	return nodes.Delete("")
}

// Activatable are the waiting pods that can take an open place now, by UID: no more of an owner and class than have room,
// and all that a unit still lacks or none. free is the room on the nodes of the plan, which Nodes uses until the next call;
// the caller must not change it.
func (e *Execution) Activatable(free map[string]resources.Vector, binding func(types.UID) bool) map[string]*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recount()
	e.free = free
	left, coming := maps.Clone(free), map[string]resources.Vector{}
	waiting := map[*unit][]types.UID{}
	for uid, one := range e.waiting {
		if !binding(uid) {
			of := e.units[one.key]
			waiting[of] = append(waiting[of], uid)
		}
	}
	ready := e.withRoom(waiting[nil], left, coming)
	for _, name := range slices.Sorted(maps.Keys(e.named)) {
		together := e.named[name]
		leftBeside, comingBeside := maps.Clone(left), maps.Clone(coming)
		found := e.withRoom(waiting[together], leftBeside, comingBeside)
		if together.ready = len(found) >= e.lacks[name]; together.ready {
			left, coming = leftBeside, comingBeside
			maps.Copy(ready, found)
		}
	}
	return ready
}

// withRoom are those of the waiting pods that have room at once, by UID. It takes their room away; coming is what it has
// taken for replacements.
func (e *Execution) withRoom(waiting []types.UID, left, coming map[string]resources.Vector) map[string]*v1.Pod {
	ready, open := map[string]*v1.Pod{}, map[snapshot.ReplicaKey]int{}
	for _, uid := range waiting {
		one := e.waiting[uid]
		count, counted := open[one.key]
		if !counted {
			count = e.placesWithRoom(one.key, left, coming)
		}
		if count > 0 || e.fitsByOwn(one, left) {
			count = max(0, count-1)
			ready[string(uid)] = one.pod
		}
		open[one.key] = count
	}
	return ready
}

// Lacks says whether the unit of that name lacks pods, and whether all that it lacks could come at the last call of
// Activatable. It costs the same for any unit, as the scheduling queue asks about each waiting pod at each event.
func (e *Execution) Lacks(unit string) (some, ready bool) {
	if e == nil {
		return false, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	together := e.named[unit]
	if together == nil {
		return false, false
	}
	return e.lacks[unit] > 0, together.ready
}

// fitsByOwn says whether a pod whose claims have devices already has a place thanks to them.
func (e *Execution) fitsByOwn(one waitingPod, left map[string]resources.Vector) bool {
	of, own := e.classes.Allocated(one.pod)
	place := e.byKey[one.key][of]
	return place != nil && place.open() > 0 && e.hasTurn(place) && e.vacant(one.key) > 0 && e.hasRoom(place, left[of].Plus(own), place.inFlight > 0)
}

// placesWithRoom counts the places that pods with the key can take now, and takes their room away.
func (e *Execution) placesWithRoom(key snapshot.ReplicaKey, left, coming map[string]resources.Vector) (count int) {
	places, open := e.placesFor(key, func(node string) resources.Vector { return left[node] }, coming)
	vacant := e.vacant(key)
	for _, place := range places {
		most, replacing := place.open(), place.inFlight
		if !open {
			most, replacing = min(place.unopened, e.replacements[key]-count), 0
		}
		if len(place.turns) > 0 {
			most = min(most, 1)
		}
		for taken := 0; taken < most && count < vacant; taken++ {
			if !e.hasRoomBeside(place, left[place.Node], coming, taken < replacing) {
				break
			}
			left[place.Node] = left[place.Node].Minus(place.Requests)
			if taken < replacing {
				coming[place.Node] = coming[place.Node].Plus(place.Requests)
			}
			count++
		}
	}
	return count
}

// takeRoom takes the room that the moves of a unit need, or none if there is not enough for all of them. Places that are
// open have theirs.
func (e *Execution) takeRoom(moves []*step, room map[string]resources.Vector) bool {
	left := map[string]resources.Vector{}
	for _, step := range moves {
		if step.opened {
			continue
		}
		free, known := left[step.To]
		if !known {
			free = room[step.To]
		}
		requests := e.target(step).Requests
		if !requests.FitsIn(free) {
			return false
		}
		left[step.To] = free.Minus(requests)
	}
	maps.Copy(room, left)
	return true
}

// room is what is free beyond the arrivals under way. Where one of them is expected, as it already fits, there is something to
// wait for.
func (e *Execution) room(free map[string]resources.Vector) (room map[string]resources.Vector, expected sets.Set[string]) {
	room = make(map[string]resources.Vector, len(free))
	for node, vector := range free {
		room[node] = vector.Minus(e.moving[node])
	}
	expected = sets.New[string]()
	for _, held := range e.holders {
		expected.Insert(held.place.Node)
	}
	now := func(node string) resources.Vector { return free[node] }
	whole := map[*unit]bool{nil: true}
	for _, together := range e.named {
		whole[together] = e.fitsWhole(together, free)
	}
	for key, places := range e.byKey {
		if whole[e.units[key]] {
			fitting, _ := e.placesFor(key, now, nil)
			for _, place := range fitting {
				expected.Insert(place.Node)
			}
		}
		for node, place := range places {
			for range place.settled {
				if place.Requests.FitsIn(room[node]) {
					room[node] = room[node].Minus(place.Requests)
				}
			}
		}
	}
	return room, expected
}

// fitsWhole says whether all that the unit lacks has room at once, so that it comes without any other pod leaving.
func (e *Execution) fitsWhole(together *unit, free map[string]resources.Vector) bool {
	needed := map[string]resources.Vector{}
	for _, key := range together.keys {
		for node, place := range e.byKey[key] {
			if place.unopened > 0 {
				return false
			}
			for range place.open() {
				needed[node] = needed[node].Plus(place.Requests)
			}
		}
	}
	for node, all := range needed {
		if !all.FitsIn(free[node]) {
			return false
		}
	}
	return true
}

// away are the moves under way whose replacement has no node, or has not been ready yet, by owner.
func (e *Execution) away() map[types.UID]int {
	away := e.notReady()
	lacking := map[snapshot.ReplicaKey]int{}
	for _, step := range e.steps {
		if step.To != "" && (step.unanswered || step.state == packingplan.Evicted || step.state == packingplan.Gone) {
			lacking[step.Pod.ReplicaKey()]++
		}
	}
	for key, count := range lacking {
		away[key.Owner] += max(0, count-len(e.arrived[key]))
	}
	return away
}

// Limited counts the moves that may not begin, since their owner may lose no further pod.
func (e *Execution) Limited() (count int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	away := e.away()
	for _, moves := range packingplan.Units(waitingMoves(e.steps)) {
		if !e.maySend(moves, away) {
			count += len(moves)
		}
	}
	return count
}

// maySend says whether a unit may be moved: what has begun goes on, else its owners may all lose one more pod.
func (e *Execution) maySend(moves []*step, away map[types.UID]int) bool {
	return e.atOnce == 0 || moves[0].unit.begun() ||
		!slices.ContainsFunc(moves, func(s *step) bool { return away[s.Pod.ReplicaKey().Owner] >= e.atOnce })
}

// waitingMoves are those of the steps that are moves and wait.
func waitingMoves(steps []*step) (waiting []*step) {
	for _, step := range steps {
		if step.state == packingplan.Waiting && step.To != "" {
			waiting = append(waiting, step)
		}
	}
	return waiting
}

// skipUnneeded marks the units of evictions without which everything still fits, those of the highest priority first: room
// may have come free since the plan was made. Where pods have turns, the devices also of those that leave are counted on.
func (e *Execution) skipUnneeded() {
	arriving, room := e.Outstanding(), map[string]resources.Vector{}
	maps.Copy(room, e.free)
	for _, step := range e.steps {
		room[step.From] = room[step.From].Plus(step.Pod.Requests)
	}
	byPriority := e.evictions()
	slices.SortStableFunc(byPriority, func(a, b *step) int { return cmp.Compare(b.Pod.Priority, a.Pod.Priority) })
	for _, together := range packingplan.Units(byPriority) {
		for _, eviction := range together {
			room[eviction.From] = room[eviction.From].Minus(eviction.Pod.Requests)
		}
		needed := slices.ContainsFunc(together, func(one *step) bool {
			return e.turns[one.From] != nil || !arriving[one.From].FitsIn(room[one.From])
		})
		for _, eviction := range together {
			if !needed {
				eviction.state = packingplan.NotNeeded
				continue
			}
			eviction.state = packingplan.Waiting
			room[eviction.From] = room[eviction.From].Plus(eviction.Pod.Requests)
		}
	}
}

// RequireAll undoes skipUnneeded: the plan needs these evictions for something other than their room. It reports whether
// there are any.
func (e *Execution) RequireAll() (some bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, eviction := range e.evictions() {
		if eviction.state == packingplan.NotNeeded {
			eviction.state, some = packingplan.Waiting, true
		}
	}
	return some
}

// evictions are the steps of pods that are left unplaced.
func (e *Execution) evictions() []*step {
	return slices.DeleteFunc(slices.Clone(e.steps), func(s *step) bool { return s.To != "" })
}
