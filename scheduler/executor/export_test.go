package executor

import (
	"maps"

	"github.com/stowage/stowage/scheduler/resources"
)

// InFlight is the room that the replacements under way will take on each node.
func (e *Execution) InFlight() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.moving)
}
