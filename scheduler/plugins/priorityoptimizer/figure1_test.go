package priorityoptimizer

import (
	"testing"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// figureOne starts the paper's figure 1: two nodes of 4 GB, pods of 2, 2 and 3 GB in sequence.
func figureOne(t *testing.T, does script, change func(*PriorityOptimizerArgs)) (*cluster, *optimizer) {
	o := startOptimizer(t, does)
	c := startCluster(t, o.socket, change, testNode("n1", 4), testNode("n2", 4))
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.await("the third pod is known", func() bool {
		state, err := c.plugin.view.snapshot("")
		return err == nil && len(state.Pods) == 3
	}, false)
	return c, o
}

// The paper's example, whole: the third pod fits once another one has moved.
func TestFigureOneEndsWithAllPodsPlaced(t *testing.T) {
	c, _ := figureOne(t, answers(solveFigureOne), nil)

	c.eventually("the plan is completed", func() bool { return c.phases()[packingplan.Completed] == 1 })

	one, two, three := c.nodesOf("one"), c.nodesOf("two"), c.nodesOf("three")
	if len(one) != 1 || len(two) != 1 || len(three) != 1 || one[0] != two[0] || three[0] == "" || three[0] == one[0] {
		t.Errorf("one on %v, two on %v, three on %v", one, two, three)
	}
	if got := c.evictions(); len(got) != 1 || got[0] != "one" {
		t.Errorf("evicted %v, want one alone", got)
	}
	status := c.plansOf()[0].Status
	if len(status.Moves) != 1 || status.Moves[0].State != "Bound" || !status.Optimal || status.EndReason != "OPTIMAL" {
		t.Errorf("status = %+v", status)
	}
}
