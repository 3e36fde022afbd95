package scorecache

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
)

const stateKey = fwk.StateKey("stowage.dev/" + Name)

// cycleData is what PreFilter passes to the later extension points of the same cycle.
type cycleData struct {
	entry *entry
	// epochs are those of the cycle.
	epochs epochs
	// served: the pod was given a node.
	served bool
}

// Clone returns the same: it says how the cycle began.
func (d *cycleData) Clone() fwk.StateData { return d }

func cycleDataOf(state fwk.CycleState) *cycleData {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	found, _ := data.(*cycleData)
	return found
}

// filtering is a cycle state in which filters can run before PreFilter has ended. The framework records only then which
// plugins do not apply to the pod, so those of an earlier pod of its key are used.
type filtering struct {
	fwk.CycleState
	skip sets.Set[string]
}

// GetSkipFilterPlugins lists the plugins that do not apply.
func (s filtering) GetSkipFilterPlugins() sets.Set[string] { return s.skip }

// ShouldRecordPluginMetrics is false: the framework filters the chosen node itself, and records that.
func (filtering) ShouldRecordPluginMetrics() bool { return false }

// Clone keeps the list of plugins to skip.
func (s filtering) Clone() fwk.CycleState { return filtering{s.CycleState.Clone(), s.skip} }

// scoring is the state of the cycle in which a ranking was made, for the scores of later cycles. The plugin that breaks
// ties is skipped: it would score all nodes of that cycle again, and the ranking breaks ties in the same way.
type scoring struct {
	fwk.CycleState
	skip sets.Set[string]
}

func scoringIn(state fwk.CycleState) scoring {
	return scoring{state, state.GetSkipScorePlugins().Union(sets.New(lexicographicorder.Name))}
}

// GetSkipScorePlugins lists the plugins that do not score the pod.
func (s scoring) GetSkipScorePlugins() sets.Set[string] { return s.skip }

// ShouldRecordPluginMetrics is false: no scheduling cycle would have scored most of these nodes.
func (scoring) ShouldRecordPluginMetrics() bool { return false }
