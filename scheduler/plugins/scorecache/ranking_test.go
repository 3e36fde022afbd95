package scorecache

import (
	"slices"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"
)

// rankingOf has that many nodes in one group, all of the same total.
func rankingOf(nodes int) *ranking {
	r := &ranking{nodes: make([]nodeEntry, nodes), groups: make([]group, 1), frame: &frame{}, initial: nodes}
	for i := range r.nodes {
		r.nodes[i].status, r.nodes[i].tieBreak = listed, tieBreak{name: int32(i)}
		r.groups[0].list = append(r.groups[0].list, int32(i))
		r.groups[0].size++
	}
	return r
}

// TestALongLivedRankingTakesNoMoreAndMoreMemory: with tau of 1 a ranking may serve pods for days. Each of them readmits a
// node, while the nodes behind the best are never removed.
func TestALongLivedRankingTakesNoMoreAndMoreMemory(t *testing.T) {
	const nodes, rounds = 50, 200
	r := rankingOf(nodes)
	for round := range rounds {
		for at := range int32(nodes) {
			// One node stays the best, so that the others' old scores do not come to the top.
			total := int64(round * (int(at) + 1) % 90)
			if at == 7 {
				total = 100
			}
			r.readmit(at, fwk.NodePluginScores{TotalScore: total}, tieBreak{name: at})
		}
		if kept := len(r.groups[0].rescored); kept > 2*nodes {
			t.Fatalf("round %d: %d scores of %d nodes are kept", round, kept, nodes)
		}
	}
	// What is left must still be the latest of each, best first.
	var order []int64
	for {
		best, found := r.head(0)
		if !found {
			break
		}
		if best.total != r.nodes[best.at].total {
			t.Fatalf("node %d is offered at %d, its score is %d", best.at, best.total, r.nodes[best.at].total)
		}
		order = append(order, -best.total)
		r.leave(best.at, "")
	}
	if len(order) != nodes || !slices.IsSorted(order) {
		t.Errorf("all %d nodes should come, best first: %v", nodes, order)
	}
}
