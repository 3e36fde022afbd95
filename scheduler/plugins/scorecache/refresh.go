package scorecache

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

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
