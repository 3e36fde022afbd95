package priorityoptimizer

import (
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
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

// A process may handle plans for years.
func TestHandledPlansAreNotRememberedForEver(t *testing.T) {
	handled := newLatest()
	for i := range 3 * plansRemembered {
		handled.Insert(types.UID(strconv.Itoa(i)))
	}
	handled.Insert("last")

	if handled.cache.Len() > plansRemembered || !handled.Has("last") || handled.Has("other") {
		t.Errorf("%d are remembered", handled.cache.Len())
	}
}

// What was moved is not moved again within the cool-down that a plan asks for; the rest of its workload may be, or a
// window would be over after one plan.
func TestOnlyWhatWasMovedIsLeftAloneWithinThePlansOwnCoolDown(t *testing.T) {
	began := time.Date(2026, 1, 1, 2, 0, 0, 500, time.UTC)
	moved := plan.Moved{Owner: "rs-one", From: "x", To: "y", Began: began, At: began.Add(5 * time.Minute)}
	pod := func(owner types.UID, created time.Time) *snapshot.Pod {
		return &snapshot.Pod{Owner: owner, Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}}
	}
	for text, row := range map[string]struct {
		pod   *snapshot.Pod
		after time.Duration
		cools bool
	}{
		"it came while the plan went on":        {pod("rs-one", began.Truncate(time.Second)), time.Hour, true},
		"it came a little late":                 {pod("rs-one", moved.At.Add(30*time.Second)), time.Hour, true},
		"it was there before":                   {pod("rs-one", began.Add(-time.Minute)), time.Hour, false},
		"it came when the workload grew":        {pod("rs-one", moved.At.Add(10*time.Minute)), time.Hour, false},
		"it is of another workload":             {pod("rs-two", began.Add(time.Minute)), time.Hour, false},
		"the cool-down is over":                 {pod("rs-one", began.Add(time.Minute)), 5 * time.Hour, false},
		"the plan asks for no cool-down itself": {pod("rs-one", began.Add(time.Minute)), 0, false},
	} {
		t.Run(text, func(t *testing.T) {
			coolDown := 4 * time.Hour
			if row.after == 0 {
				coolDown, row.after = 0, time.Hour
			}

			until, cools := recentlyMoved(began.Add(row.after), []plan.Moved{moved, moved}, coolDown).cools(row.pod)

			if cools != row.cools || cools && !until.Equal(moved.At.Add(coolDown+time.Second)) {
				t.Errorf("cools %t until %v", cools, until)
			}
		})
	}
}
