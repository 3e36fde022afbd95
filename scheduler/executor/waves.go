package executor

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Departure is a pod to evict now.
type Departure struct {
	Pod *snapshot.Pod
	// To is where a replacement goes; empty for a pod that is left unplaced.
	To string
	// Early is set where the replacement will wait: moves wait for each other in a cycle, or another pod of the kind has
	// taken the place.
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
	room, expected := e.room(free)
	starting, away := e.notReady(), e.away()
	send := func(moves []*step, early bool) {
		for _, step := range moves {
			wave = append(wave, Departure{Pod: step.Pod, To: step.To, Early: early || step.opened})
			away[step.Pod.Kind().Owner]++
		}
	}
	waiting := packingplan.Units(waitingMoves(e.steps))
	for _, moves := range waiting {
		if !e.maySend(moves, away) {
			// It goes as soon as the replacement is ready that its owner lacks.
			expected = expected || slices.ContainsFunc(moves, func(s *step) bool {
				return starting[s.Pod.Kind().Owner] > 0 && s.Pod.Requests.FitsIn(room[s.To])
			})
		} else if takeRoom(moves, room) {
			send(moves, false)
		}
	}
	if len(wave) > 0 || len(waiting) == 0 || slices.ContainsFunc(e.steps, func(s *step) bool { return s.state == packingplan.Evicted }) {
		return wave
	}
	waiting = slices.DeleteFunc(waiting, func(moves []*step) bool { return !e.maySend(moves, away) || expected && !moves[0].early })
	for _, step := range e.oneOfEachCycle(slices.Concat(waiting...), free) {
		if moves := waitingMoves(step.unit.steps); e.maySend(moves, away) {
			send(moves, true)
		}
	}
	return wave
}

// takeRoom takes the room that the moves of a unit need, or none if there is not enough for all of them. Places that are
// open have theirs.
func takeRoom(moves []*step, room map[string]resources.Vector) bool {
	left := map[string]resources.Vector{}
	for _, step := range moves {
		if step.opened {
			continue
		}
		free, known := left[step.To]
		if !known {
			free = room[step.To]
		}
		if !step.Pod.Requests.FitsIn(free) {
			return false
		}
		left[step.To] = free.Minus(step.Pod.Requests)
	}
	maps.Copy(room, left)
	return true
}

// room is what is free beyond the arrivals under way. expected says that one of them already fits, so that there is
// something to wait for.
func (e *Execution) room(free map[string]resources.Vector) (room map[string]resources.Vector, expected bool) {
	room = make(map[string]resources.Vector, len(free))
	for node, vector := range free {
		room[node] = vector.Minus(e.moving[node])
	}
	expected = len(e.holders) > 0
	now := func(node string) resources.Vector { return free[node] }
	for kind, places := range e.kinds {
		expected = expected || len(e.nodesOf(kind, now)) > 0
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

// away are the moves under way whose replacement has no node, or has not been ready yet, by owner.
func (e *Execution) away() map[types.UID]int {
	away := e.notReady()
	lacking := map[snapshot.Kind]int{}
	for _, step := range e.steps {
		if step.To != "" && (step.unanswered || step.state == packingplan.Evicted || step.state == packingplan.Gone) {
			lacking[step.Pod.Kind()]++
		}
	}
	for kind, count := range lacking {
		away[kind.Owner] += max(0, count-len(e.arrived[kind]))
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
		!slices.ContainsFunc(moves, func(s *step) bool { return away[s.Pod.Kind().Owner] >= e.atOnce })
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
