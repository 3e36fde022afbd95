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
		var c nodeChanges
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

// TestAPodWithAffinityOnANewNodeEndsAnEpochToo: else a filter that was skipped before would be skipped again.
func TestAPodWithAffinityOnANewNodeEndsAnEpochToo(t *testing.T) {
	nodes := infos("a", "b")
	var c nodeChanges
	c.update(nodes)
	before := c.epochs
	c.update(append(slices.Clone(nodes), infos("c")...))
	if c.epochs.affinity != before.affinity {
		t.Error("a node without such pods should not count")
	}
	added := infos("d")
	added[0].AddPodInfo(podInfo(t, "p", true))
	c.update(append(slices.Clone(nodes), added...))
	if c.epochs.affinity == before.affinity {
		t.Error("a pod with affinity has come")
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
			b.earned++
			b.served++
			b.settle(price)
			continue
		}
		b.earned++
	}
	if limit := pods/(price*maxFactor) + 10; rankings > limit {
		t.Errorf("%d rankings for %d pods, should be at most %d", rankings, pods, limit)
	}
}

// TestARankingThatPaidEndsTheBackOff: one bad ranking must not slow a key down for ever.
func TestARankingThatPaidEndsTheBackOff(t *testing.T) {
	b := budget{factor: maxFactor}
	b.spend()
	b.earned, b.served = 100, 100
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
