package scorecache

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// maxRefusals is how many candidates are filtered in vain before the cycle goes the full way.
const maxRefusals = 8

// choose is the name of the best node that the filters let pass. Without one it returns the cause for which the
// ranking is of no more use.
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
		// Nothing has happened to the node: a pod that was nominated to it stands in the way.
		r.leave(best.at, name)
		r.nominated = append(r.nominated, best.at)
		if cause := r.incomparable(nil); cause != "" {
			return "", cause
		}
	}
	return "", causeRefused
}

// best is a candidate that beats all others. Where only the plugins themselves can weigh score against spread, there
// is none.
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

// heads are the best nodes of the groups, the least crowded first, then those whose turn it is.
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
		if crowds := r.spread.podCount(a.at) - r.spread.podCount(b.at); crowds != 0 {
			return crowds
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

// beats says whether the first candidate may be taken before the other. It may if it is no worse by all that is not
// spread and there are no more pods in its topologies: then it scores no less. The more pods a topology has, the less
// its nodes score, by the same amount for all of them; so it may as well if it scored no less when the ranking was
// made, and its topologies have gained no more pods since. This clause is not exact: PodTopologySpread divides by the
// highest count of the moment, so that what spread weighs beside the other scores drifts as the counts do, until
// a refresh. What is kept is in the package's description, and held to by tests.
func (r *ranking) beats(one, other candidate) bool {
	return one.total >= other.total && r.spread.gainedNoMorePods(one.group, other.group) ||
		one.withoutSpread >= other.withoutSpread && r.spread.hasNoMorePods(one.at, other.at)
}
