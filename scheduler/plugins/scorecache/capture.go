package scorecache

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// cycle is one scheduling cycle.
type cycle struct {
	ctx   context.Context
	state fwk.CycleState
	pod   *v1.Pod
	nodes []fwk.NodeInfo
	// siblings selects the pods that the pod is spread among by default.
	siblings labels.Selector
}

// capture filters and scores all nodes with the profile's plugins, as the framework does with some of them, and ranks
// the feasible ones. Without a ranking it returns the reason.
func (p *Plugin) capture(c *cycle, skip sets.Set[string]) (*ranking, string) {
	at, infos, nominated, ok := p.feasible(c, skip)
	if !ok {
		return nil, missFailed
	}
	if len(infos) == 0 {
		return nil, missInfeasible
	}
	state := c.state.Clone()
	state.Delete(stateKey)
	if status := p.handle.RunPreScorePlugins(c.ctx, state, c.pod, infos); !status.IsSuccess() {
		return nil, missFailed
	}
	score := scoringIn(state)
	totals, status := p.handle.RunScorePlugins(c.ctx, score, c.pod, infos)
	if !status.IsSuccess() {
		return nil, missFailed
	}
	if scoredBy(names.InterPodAffinity, totals[0].Scores) {
		return nil, missPodAffinity
	}
	r := &ranking{
		epochs: p.changes.epochs, nextChange: p.changes.next(), nodes: make([]nodeEntry, len(c.nodes)),
		frame: newFrame(len(c.nodes), at, infos, totals), scoring: score, initial: len(infos),
		nominated: nominated,
	}
	if !p.divide(c, r, totals[0].Scores) {
		return nil, missTopologies
	}
	for i := range r.nodes {
		r.groups[r.nodes[i].group].size++
	}
	for i, number := range at {
		node := &r.nodes[number]
		node.tieBreak, node.status = p.tieBreakOf(number), listed
		node.score(totals[i])
		r.feasible.toggle(totals[i].Name)
		r.groups[node.group].list = append(r.groups[node.group].list, number)
	}
	r.captured = r.feasible
	r.sortLists()
	return r, ""
}

// tieBreakOf is a node's turn among others of its total.
func (p *Plugin) tieBreakOf(at int32) tieBreak {
	if p.profile().byName {
		return tieBreak{name: p.changes.nameRank[at]}
	}
	return tieBreak{stamp: p.changes.stamp[at], name: p.changes.nameRank[at]}
}

// divide makes the groups, and says whether they are comparable.
func (p *Plugin) divide(c *cycle, r *ranking, scores []fwk.PluginScore) bool {
	if !scoredBy(names.PodTopologySpread, scores) {
		r.groups = make([]group, 1)
		return true
	}
	r.scoresDependOnSet = true
	constraints := p.constraintsOf(c.pod, c.siblings)
	if !areReal(constraints, r.scoring) {
		return false
	}
	follows, groups, comparable := newSpread(constraints, c.pod.Namespace, c.nodes)
	if !comparable {
		return false
	}
	r.spread, r.groups = follows, make([]group, 1)
	if follows != nil {
		r.groups = make([]group, len(follows.members))
	}
	for at := range r.nodes {
		r.nodes[at].group = groups[at]
	}
	return true
}

// feasible filters every node, and lists the infeasible nodes that pods are nominated to. ok is false if a plugin failed.
func (p *Plugin) feasible(c *cycle, skip sets.Set[string]) (at []int32, infos []fwk.NodeInfo, nominated []int32, ok bool) {
	passed, hasNominated := make([]bool, len(c.nodes)), make([]bool, len(c.nodes))
	var failed atomic.Bool
	state := filtering{c.state, skip}
	p.handle.Parallelizer().Until(c.ctx, len(c.nodes), func(i int) {
		hasNominated[i] = p.hasNominated(c.nodes[i])
		status := p.handle.RunFilterPluginsWithNominatedPods(c.ctx, state, c.pod, c.nodes[i])
		if passed[i] = status.IsSuccess(); !passed[i] && !status.IsRejected() {
			failed.Store(true)
		}
	}, Name)
	if failed.Load() || c.ctx.Err() != nil {
		return nil, nil, nil, false
	}
	for i, fits := range passed {
		if fits {
			at, infos = append(at, int32(i)), append(infos, c.nodes[i])
		} else if hasNominated[i] {
			nominated = append(nominated, int32(i))
		}
	}
	return at, infos, nominated, true
}

// hasNominated says whether pods are nominated to a node, for which filters count as if they were there.
func (p *Plugin) hasNominated(node fwk.NodeInfo) bool {
	return len(p.handle.NominatedPodsForNode(node.Node().Name)) > 0
}

// fits runs the filters on one node.
func (p *Plugin) fits(c *cycle, skip sets.Set[string], node fwk.NodeInfo) bool {
	return p.handle.RunFilterPluginsWithNominatedPods(c.ctx, filtering{c.state, skip}, c.pod, node).IsSuccess()
}

func scoredBy(plugin string, scores []fwk.PluginScore) bool {
	for _, score := range scores {
		if score.Name == plugin {
			return true
		}
	}
	return false
}
