// Package lexicographicorder is a Score plugin that breaks ties between nodes by name.
//
// The stock scheduler takes any of the nodes that share the highest total score: which one depends on
// the order in which nodes were seen and on how goroutines interleave. With this plugin it is always
// the first of them by name, compared byte by byte.
//
// A score is one of 101 integers, so no fixed assignment of scores can distinguish more than 101 nodes
// without overruling the other plugins. This plugin assigns none. When every node has been scored, it
// asks the framework for the total that all other plugins give, finds the nodes that share the highest
// one, and gives one point to the first of those by name and none to any other node. So
//
//   - it is exact for any number of nodes, and for any set and any weights of other plugins;
//   - it never overrules the other plugins: the point goes to a node that they already prefer.
//
// The price is that the other plugins score the nodes twice, and appear twice in the scheduler's
// metrics of evaluations.
//
// Two things would break this and are therefore excluded. A prioritising extender adds its scores after
// all plugins, so the plugin refuses to start with one. Opportunistic batching reuses the ranking of one
// pod for the next, and that ranking orders only its first place by name; the plugin does not sign pods,
// which turns batching off for its profile.
package lexicographicorder

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the plugin's name in a profile.
const Name = "LexicographicOrder"

const pointForFirst = fwk.MinScore + 1

// Plugin prefers the first by name of the nodes with the highest total of all other plugins.
type Plugin struct {
	handle fwk.Handle
}

var (
	_ fwk.ScorePlugin     = &Plugin{}
	_ fwk.ScoreExtensions = &Plugin{}
)

// New builds the plugin. It takes no arguments, and fails if an extender prioritises nodes.
func New(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	if args != nil {
		return nil, fmt.Errorf("%s takes no arguments; remove its entry from pluginConfig", Name)
	}
	for _, extender := range handle.Extenders() {
		if extender.IsPrioritizer() {
			return nil, fmt.Errorf(
				"%s cannot see the scores of extender %q; remove the extender's prioritizeVerb or the plugin",
				Name, extender.Name())
		}
	}
	return &Plugin{handle: handle}, nil
}

func (*Plugin) Name() string { return Name }

// Score gives every node the same score: ties are seen only when all nodes have been scored.
func (*Plugin) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return fwk.MinScore, nil
}

func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore gives one point to the first by name of the nodes with the highest total.
func (p *Plugin) NormalizeScore(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores fwk.NodeScoreList,
) *fwk.Status {
	nodes := make([]fwk.NodeInfo, len(scores))
	for i := range scores {
		node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(scores[i].Name)
		if err != nil {
			return fwk.AsStatus(err)
		}
		nodes[i] = node
	}
	totals, status := p.handle.RunScorePlugins(ctx, stateWithoutUs{state}, pod, nodes)
	if !status.IsSuccess() {
		return status
	}
	winner := slices.MinFunc(totals, func(a, b fwk.NodePluginScores) int {
		return cmp.Or(cmp.Compare(b.TotalScore, a.TotalScore), strings.Compare(a.Name, b.Name))
	})
	for i := range scores {
		if scores[i].Name == winner.Name {
			scores[i].Score = pointForFirst
		}
	}
	return nil
}

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
