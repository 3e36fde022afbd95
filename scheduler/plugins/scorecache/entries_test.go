package scorecache

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

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
