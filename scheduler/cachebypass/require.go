// Package cachebypass lets a plugin say that its decision about a pod depends on more than the pod's spec and
// the nodes, so that the score cache must not reuse what it found for an earlier, equal pod.
package cachebypass

import (
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey = fwk.StateKey("stowage.dev/cache-bypass")

// requiredBy names the plugin that requires the bypass.
type requiredBy string

// Clone returns the same value: it never changes.
func (r requiredBy) Clone() fwk.StateData { return r }

// Require makes the score cache leave the pod alone for the rest of the scheduling cycle. Plugins call it at
// PreFilter, with their own name.
func Require(state fwk.CycleState, plugin string) { state.Write(stateKey, requiredBy(plugin)) }

// RequiredBy names the plugin that requires the bypass in this cycle; empty if none does.
func RequiredBy(state fwk.CycleState) string {
	data, err := state.Read(stateKey)
	if err != nil {
		return ""
	}
	plugin, _ := data.(requiredBy)
	return string(plugin)
}
