package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Moved is a pod of a workload that an earlier plan took off its node.
type Moved struct {
	Owner types.UID
	Class string
	// To is empty for a pod that was left unplaced.
	From, To string
	At       time.Time
}

// Returns are the moves of the plan that undo a move of an earlier one.
func (p *Plan) Returns(history []Moved) []Move {
	type way struct {
		kind     snapshot.Kind
		from, to string
	}
	taken := map[way]bool{}
	for _, moved := range history {
		if moved.Owner != "" && moved.To != "" {
			taken[way{snapshot.Kind{Owner: moved.Owner, Class: moved.Class}, moved.From, moved.To}] = true
		}
	}
	var returns []Move
	for _, move := range p.Moves {
		if taken[way{move.Pod.Kind(), move.To, move.From}] {
			returns = append(returns, move)
		}
	}
	return returns
}
