package lexicographicorder

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// feasibleNodes are the nodes that passed the filters in one scheduling cycle.
type feasibleNodes []fwk.NodeInfo

// Clone returns the same nodes: they do not change during a cycle.
func (n feasibleNodes) Clone() fwk.StateData { return n }

// stateWithoutUs is a cycle's state in which our own Score plugin is skipped, so that the framework's
// total is that of the other plugins, and asking for it does not ask us again.
type stateWithoutUs struct {
	fwk.CycleState
}

// GetSkipScorePlugins adds this plugin to those that are skipped.
func (s stateWithoutUs) GetSkipScorePlugins() sets.Set[string] {
	return s.CycleState.GetSkipScorePlugins().Union(sets.New(Name))
}

// ShouldRecordPluginMetrics is false: the plugins' durations are recorded when the framework itself scores.
func (stateWithoutUs) ShouldRecordPluginMetrics() bool { return false }
