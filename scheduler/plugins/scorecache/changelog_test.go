package scorecache

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
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
	return testobjects.Value(framework.NewPodInfo(pod.Obj()))(t)
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

// TestWhatIsSkippedIsKnownForATime: a plugin that did not apply may do so after nodes have changed or pods with affinity
// have come or gone.
func TestWhatIsSkippedIsKnownForATime(t *testing.T) {
	then := epochs{nodes: 1, properties: 2, affinity: 3}
	e := &entry{skip: sets.New[string](), learnt: then}
	for _, row := range []struct {
		now   epochs
		knows bool
	}{
		{then, true},
		{epochs{nodes: 2, properties: 2, affinity: 3}, true},
		{epochs{nodes: 1, properties: 3, affinity: 3}, false},
		{epochs{nodes: 1, properties: 2, affinity: 4}, false},
	} {
		if knows := e.knows(row.now); knows != row.knows {
			t.Errorf("%+v: known should be %t", row.now, row.knows)
		}
	}
	if e.forget(); e.knows(then) {
		t.Error("what was forgotten should not be known")
	}
}

// TestRankingsThatDoNotLastBecomeRare: where every ranking is stale at once, at most one pod in 64 times
// the price pays for another.
func TestRankingsThatDoNotLastBecomeRare(t *testing.T) {
	const price, pods = 10, 100_000
	var b budget
	rankings := 0
	for range pods {
		if b.affords(price) {
			b.spend()
			rankings++
			b.serve()
			b.settle(price)
			continue
		}
		b.earn()
	}
	if limit := pods/(price*maxFactor) + 10; rankings > limit {
		t.Errorf("%d rankings for %d pods, should be at most %d", rankings, pods, limit)
	}
}

// TestARankingThatPaidEndsTheBackOff: one bad ranking must not slow a key down for ever.
func TestARankingThatPaidEndsTheBackOff(t *testing.T) {
	b := budget{factor: maxFactor}
	b.spend()
	for range 100 {
		b.serve()
	}
	b.settle(10)
	if !b.affords(10) {
		t.Error("a ranking that served 100 pods has earned the next at the price of 10")
	}
}

// TestThePriceCountsStockCycles: the stock scheduler scores only some of the nodes of a large cluster.
func TestThePriceCountsStockCycles(t *testing.T) {
	all, tenth := int32(100), int32(10)
	for _, row := range []struct {
		nodes      int
		percentage *int32
		want       int
	}{
		{1, nil, 1}, {99, nil, 1}, {100, nil, 1}, {1000, nil, 3}, {5000, nil, 10}, {20000, nil, 20},
		{5000, &all, 1}, {5000, &tenth, 10}, {500, &tenth, 5},
	} {
		if got := priceOf(row.nodes, row.percentage); got != row.want {
			t.Errorf("%d nodes: the price should be %d, is %d", row.nodes, row.want, got)
		}
	}
}
