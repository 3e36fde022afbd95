package scorecache

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// pick is the paper's Algorithm 1: the node of a pod, and whether a ranking had to be made for it. Without a
// node it says why.
func (p *Plugin) pick(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (node string, made bool, miss string) {
	around, miss := p.surroundingsOf(pod)
	if miss != "" {
		return "", false, miss
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.census.follow(nodes)
	e := p.entries.of(keyOf(pod, around))
	seen := &visit{entry: e, affinity: p.census.epochs.affinity}
	state.Write(stateKey, seen)
	c := &cycle{ctx: ctx, state: state, pod: pod, nodes: nodes, siblings: around.siblings}
	if node, made, miss = p.serve(c, e); miss != "" {
		e.budget.earn()
		return "", false, miss
	}
	e.budget.serve()
	seen.given = true
	return node, made, ""
}

// serve takes a node from the key's ranking, which it makes if there is none that can be used.
func (p *Plugin) serve(c *cycle, e *entry) (node string, made bool, miss string) {
	now := p.census.epochs
	if e.barred != "" && e.barredUntil == now {
		return "", false, e.barred
	}
	if !e.knows(now) {
		p.retire(e, causeAffinity)
		return "", false, missUnknown
	}
	cause := causeFirst
	if e.ranking != nil {
		if node, cause = p.use(c, e); cause == "" {
			return node, false, ""
		}
	}
	before := p.retire(e, cause)
	if !e.budget.affords(p.price(len(c.nodes))) {
		return "", false, missBudget
	}
	if miss := p.remake(c, e, cause, before); miss != "" {
		return "", false, miss
	}
	if node, cause = p.choose(c, e.ranking, e.skip); cause != "" {
		return "", false, missRefused
	}
	return node, true, ""
}

// use takes the best node of a ranking that is not stale.
func (p *Plugin) use(c *cycle, e *entry) (node, cause string) {
	r := e.ranking
	if cause := r.epochs.difference(p.census.epochs); cause != "" {
		return "", cause
	}
	if cause := p.absorb(c, r, e.skip); cause != "" {
		return "", cause
	}
	if r.usedUp() > *p.args.RefreshThreshold {
		return "", causeConsumed
	}
	return p.choose(c, r, e.skip)
}

// retire gives a ranking up, and returns it.
func (p *Plugin) retire(e *entry, cause string) *ranking {
	before := e.ranking
	if before == nil {
		return nil
	}
	e.ranking = nil
	e.budget.settle(p.price(len(before.places)))
	retiredTotal.WithLabelValues(cause).Inc()
	return before
}

// remake makes a ranking, and says why if it cannot.
func (p *Plugin) remake(c *cycle, e *entry, cause string, before *ranking) (miss string) {
	e.budget.spend()
	r, miss := p.capture(c, e.skip)
	if miss != "" {
		e.budget.distrust()
		if miss == missPodAffinity || miss == missTopologies {
			e.barred, e.barredUntil = miss, p.census.epochs
		}
		return miss
	}
	if cause == causeConsumed && before != nil && before.feasible != r.feasible {
		// Nodes became feasible, or ceased to be, although nothing happened to them.
		mismatchesTotal.Inc()
		e.budget.distrust()
		klog.FromContext(c.ctx).V(4).Info("The feasible nodes are not those that the ranking knew", "pod", klog.KObj(c.pod))
	}
	e.ranking = r
	refreshesTotal.WithLabelValues(cause).Inc()
	return ""
}

func (p *Plugin) price(nodes int) int { return priceOf(nodes, p.profile().percentage) }

// surroundingsOf looks up what of the cluster the pod's key depends on.
func (p *Plugin) surroundingsOf(pod *v1.Pod) (around surroundings, miss string) {
	affine, err := p.handle.SnapshotSharedLister().NodeInfos().HavePodsWithAffinityList()
	if err != nil {
		return surroundings{}, missFailed
	}
	features, err := p.features.of(pod)
	if err != nil {
		return surroundings{}, missFailed
	}
	return surroundings{affinity: len(affine) > 0, siblings: p.owners.selector(pod), features: features}, ""
}
