package priorityoptimizer

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/rehearsal"
)

// proposed starts figure 1 with a proposal that has not been approved yet.
func proposed(t *testing.T) *cluster {
	c := figureOne(t, nil, manual)
	c.createPlan("what-if", map[string]any{"executionMode": "DryRun"}, nil)
	c.planReaches("what-if", packingplan.Proposed)
	return c
}

// A dry run answers "would they fit?" without disrupting or holding any pod. A user who has reviewed a plan wants that one to
// be carried out, not the result of another solve. A proposal has a completion time, but has not ended: its room is held
// once it is approved.
func TestApprovedProposalIsCarriedOutAsItIs(t *testing.T) {
	c := proposed(t)
	c.advanceClock(3 * time.Second)
	before, free := c.plansOf()[0].Status, c.ledger.Empty()
	if len(before.Moves()) != 1 || len(before.Placements()) != 1 || before.Moves()[0].State != "Waiting" {
		t.Errorf("status = %+v, want the whole plan", before)
	}
	if len(c.evictions()) != 0 || c.nodeOf("three") != "" || !free {
		t.Errorf("evicted %v, three on %q, nothing held: %t", c.evictions(), c.nodeOf("three"), free)
	}
	c.set(func(c *cluster) { c.slowTermination = true })

	c.patchPlan("what-if", `{"spec":{"executionMode":"Execute"}}`)
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	held := c.total()
	c.endPods()
	c.planReaches("what-if", packingplan.Completed)

	after := c.plansOf()[0].Status
	if len(after.Moves()) != 1 || after.Moves()[0].PodUID != before.Moves()[0].PodUID || after.Moves()[0].State != "Bound" || c.nodeOf("three") == "" {
		t.Errorf("proposed %+v, carried out %+v", before.Moves(), after.Moves())
	}
	if held < 3 {
		t.Errorf("%d GB held while it is carried out", held)
	}
	c.eventually("its room is free", c.ledger.Empty)
}

// movedBy records that a plan, which ended at that time, has carried out the move.
func (c *cluster) movedBy(plan string, move packingplan.Step, ended time.Time) {
	c.t.Helper()
	c.createPlan(plan, map[string]any{"executionMode": "Execute"}, func(object *unstructured.Unstructured) {
		object.Object["status"] = map[string]any{"phase": "Completed", "completionTime": ended.UTC().Format(time.RFC3339),
			"optimal": false, "moves": []any{map[string]any{"pod": "default/one-0", "podUID": "gone", "ownerUID": move.OwnerUID,
				"class": move.Class, "fromNode": move.From, "toNode": move.To, "state": "Bound"}}}
	})
}

// A proposal may be hours old when it is approved. Like any other plan, it does not move workloads that have just been
// moved, and takes no move back.
func TestProposalForAClusterThatHasChangedIsNotCarriedOut(t *testing.T) {
	for text, change := range map[string]func(*cluster){
		"a foreign pod takes the room": func(c *cluster) { c.add(foreignPod(c.nodeOf("two"))) },
		"its workload has been moved": func(c *cluster) {
			c.movedBy("earlier", packingplan.Step{OwnerUID: "rs-one", From: "x", To: "y"}, time.Now())
		},
		"its pod was moved the other way": func(c *cluster) {
			back := *c.plansOf()[0].Status.Moves()[0]
			back.From, back.To = back.To, back.From
			c.movedBy("earlier", back, time.Now().Add(-time.Hour))
		},
	} {
		t.Run(text, func(t *testing.T) {
			c := proposed(t)
			change(c)
			c.advanceClock(time.Second)

			c.patchPlan("what-if", `{"spec":{"executionMode":"Execute"}}`)
			c.planReaches("what-if", packingplan.Aborted)

			if len(c.evictions()) != 0 {
				t.Errorf("evicted %v", c.evictions())
			}
		})
	}
}

// The limits of today hold for a proposal of yesterday.
func TestProposalBeyondTheLimitsIsNotCarriedOut(t *testing.T) {
	c := movingTwo(t, manual)
	c.createPlan("what-if", map[string]any{"executionMode": "DryRun"}, nil)
	c.planReaches("what-if", packingplan.Proposed)
	c.stop()
	c.args.Limits.MaxMoves = 1
	c.begin()

	c.patchPlan("what-if", `{"spec":{"executionMode":"Execute"}}`)
	c.planReaches("what-if", packingplan.Aborted)

	if message := c.plansOf()[0].Status.Message; len(c.evictions()) != 0 || !strings.Contains(message, planning.DetailBeyondLimit) {
		t.Errorf("evicted %v: %s", c.evictions(), message)
	}
}

// holdSeen tells of each rehearsal whether pods were held during it.
type holdSeen struct {
	planning.Rehearser
	plugin *Plugin
	held   chan bool
}

func (r *holdSeen) Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error) {
	r.held <- r.plugin.Hold.Active()
	return r.Rehearser.Replay(ctx, of)
}

// A pod that is bound while a proposal is checked against the cluster may take the room that it needs: no pod is.
func TestPodsAreHeldWhileAProposalIsChecked(t *testing.T) {
	c := proposed(t)
	seen := &holdSeen{*c.plugin.rehearser.Load(), c.plugin, make(chan bool, 10)}
	var watched planning.Rehearser = seen
	c.plugin.rehearser.Store(&watched)

	c.patchPlan("what-if", `{"spec":{"executionMode":"Execute"}}`)
	c.planReaches("what-if", packingplan.Completed)

	if held := <-seen.held; !held {
		t.Error("no pods were held")
	}
}
