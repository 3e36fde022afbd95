package scorecache

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

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
