package priorityoptimizer

import (
	"testing"
	"time"

	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
)

// fullNode leaves one pod pending on one node, so that a solve starts.
func fullNode(t *testing.T, does script, setting func(*cluster)) *cluster {
	t.Helper()
	c := startCluster(t, does, setting, testNode("n1", 4))
	c.addInTurn(testPod("resident", 2, 0))
	c.add(testPod("waiting", 3, 0))
	return c
}

// An optimiser that hangs, dies or gives invalid answers must not freeze the cluster: new pods are held for the time
// limit plus one second, and no longer. A tenant's plan may ask for an hour: no pods wait for that, and other plans are
// not starved.
func TestHoldEndsBeforeASolveThatTakesTooLong(t *testing.T) {
	for text, row := range map[string]struct {
		setting func(*cluster)
		longest time.Duration
	}{
		"an automatic solve": {nil, time.Second + gate.HoldMargin},
		"a user's plan":      {manual, config.Seconds(usual.MaxHoldSeconds)},
	} {
		t.Run(text, func(t *testing.T) {
			c := fullNode(t, silent, row.setting)
			if row.setting != nil {
				c.createPlan("long", map[string]any{"executionMode": "Execute", "timeLimitSeconds": 3600.0}, nil)
			}
			c.eventually("the solve has begun", func() bool { return c.optimizer.asked() == 1 })
			began := c.clock.Now()
			c.add(testPod("newcomer", 1, 0))

			c.await("the newcomer is held", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld) == 1 }, false)
			early := c.nodeOf("newcomer")
			// A pod that passed PreFilter before the hold began must not be bound during the solve.
			late := c.plugin.Reserve(c.ctx, framework.NewCycleState(), testPod("late", 1, 0), "n1")
			if late.IsSuccess() || len(c.plugin.InFlight.All()) != 0 {
				t.Errorf("Reserve = %v, in flight %v", late, c.plugin.InFlight.All())
			}
			c.clock.SetTime(began.Add(row.longest))
			c.await("the newcomer is placed", func() bool { return c.nodeOf("newcomer") != "" }, false)

			if limit := c.optimizer.received()[0].Options.TimeLimitS; early != "" || limit > usual.MaxTimeLimitSeconds {
				t.Errorf("on %q during the solve, whose time limit is %v", early, limit)
			}
			if row.setting == nil {
				c.eventually("the plan failed", func() bool { return c.phases()[packingplan.Failed] >= 1 })
			}
		})
	}
}

// Without an optimiser nothing is held and pods are placed as by the stock scheduler.
func TestWithoutAnOptimizerSchedulingGoesOn(t *testing.T) {
	c := fullNode(t, nil, nil)
	c.eventually("the back-off has begun", c.plugin.Trigger.IsPutOff)
	c.advanceClock(5 * time.Second) // the first back-off has passed
	c.eventually("it has failed again", c.plugin.Trigger.IsPutOff)

	c.addInTurn(testPod("newcomer", 1, 0))

	if plans := c.plansOf(); len(plans) != 0 {
		t.Errorf("%d plans were recorded without an optimiser", len(plans))
	}
}

// An error of the optimiser ends as a failed plan, the pods are released at once, and it is asked about the state again.
func TestBrokenAnswersFailThePlanAndReleaseThePods(t *testing.T) {
	scripts := map[string]script{
		"unknown pod": answers(func(*contract.Snapshot) *contract.Plan {
			return &contract.Plan{Placements: []*contract.Placement{{PodUid: "unknown", Node: "n1"}}}
		}),
		"over capacity": answers(allOn("n1")),
		"evicts for an equal": answers(func(s *contract.Snapshot) *contract.Plan {
			plan := allOn("n1")(s)
			for _, pod := range s.Pods {
				if pod.Node != "" {
					plan.Evictions = append(plan.Evictions, &contract.Eviction{PodUid: pod.Uid, Node: pod.Node})
				}
			}
			return plan
		}),
		"stream without an end": func(*contract.SolveRequest, *call) error { return nil },
		"error end": func(request *contract.SolveRequest, stream *call) error {
			return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_ERROR})
		},
		// It may have had no time to evaluate the state: the machine may have been busy.
		"no plan in time": func(_ *contract.SolveRequest, stream *call) error {
			return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_TIME_LIMIT})
		},
	}
	for name, does := range scripts {
		t.Run(name, func(t *testing.T) {
			c := fullNode(t, does, nil)

			c.eventually("the plan failed", func() bool { return c.phases()[packingplan.Failed] >= 1 })

			c.addInTurn(testPod("newcomer", 1, 0))
			c.eventually("the optimiser is asked again", func() bool { return c.optimizer.asked() >= 2 })
			if evicted := c.evictions(); len(evicted) != 0 {
				t.Errorf("%v evicted by a plan that failed", evicted)
			}
		})
	}
}

// The best plan that came in time counts, even if the optimiser never sends a final one.
func TestPlanThatCameInTimeIsUsed(t *testing.T) {
	c := figureOne(t, func(request *contract.SolveRequest, stream *call) error {
		plan := solveFigureOne(request.Snapshot)
		plan.SnapshotId, plan.Optimal = request.Snapshot.Id, false
		if err := stream.Send(&contract.SolveUpdate{Plan: plan}); err != nil {
			return err
		}
		return silent(request, stream)
	}, nil)

	c.reaches(packingplan.Completed)

	if got := c.plansOf()[0].Status.EndReason; got != "TIME_LIMIT" {
		t.Errorf("end reason %s, want TIME_LIMIT", got)
	}
}

// A pod that arrives while a solve begins has not been tried yet. In a plan it would have to wait, although it may find
// room at once.
func TestUntriedPodIsLeftToTheScheduler(t *testing.T) {
	metrics.Register()
	c := fullNode(t, nothing, nil)
	c.eventually("the first answer", func() bool {
		return c.phases()[packingplan.NoImprovement] == 1 && !c.plugin.Hold.Active()
	})
	held := counted(t, metrics.HeldSeconds)
	c.plugin.Hold.Begin(config.Seconds(usual.MaxHoldSeconds))
	c.add(testPod("untried", 1, 0))
	c.await("it is held", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld) == 1 }, false)

	c.plugin.Trigger.Retry()
	c.advanceClock(1500 * time.Millisecond)

	if c.optimizer.asked() != 1 || c.nodeOf("untried") != "" {
		t.Errorf("asked %d times about one pod that waits, untried on %q", c.optimizer.asked(), c.nodeOf("untried"))
	}
	c.hasNode("untried")
	c.eventually("the hold is counted", func() bool { return counted(t, metrics.HeldSeconds)-held >= 1.5 })
}

func counted(t *testing.T, counter kmetrics.CounterMetric) float64 {
	t.Helper()
	value := testobjects.Value(testutil.GetCounterMetricValue(counter))(t)
	return value
}
