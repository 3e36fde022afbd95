package scorecache

import (
	"context"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// cycle is one scheduling cycle.
type cycle struct {
	ctx context.Context
	// state is that of the cycle, in which filters can run before PreFilter has ended: the framework records only then
	// which plugins do not apply to the pod, so those of an earlier pod of its key are used.
	state cycleState
	pod   *v1.Pod
}

// cycleState is the state of a cycle with other plugins to skip.
type cycleState struct {
	fwk.CycleState
	skipFilters, skipScores sets.Set[string]
}

// GetSkipFilterPlugins lists the filter plugins that do not apply.
func (s cycleState) GetSkipFilterPlugins() sets.Set[string] { return s.skipFilters }

// GetSkipScorePlugins lists the plugins that do not score the pod.
func (s cycleState) GetSkipScorePlugins() sets.Set[string] { return s.skipScores }

// ShouldRecordPluginMetrics is false: the framework filters the chosen node itself, and records that.
func (cycleState) ShouldRecordPluginMetrics() bool { return false }

// Clone keeps the lists of plugins to skip.
func (s cycleState) Clone() fwk.CycleState {
	return cycleState{s.CycleState.Clone(), s.skipFilters, s.skipScores}
}

// pick is the paper's Algorithm 1. It returns the node of a pod, and whether a ranking had to be made for it; without a
// node, the reason.
func (p *Plugin) pick(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (node string, made bool, miss string) {
	key, err := p.keyOf(pod)
	if err != nil {
		return "", false, missFailed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes.update(nodes)
	e := p.entry(key)
	state.Write(stateKey, e)
	c := &cycle{ctx, cycleState{CycleState: state, skipFilters: e.skip}, pod}
	if node, made, miss = p.serve(c, e); miss == "" {
		e.budget.served++
	}
	e.budget.earned++
	return node, made, miss
}

// entry is what is known of a key.
func (p *Plugin) entry(key podkey.Key) *entry {
	if found, kept := p.entries.Get(key); kept {
		return found.(*entry)
	}
	made := &entry{ended: causeFirst}
	p.entries.Add(key, made)
	entriesGauge.Set(float64(p.entries.Len()))
	return made
}

// keyOf is the pod's key in the present cluster.
func (p *Plugin) keyOf(pod *v1.Pod) (podkey.Key, error) {
	affine, err := p.handle.SnapshotSharedLister().NodeInfos().HavePodsWithAffinityList()
	if err != nil {
		return podkey.Key{}, err
	}
	features, err := p.features(pod)
	return podkey.Of(pod, podkey.ClusterContext{Affinity: len(affine) > 0, Siblings: p.siblings(pod), Features: features}), err
}

// serve takes a node from the key's ranking, and makes a ranking if there is none that can be used.
func (p *Plugin) serve(c *cycle, e *entry) (node string, made bool, miss string) {
	now := p.changes.epochs
	if e.barred != "" && e.barredUntil == now {
		return "", false, e.barred
	}
	if !e.knows(now) {
		p.retire(e, e.learnt.difference(now))
		return "", false, missUnknown
	}
	if p.profile().spreads && !e.skip.Has(names.PodTopologySpread) {
		return "", false, missSpread
	}
	previous := e.ranking
	if previous != nil {
		node, cause := p.use(c, previous)
		if cause == "" {
			return node, false, ""
		}
		p.retire(e, cause)
	}
	if !e.budget.affords(p.price(len(p.changes.nodes))) {
		return "", false, missBudget
	}
	if miss := p.remake(c, e, previous); miss != "" {
		return "", false, miss
	}
	if node, cause := p.choose(c, e.ranking); cause == "" {
		return node, true, ""
	}
	return "", false, missRefused
}

// use takes the best node of a ranking that is not stale.
func (p *Plugin) use(c *cycle, r *ranking) (node, cause string) {
	if cause := r.epochs.difference(p.changes.epochs); cause != "" {
		return "", cause
	}
	changed, cause := p.filter(c, r)
	if cause == "" && len(changed) > 0 {
		cause = p.rescore(c, r, changed)
	}
	if cause == "" && r.usedUp() > p.args.RefreshThreshold {
		cause = causeConsumed
	}
	if cause != "" {
		return "", cause
	}
	return p.choose(c, r)
}

// retire drops the ranking.
func (p *Plugin) retire(e *entry, cause string) {
	if e.ranking == nil {
		return
	}
	e.budget.settle(p.price(len(e.ranking.nodes)))
	e.ranking, e.ended = nil, cause
	retiredTotal.WithLabelValues(cause).Inc()
}

// remake makes a ranking, or returns why it cannot. The previous one, if any, has just been dropped.
func (p *Plugin) remake(c *cycle, e *entry, previous *ranking) (miss string) {
	e.budget.spend()
	r, miss := p.capture(c)
	if miss != "" {
		e.budget.backOff()
		if miss == missPodAffinity || miss == missTopologies {
			e.barred, e.barredUntil = miss, p.changes.epochs
		}
		return miss
	}
	if previous != nil && e.ended == causeConsumed && !r.hasSameFeasible(previous) {
		mismatchesTotal.Inc()
		e.budget.backOff()
		klog.FromContext(c.ctx).V(4).Info("The feasible nodes are not those that the ranking knew", "pod", klog.KObj(c.pod))
	}
	refreshesTotal.WithLabelValues(e.ended).Inc()
	e.ranking = r
	return ""
}

func (p *Plugin) price(nodes int) int { return priceOf(nodes, p.profile().percentage) }

// capture filters and scores all nodes with the profile's plugins, as the framework does with some of them. Without a
// ranking it returns the reason.
func (p *Plugin) capture(c *cycle) (*ranking, string) {
	r := &ranking{epochs: p.changes.epochs, infos: p.changes.nodes, nodes: make([]rankedNode, len(p.changes.nodes)), groups: 1,
		byName: p.profile().byName}
	for at := range r.nodes {
		r.nodes[at].generation = outdated
	}
	if r.byName {
		r.orderByName()
	}
	feasible, cause := p.filter(c, r)
	switch {
	case cause != "":
		return nil, missFailed
	case len(feasible) == 0:
		return nil, missInfeasible
	}
	infos := r.infosAt(feasible)
	state := c.state.CycleState.Clone()
	state.Delete(stateKey)
	if !p.handle.RunPreScorePlugins(c.ctx, state, c.pod, infos).IsSuccess() {
		return nil, missFailed
	}
	// The plugin that breaks ties is skipped: it would score all nodes of this cycle again, in every later one.
	r.scoring = cycleState{state, nil, state.GetSkipScorePlugins().Union(sets.New(lexicographicorder.Name))}
	scores, status := p.handle.RunScorePlugins(c.ctx, r.scoring, c.pod, infos)
	switch {
	case !status.IsSuccess():
		return nil, missFailed
	case scoredBy(names.InterPodAffinity, scores[0]):
		return nil, missPodAffinity
	case scoredBy(names.PodTopologySpread, scores[0]) && !r.divide(c.pod):
		return nil, missTopologies
	}
	r.frame, r.initial = newFrame(infos, scores), len(feasible)
	for i, at := range feasible {
		r.score(at, scores[i])
		r.nodes[at].unused = true
	}
	return r, ""
}

// filter filters the nodes that have changed since it last did, and returns those that pass; or the cause if the ranking
// can no longer be used. PodTopologySpread counted no pods of a zone without a feasible node, and panics if it has to
// score a node there.
func (p *Plugin) filter(c *cycle, r *ranking) (feasible []int32, cause string) {
	var changed []int32
	for at := range r.nodes {
		if r.nodes[at].generation != p.changes.seen[at].generation {
			changed = append(changed, int32(at))
		}
	}
	passed, nominated := make([]bool, len(changed)), make([]bool, len(changed))
	var failed atomic.Bool
	p.handle.Parallelizer().Until(c.ctx, len(changed), func(i int) {
		info := r.infos[changed[i]]
		// Read first: if a nomination ends meanwhile, the node is filtered once more, and no node is forgotten.
		nominated[i] = len(p.handle.NominatedPodsForNode(info.Node().Name)) > 0
		status := p.handle.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, info)
		if passed[i] = status.IsSuccess(); !passed[i] && !status.IsRejected() {
			failed.Store(true)
		}
	}, Name)
	if failed.Load() || c.ctx.Err() != nil {
		return nil, causeFailed
	}
	for i, at := range changed {
		node := &r.nodes[at]
		if node.unused {
			node.unused = false
			r.popped++
		}
		for axis := range r.spread {
			r.spread[axis].recount(c.pod, at, r.infos[at])
		}
		if len(r.spread) > 0 && passed[i] != node.feasible {
			cause = causeFeasible
		}
		node.feasible, node.generation = passed[i], p.changes.seen[at].generation
		if !r.byName {
			node.turn = node.generation
		}
		if passed[i] {
			feasible = append(feasible, at)
		} else if nominated[i] {
			node.generation = outdated
		}
	}
	return feasible, cause
}

// rescore scores nodes again, together with the reference nodes. It returns the cause if the ranking can no longer be used.
func (p *Plugin) rescore(c *cycle, r *ranking, changed []int32) string {
	infos := r.infosAt(changed)
	for _, reference := range r.frame.references {
		infos = append(infos, reference.node)
	}
	scores, status := p.handle.RunScorePlugins(c.ctx, r.scoring, c.pod, infos)
	if !status.IsSuccess() {
		return causeFailed
	}
	for i, reference := range r.frame.references {
		if scores[len(changed)+i].TotalScore != reference.total {
			return causeFrame
		}
	}
	for i, at := range changed {
		if !r.score(at, scores[i]) {
			return causeFrame
		}
	}
	return ""
}

func scoredBy(plugin string, scores fwk.NodePluginScores) bool {
	return slices.ContainsFunc(scores.Scores, func(score fwk.PluginScore) bool { return score.Name == plugin })
}

// maxRefusals is how many candidates may fail the filters before the pod gets a full scheduling cycle.
const maxRefusals = 8

// choose returns the best node that passes the filters. Without one it returns why the ranking can no longer be used.
func (p *Plugin) choose(c *cycle, r *ranking) (node, cause string) {
	for range maxRefusals {
		best, cause := r.best()
		if cause != "" {
			return "", cause
		}
		info := r.infos[best]
		if p.handle.RunFilterPluginsWithNominatedPods(c.ctx, c.state, c.pod, info).IsSuccess() {
			return info.Node().Name, ""
		}
		// The node has not changed: it is a nominated pod that takes the room.
		node := &r.nodes[best]
		node.feasible, node.unused, node.generation = false, false, outdated
		if len(r.spread) > 0 {
			return "", causeFeasible
		}
	}
	return "", causeRefused
}
