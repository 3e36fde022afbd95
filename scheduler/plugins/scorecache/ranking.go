package scorecache

import (
	"cmp"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// ranking is the paper's E_k (4.2.3): the nodes with their total scores, of which the best is chosen. Nodes are numbered
// as in the snapshot.
type ranking struct {
	epochs epochs
	infos  []fwk.NodeInfo
	nodes  []rankedNode
	frame  frame
	// spread is empty for a pod without topology spread. With it, the scores depend on the set of feasible nodes as a
	// whole. The nodes of the same topologies make a group.
	spread spread
	groups int
	// scoring is the state with which nodes are scored again.
	scoring cycleState
	// initial is the paper's initialN, popped how many of these nodes have changed.
	initial, popped int
	// byName: ties go to the first node by name, as in the paper. Otherwise the node that has been unchanged for longest
	// comes first: totals are integers, and a node whose total does not change with one more small pod would be chosen
	// again and again.
	byName bool
}

// rankedNode is what a ranking knows of one node.
type rankedNode struct {
	// generation is the snapshot's number of the node's last change; outdated if the node must be filtered in any case.
	generation int64
	total      int64
	// withoutSpread is the part of the total that is not for spread.
	withoutSpread int64
	extremes      extremes
	// turn orders nodes of the same total.
	turn     int64
	group    int32
	feasible bool
	// unused: the node was feasible when the ranking was made, and has not changed since.
	unused bool
}

// outdated is no node's generation. A node does not change when the pods that are nominated to it are bound elsewhere or
// lose their nomination, so one that is refused because of them is filtered again each time.
const outdated = -1

// score enters a node's scores. It reports false if they cannot be compared with those of the other nodes.
func (r *ranking) score(at int32, scores fwk.NodePluginScores) bool {
	node := &r.nodes[at]
	node.total, node.withoutSpread = scores.TotalScore, scores.TotalScore
	for _, one := range scores.Scores {
		if one.Name == names.PodTopologySpread {
			node.withoutSpread -= one.Score
		}
	}
	var inside bool
	node.extremes, inside = r.frame.place(scores.Scores)
	return inside
}

// infosAt are the nodes of these numbers.
func (r *ranking) infosAt(numbers []int32) []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, len(numbers))
	for i, at := range numbers {
		infos[i] = r.infos[at]
	}
	return infos
}

// usedUp is the paper's consumed fraction.
func (r *ranking) usedUp() float64 { return float64(r.popped) / float64(r.initial) }

// hasSameFeasible compares the feasible nodes, as the paper does by their feasibleHash.
func (r *ranking) hasSameFeasible(other *ranking) bool {
	return slices.EqualFunc(r.nodes, other.nodes, func(a, b rankedNode) bool { return a.feasible == b.feasible })
}

// best is a node that beats all others. There is none where only the plugins themselves can weigh score against spread.
func (r *ranking) best() (at int32, cause string) {
	heads, extremes := r.heads()
	switch {
	case len(heads) == 0:
		return 0, causeExhausted
	case extremes != r.frame.extremes:
		return 0, causeFrame
	}
	for _, head := range heads {
		if !slices.ContainsFunc(heads, func(other int32) bool { return other != head && !r.beats(head, other) }) {
			return head, ""
		}
	}
	return 0, causeSpread
}

// heads are the best nodes of the groups, those with the fewest pods in their topologies first, and the extremes that
// some feasible node has.
func (r *ranking) heads() (heads []int32, held extremes) {
	heads = slices.Repeat([]int32{-1}, r.groups)
	for at := range r.nodes {
		node := &r.nodes[at]
		if !node.feasible {
			continue
		}
		held |= node.extremes
		if head := &heads[node.group]; *head < 0 || node.before(&r.nodes[*head]) {
			*head = int32(at)
		}
	}
	heads = slices.DeleteFunc(heads, func(at int32) bool { return at < 0 })
	slices.SortFunc(heads, func(a, b int32) int {
		return cmp.Or(r.spread.podCount(a)-r.spread.podCount(b), cmp.Compare(r.nodes[a].turn, r.nodes[b].turn))
	})
	return heads, held
}

// before orders nodes by their totals, the best first.
func (n *rankedNode) before(other *rankedNode) bool {
	return n.total > other.total || n.total == other.total && n.turn < other.turn
}

// orderByName gives the nodes their turns by name.
func (r *ranking) orderByName() {
	order := make([]int, len(r.nodes))
	for at := range order {
		order[at] = at
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(r.infos[a].Node().Name, r.infos[b].Node().Name) })
	for turn, at := range order {
		r.nodes[at].turn = int64(turn)
	}
}

// beats says whether the first node may be chosen before the other, of another group. It may if its score without spread
// is no lower and its topologies have no more pods: then its total is no lower. The more pods a topology has, the lower
// its nodes score, all by the same amount; so it also may if its total was no lower when the ranking was made and its
// topologies have gained no more pods since. The second rule is not exact: PodTopologySpread divides by the highest count
// of the moment, so the weight of spread against the other scores drifts with the counts until the next refresh. The
// package description says what is guaranteed, and tests check it.
func (r *ranking) beats(at, other int32) bool {
	a, b := &r.nodes[at], &r.nodes[other]
	return a.total >= b.total && r.spread.gainedNoMorePods(at, other) ||
		a.withoutSpread >= b.withoutSpread && r.spread.hasNoMorePods(at, other)
}
