package priorityoptimizer

import (
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// Finished plans do not pile up. What must not be moved again, or back, is known from the plans that are left: others,
// however many, must not make it forgotten.
func TestPlansWithoutEffectDoNotMakeAMoveForgotten(t *testing.T) {
	c := figureOne(t, nil, func(c *cluster) { c.args.HistoryLimit = 1 })
	c.reaches(packingplan.Completed)
	name := c.plansOf()[0].Name()

	for _, other := range []string{"first", "second", "third"} {
		c.createPlan(other, map[string]any{"executionMode": "DryRun"}, nil)
		c.planReaches(other, packingplan.NoImprovement)
		c.clock.Step(2 * time.Second) // timestamps have whole seconds
	}
	c.eventually("one of the others is left", func() bool { return c.phases()[packingplan.NoImprovement] == 1 })

	if c.phaseOf(name) != packingplan.Completed || c.phaseOf("third") == "" {
		t.Errorf("the plan that moved a pod is forgotten: %s", c.state())
	}
}

// A plan within the cool-down is kept beyond the limit, and no longer.
func TestPlansThatMovedPodsAreKeptForTheCoolDown(t *testing.T) {
	c := startCluster(t, nothing, manual, testNode("n1", 4))
	c.stop()
	c.args.HistoryLimit, c.args.CoolDownSeconds = 1, 100
	c.begin()
	ended := map[string]time.Duration{"old": 400 * time.Second, "recent": 50 * time.Second, "newest": 10 * time.Second}
	for name, ago := range ended {
		c.movedBy(name, packingplan.Step{OwnerUID: "rs-one", From: "x", To: "y"}, c.clock.Now().Add(-ago))
	}

	c.createPlan("fruitless", map[string]any{"executionMode": "DryRun"}, nil)
	c.eventually("the old one is gone", func() bool { return c.phaseOf("old") == "" })

	if c.phaseOf("recent") == "" || c.phaseOf("newest") == "" || c.phaseOf("fruitless") != packingplan.NoImprovement {
		t.Errorf("left: %s", c.state())
	}
}
