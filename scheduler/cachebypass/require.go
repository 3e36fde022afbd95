// Package cachebypass lets a plugin say that its decision about a pod depends on more than the pod's spec and
// the nodes, so that the score cache must not reuse what it found for an earlier, equal pod.
package cachebypass

import (
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey = fwk.StateKey("stowage.dev/cache-bypass")

type required struct{}

// Clone returns the same value: it never changes.
func (r required) Clone() fwk.StateData { return r }

// Require makes the score cache leave the pod alone for the rest of the scheduling cycle. Plugins call it at PreFilter.
func Require(state fwk.CycleState) { state.Write(stateKey, required{}) }

// Required says whether a plugin requires the bypass in this cycle.
func Required(state fwk.CycleState) bool {
	_, err := state.Read(stateKey)
	return err == nil
}
