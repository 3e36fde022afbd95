package priorityoptimizer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

// history lists what the recorded plans have done to running pods. It survives a restart.
func (l *loop) history() []plan.Moved {
	var moved []plan.Moved
	for _, record := range l.allRecords() {
		moved = append(moved, movedBy(record)...)
	}
	return moved
}

func movedBy(record *packingplan.Record) []plan.Moved {
	var moved []plan.Moved
	at := record.Created()
	if ended := record.Status.CompletionTime; ended != nil {
		at = ended.Time
	}
	for _, move := range record.Status.Moves {
		if carriedOut(move.State) {
			moved = append(moved, plan.Moved{Owner: types.UID(move.OwnerUID), Class: move.Class,
				From: move.FromNode, To: move.ToNode, At: at})
		}
	}
	for _, eviction := range record.Status.Evictions {
		if carriedOut(eviction.State) {
			moved = append(moved, plan.Moved{Owner: types.UID(eviction.OwnerUID), Class: eviction.Class,
				From: eviction.Node, At: at})
		}
	}
	return moved
}

func carriedOut(state string) bool {
	switch executor.State(state) {
	case executor.Evicted, executor.Gone, executor.Bound:
		return true
	}
	return false
}

// cooling are the workloads that an earlier plan has recently disrupted, and until when they are left alone.
func (l *loop) cooling(history []plan.Moved, now time.Time) map[types.UID]time.Time {
	cooling := map[types.UID]time.Time{}
	for _, moved := range history {
		until := moved.At.Add(seconds(*l.args.CoolDownSeconds))
		if moved.Owner != "" && now.Before(until) && until.After(cooling[moved.Owner]) {
			cooling[moved.Owner] = until
		}
	}
	return cooling
}
