package scorecache

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// pick is the paper's Algorithm 1. It returns the node of a pod, and whether a ranking had to be made for it; without a
// node, the reason.
func (p *Plugin) pick(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (node string, made bool, miss string) {
	cluster, miss := p.clusterContext(pod)
	if miss != "" {
		return "", false, miss
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes.update(nodes)
	e := p.entries.of(podkey.Of(pod, cluster))
	data := &cycleData{entry: e, epochs: p.changes.epochs}
	state.Write(stateKey, data)
	c := &cycle{ctx: ctx, state: state, pod: pod, nodes: nodes, siblings: cluster.Siblings}
	if node, made, miss = p.serve(c, e); miss != "" {
		e.budget.earn()
		return "", false, miss
	}
	e.budget.serve()
	data.served = true
	return node, made, ""
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
	if e.ranking != nil {
		node, cause := p.use(c, e)
		if cause == "" {
			return node, false, ""
		}
		p.retire(e, cause)
	}
	if !e.budget.affords(p.price(len(c.nodes))) {
		return "", false, missBudget
	}
	if miss := p.remake(c, e); miss != "" {
		return "", false, miss
	}
	if node, cause := p.choose(c, e.ranking, e.skip); cause == "" {
		return node, true, ""
	}
	return "", false, missRefused
}

// use takes the best node of a ranking that is not stale.
func (p *Plugin) use(c *cycle, e *entry) (node, cause string) {
	r := e.ranking
	if cause := r.epochs.difference(p.changes.epochs); cause != "" {
		return "", cause
	}
	if cause := p.refresh(c, r, e.skip); cause != "" {
		return "", cause
	}
	if r.usedUp() > p.args.RefreshThreshold {
		return "", causeConsumed
	}
	return p.choose(c, r, e.skip)
}

// retire drops the ranking.
func (p *Plugin) retire(e *entry, cause string) {
	if e.ranking == nil {
		return
	}
	e.budget.settle(p.price(len(e.ranking.nodes)))
	e.last = past{cause: cause, feasible: e.ranking.feasible, nextChange: e.ranking.nextChange}
	e.ranking = nil
	retiredTotal.WithLabelValues(cause).Inc()
}

// remake makes a ranking, or returns why it cannot.
func (p *Plugin) remake(c *cycle, e *entry) (miss string) {
	e.budget.spend()
	r, miss := p.capture(c, e.skip)
	if miss != "" {
		e.budget.backOff()
		if miss == missPodAffinity || miss == missTopologies {
			e.barred, e.barredUntil = miss, p.changes.epochs
		}
		return miss
	}
	if e.last.upToDate(r) && e.last.feasible != r.feasible {
		mismatchesTotal.Inc()
		e.budget.backOff()
		klog.FromContext(c.ctx).V(4).Info("The feasible nodes are not those that the ranking knew", "pod", klog.KObj(c.pod))
	}
	refreshesTotal.WithLabelValues(e.last.causeOfNext()).Inc()
	e.ranking = r
	return ""
}

func (p *Plugin) price(nodes int) int { return priceOf(nodes, p.profile().percentage) }

// clusterContext looks up what else in the cluster the pod's key depends on.
func (p *Plugin) clusterContext(pod *v1.Pod) (cluster podkey.ClusterContext, miss string) {
	affine, err := p.handle.SnapshotSharedLister().NodeInfos().HavePodsWithAffinityList()
	if err != nil {
		return podkey.ClusterContext{}, missFailed
	}
	features, err := p.features.Of(pod)
	if err != nil {
		return podkey.ClusterContext{}, missFailed
	}
	return podkey.ClusterContext{Affinity: len(affine) > 0, Siblings: p.owners.Selector(pod), Features: features}, ""
}

// maxRefusals is how many candidates may fail the filters before the pod gets a full scheduling cycle.
const maxRefusals = 8

// choose returns the best node that passes the filters. Without one it returns why the ranking can no longer be used.
func (p *Plugin) choose(c *cycle, r *ranking, skip sets.Set[string]) (node, cause string) {
	for range maxRefusals {
		best, cause := r.best()
		if cause != "" {
			return "", cause
		}
		name := c.nodes[best.at].Node().Name
		if p.fits(c, skip, c.nodes[best.at]) {
			return name, ""
		}
		// The node has not changed: it is refused because of a pod that is nominated to it.
		r.leave(best.at, name)
		r.nominated = append(r.nominated, best.at)
		if cause := r.incomparable(nil); cause != "" {
			return "", cause
		}
	}
	return "", causeRefused
}

// best is a candidate that beats all others. There is none where only the plugins themselves can weigh score against
// spread.
func (r *ranking) best() (candidate, string) {
	heads := r.heads()
	for _, head := range heads {
		if r.beatsAll(head, heads) {
			return head, ""
		}
	}
	if len(heads) == 0 {
		return candidate{}, causeExhausted
	}
	return candidate{}, causeSpread
}

// heads are the best nodes of the groups, those with the fewest pods in their topologies first.
func (r *ranking) heads() []candidate {
	heads := make([]candidate, 0, len(r.groups))
	for i := range r.groups {
		if head, found := r.head(i); found {
			heads = append(heads, head)
		}
	}
	if r.spread == nil {
		return heads
	}
	slices.SortFunc(heads, func(a, b candidate) int {
		if more := r.spread.podCount(a.at) - r.spread.podCount(b.at); more != 0 {
			return more
		}
		return a.tieBreak.compare(b.tieBreak)
	})
	return heads
}

func (r *ranking) beatsAll(one candidate, others []candidate) bool {
	for _, other := range others {
		if other.at != one.at && !r.beats(one, other) {
			return false
		}
	}
	return true
}

// beats says whether the first candidate may be chosen before the other. It may if its score without spread is no lower
// and its topologies have no more pods: then its total is no lower. The more pods a topology has, the lower its nodes
// score, all by the same amount; so it also may if its total was no lower when the ranking was made and its topologies
// have gained no more pods since. The second rule is not exact: PodTopologySpread divides by the highest count of the
// moment, so the weight of spread against the other scores drifts with the counts until the next refresh. The package
// description says what is guaranteed, and tests check it.
func (r *ranking) beats(one, other candidate) bool {
	return one.total >= other.total && r.spread.gainedNoMorePods(one.group, other.group) ||
		one.withoutSpread >= other.withoutSpread && r.spread.hasNoMorePods(one.at, other.at)
}
