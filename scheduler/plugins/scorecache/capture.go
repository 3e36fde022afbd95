package scorecache

import (
	"context"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
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
	return slices.ContainsFunc(scores, func(score fwk.PluginScore) bool { return score.Name == plugin })
}

// refresh brings a ranking up to date: it filters the nodes that changed since the ranking was last used, and scores
// those that are feasible, together with the reference nodes. It returns the cause if the ranking can no longer be used.
func (p *Plugin) refresh(c *cycle, r *ranking, skip sets.Set[string]) string {
	changed, known := p.changes.since(r.nextChange)
	if !known || len(changed) > len(c.nodes) {
		return causeLag
	}
	r.nextChange = p.changes.next()
	changed = append(r.nominated, changed...)
	r.nominated = nil
	back := p.refilter(c, r, skip, changed)
	if cause := r.incomparable(back); cause != "" {
		return cause
	}
	if len(back) > 0 && !p.rescore(c, r, back) {
		return causeFrame
	}
	return ""
}

// incomparable is why the scores can no longer be compared, since nodes have left or the given ones are to be readmitted;
// empty if they can. It must be called before nodes are scored: PodTopologySpread counted no pods of a zone without a
// feasible node, and panics if it has to score a node there.
func (r *ranking) incomparable(back []int32) string {
	comes := func(at int32) bool { return r.nodes[at].status == infeasible }
	switch {
	case r.scoresDependOnSet && (r.feasible != r.captured || slices.ContainsFunc(back, comes)):
		return causeFeasible
	case !r.frame.holds():
		return causeFrame
	}
	return ""
}

// refilter removes the changed nodes that are not feasible, and returns the others.
func (p *Plugin) refilter(c *cycle, r *ranking, skip sets.Set[string], changed []int32) []int32 {
	var back []int32
	seen := make(map[int32]bool, len(changed))
	for _, at := range changed {
		if seen[at] {
			continue
		}
		seen[at] = true
		node := c.nodes[at]
		if r.nodes[at].status == listed {
			r.popped++
		}
		r.spread.recount(at, node)
		// Read first: if a nomination ends meanwhile, the node is filtered once more, and no node is forgotten.
		nominated := p.hasNominated(node)
		if p.fits(c, skip, node) {
			back = append(back, at)
			continue
		}
		r.leave(at, node.Node().Name)
		if nominated {
			r.nominated = append(r.nominated, at)
		}
	}
	return back
}

// rescore scores nodes again. It reports false if their scores cannot be compared with those of the other nodes.
func (p *Plugin) rescore(c *cycle, r *ranking, back []int32) bool {
	infos := make([]fwk.NodeInfo, 0, len(back)+len(r.frame.references))
	for _, at := range back {
		infos = append(infos, c.nodes[at])
	}
	for i := range r.frame.references {
		infos = append(infos, r.frame.references[i].node)
	}
	totals, status := p.handle.RunScorePlugins(c.ctx, r.scoring, c.pod, infos)
	if !status.IsSuccess() {
		return false
	}
	for i := range r.frame.references {
		if totals[len(back)+i].TotalScore != r.frame.references[i].total {
			return false
		}
	}
	for i, at := range back {
		if !r.frame.take(at, totals[i].Scores) {
			return false
		}
		r.readmit(at, totals[i], p.tieBreakOf(at))
	}
	return r.frame.holds()
}

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
