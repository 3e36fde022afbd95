package executor

import (
	"maps"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
)

// InFlight is the room that the replacements under way will take on each node.
func (e *Execution) InFlight() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.moving)
}

// Lacking counts the places of the unit that no pod has taken.
func (e *Execution) Lacking(unit string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lacks[unit]
}

// HoldsDevices has the execution ask who holds devices there.
func (e *Execution) HoldsDevices(ask func(types.UID) bool) { e.holdsDevices = ask }
