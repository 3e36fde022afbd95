package executor

import (
	"sort"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

// skipUnneeded marks the evictions without which everything still fits, those of the highest priority first: room may
// have come free since the plan was made.
func skipUnneeded(of *plan.Plan, evictions []*step, free map[string]resources.Vector) {
	arriving, room := map[string]resources.Vector{}, map[string]resources.Vector{}
	for node, vector := range free {
		room[node] = vector
	}
	for _, placement := range of.Placements {
		arriving[placement.Node] = arriving[placement.Node].Plus(placement.Pod.Requests)
	}
	for _, move := range of.Moves {
		arriving[move.To] = arriving[move.To].Plus(move.Pod.Requests)
		room[move.From] = room[move.From].Plus(move.Pod.Requests)
	}
	for _, eviction := range evictions {
		room[eviction.from] = room[eviction.from].Plus(eviction.pod.Requests)
	}
	byPriority := append([]*step(nil), evictions...)
	sort.SliceStable(byPriority, func(i, j int) bool {
		return byPriority[i].pod.Priority > byPriority[j].pod.Priority
	})
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
	e.mu.Lock()
	defer e.mu.Unlock()
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
