package scorecache

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

func infos(names ...string) []fwk.NodeInfo {
	var nodes []*v1.Node
	for _, name := range names {
		nodes = append(nodes, nodeOf(name))
	}
	return testobjects.NodeInfos(nodes...)
}

func podInfo(t *testing.T, uid string, affine bool) fwk.PodInfo {
	t.Helper()
	pod := testobjects.Pod(uid, "", "")
	if affine {
		pod.PodAntiAffinityExists("app", v1.LabelHostname, st.PodAntiAffinityWithRequiredReq)
	}
	info := testobjects.Value(framework.NewPodInfo(pod.Obj()))(t)
	return info
}

// TestTheChangeLogSaysWhenItNoLongerKnows: a ranking that is older than the log must be remade.
func TestTheChangeLogSaysWhenItNoLongerKnows(t *testing.T) {
	nodes := infos("a", "b")
	var c nodeChangeLog
	c.update(nodes)
	began := c.next()
	for range 100 {
		nodes[0].SetNode(nodes[0].Node())
		c.update(nodes)
	}
	if _, known := c.since(began); known {
		t.Error("a hundred changes of two nodes should not be kept")
	}
	if len(c.changed) > 4*len(nodes) {
		t.Errorf("%d changes are kept", len(c.changed))
	}
	if latest, known := c.since(c.next() - 1); !known || !slices.Equal(latest, []int32{0}) {
		t.Errorf("the latest change should be kept: %v", latest)
	}
}

// TestEpochsEndWhereMoreThanOneNodeIsConcerned has a row for what TestWhateverHappensThePlacementIsThatOfScoringAllNodes
// has none for.
func TestEpochsEndWhereMoreThanOneNodeIsConcerned(t *testing.T) {
	for name, row := range map[string]struct {
		happens func(t *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo
		cause   string
	}{
		"nothing":       {func(_ *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo { return nodes }, ""},
		"another order": {func(_ *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo { return slices.Clone(nodes) }, causeNodes},
		"a pod": {func(t *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo {
			nodes[0].AddPodInfo(podInfo(t, "p", false))
			return nodes
		}, ""},
		"a pod with affinity": {func(t *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo {
			nodes[0].AddPodInfo(podInfo(t, "p", true))
			return nodes
		}, causeAffinity},
		"declared features": {changing(func(n *v1.Node) { n.Status.DeclaredFeatures = []string{"F"} }), causeProperties},
	} {
		nodes := infos("a", "b")
		var c nodeChangeLog
		c.update(nodes)
		before := c.epochs
		c.update(row.happens(t, nodes))
		if cause := before.difference(c.epochs); cause != row.cause {
			t.Errorf("%s: want cause %q, got %q", name, row.cause, cause)
		}
	}
}

func changing(change func(*v1.Node)) func(*testing.T, []fwk.NodeInfo) []fwk.NodeInfo {
	return func(_ *testing.T, nodes []fwk.NodeInfo) []fwk.NodeInfo {
		changed := nodes[0].Node().DeepCopy()
		change(changed)
		nodes[0].SetNode(changed)
		return nodes
	}
}

// TestTieBreaksSurviveANewNode: the node that was chosen last must not come first because another node was added.
func TestTieBreaksSurviveANewNode(t *testing.T) {
	nodes := infos("a", "b", "c")
	var c nodeChangeLog
	c.update(nodes)
	nodes[0].AddPodInfo(podInfo(t, "p", false))
	c.update(nodes)
	nodes[1].AddPodInfo(podInfo(t, "q", false))
	c.update(nodes)
	c.update(append(slices.Clone(nodes), infos("d")...))
	if a, b := c.stamp[0], c.stamp[1]; a >= b || c.stamp[2] != 0 || c.stamp[3] != 0 {
		t.Errorf("b changed after a, and c and d have not: %v", c.stamp)
	}
}

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
