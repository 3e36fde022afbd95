package scorecache

import (
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
	}
	return "", causeRefused
}

// best is the best candidate of all groups: the one with the highest total, and among equals the one whose
// topologies have gained the fewest pods. If those of another have gained fewer nevertheless, what outweighs what
// is for the plugins to say.
func (r *ranking) best() (candidate, string) {
	var heads []candidate
	chosen := -1
	for i := range r.groups {
		head, found := r.head(i)
		if !found {
			continue
		}
		heads = append(heads, head)
		if chosen < 0 || r.before(head, heads[chosen]) {
			chosen = len(heads) - 1
		}
	}
	if chosen < 0 {
		return candidate{}, causeExhausted
	}
	for _, head := range heads {
		if !r.spread.noMore(heads[chosen].group, head.group) {
			return candidate{}, causeSpread
		}
	}
	return heads[chosen], ""
}

func (r *ranking) before(a, b candidate) bool {
	if a.total == b.total {
		if gainA, gainB := r.spread.gain(a.group), r.spread.gain(b.group); gainA != gainB {
			return gainA < gainB
		}
	}
	return a.better(b)
}
