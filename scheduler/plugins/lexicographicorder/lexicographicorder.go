package lexicographicorder

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// Name is the plugin's name in a profile.
const Name = "LexicographicOrder"

const (
	pointForFirst = fwk.MinScore + 1
	nodesKey      = fwk.StateKey("stowage.dev/" + Name)
)

// Plugin prefers the first by name of the nodes with the highest total of all other plugins.
type Plugin struct {
	handle fwk.Handle
}

var (
	_ fwk.PreScorePlugin  = &Plugin{}
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

// Name returns the plugin's name.
func (*Plugin) Name() string { return Name }

// PreScore keeps the feasible nodes for NormalizeScore, which only gets their names.
func (*Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	state.Write(nodesKey, feasibleNodes(nodes))
	return nil
}

// Score gives every node the same score: ties are seen only when all nodes have been scored.
func (*Plugin) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return fwk.MinScore, nil
}

// ScoreExtensions returns the plugin itself.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return p }

// NormalizeScore gives one point to the first by name of the nodes with the highest total.
func (p *Plugin) NormalizeScore(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores fwk.NodeScoreList,
) *fwk.Status {
	nodes, err := state.Read(nodesKey)
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("%s needs preScore and score enabled together: %w", Name, err))
	}
	totals, status := p.handle.RunScorePlugins(ctx, stateWithoutUs{state}, pod, nodes.(feasibleNodes))
	if !status.IsSuccess() {
		return status
	}
	winner := firstOfBest(totals)
	for i := range scores {
		if scores[i].Name == winner {
			scores[i].Score = pointForFirst
		}
	}
	return nil
}

// firstOfBest returns the first by name of the nodes with the highest total.
func firstOfBest(totals []fwk.NodePluginScores) string {
	var best fwk.NodePluginScores
	for i, node := range totals {
		if i == 0 || node.TotalScore > best.TotalScore ||
			(node.TotalScore == best.TotalScore && node.Name < best.Name) {
			best = node
		}
	}
	return best.Name
}
