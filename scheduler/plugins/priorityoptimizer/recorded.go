package priorityoptimizer

import (
	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// messageOf is a recorded plan in the contract's form.
func messageOf(status *packingplan.Status) *contract.Plan {
	message := &contract.Plan{SnapshotId: status.SnapshotID, Optimal: status.Optimal}
	for _, placement := range status.Placements {
		message.Placements = append(message.Placements, &contract.Placement{PodUid: placement.PodUID, Node: placement.Node})
	}
	for i := range status.Moves {
		message.Moves = append(message.Moves, moveMessage(&status.Moves[i]))
	}
	for i := range status.Evictions {
		message.Evictions = append(message.Evictions, evictionMessage(&status.Evictions[i]))
	}
	return message
}

func moveMessage(move *packingplan.Move) *contract.Move {
	return &contract.Move{PodUid: move.PodUID, FromNode: move.FromNode, ToNode: move.ToNode}
}

func evictionMessage(eviction *packingplan.Eviction) *contract.Eviction {
	return &contract.Eviction{PodUid: eviction.PodUID, Node: eviction.Node}
}
