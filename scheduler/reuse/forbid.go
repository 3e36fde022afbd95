package reuse

import (
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey = fwk.StateKey("stowage.dev/reuse")

// forbidden names the plugin that forbade reuse.
type forbidden string

// Clone returns the same: it is never changed.
func (f forbidden) Clone() fwk.StateData { return f }

// Forbid is called at PreFilter, in the name of a plugin, for the rest of the scheduling cycle.
func Forbid(state fwk.CycleState, plugin string) { state.Write(stateKey, forbidden(plugin)) }

// ForbiddenBy names the plugin that forbade reuse in this cycle; empty if none did.
func ForbiddenBy(state fwk.CycleState) string {
	data, err := state.Read(stateKey)
	if err != nil {
		return ""
	}
	plugin, _ := data.(forbidden)
	return string(plugin)
}
