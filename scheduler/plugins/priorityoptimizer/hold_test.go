package priorityoptimizer

import (
	"math"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/waiting"
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
		"an automatic solve": {nil, time.Second + holdMargin},
		"a user's plan":      {manual, seconds(usual.MaxHoldSeconds)},
	} {
		t.Run(text, func(t *testing.T) {
			c := fullNode(t, silent, row.setting)
			if row.setting != nil {
				c.createPlan("long", map[string]any{"executionMode": "Execute", "timeLimitSeconds": 3600.0}, nil)
			}
			c.eventually("the solve has begun", func() bool { return c.optimizer.asked() == 1 })
			began := c.clock.Now()
			c.add(testPod("newcomer", 1, 0))

			c.await("the newcomer is held", func() bool { return c.plugin.waiting.Count(reasonHeld) == 1 }, false)
			early := c.nodeOf("newcomer")
			// A pod that passed PreFilter before the hold began must not be bound during the solve.
			late := c.plugin.Reserve(c.ctx, framework.NewCycleState(), testPod("late", 1, 0), "n1")
			if late.IsSuccess() || len(c.plugin.inFlight.all()) != 0 {
				t.Errorf("Reserve = %v, in flight %v", late, c.plugin.inFlight.all())
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

// testHold may last as long as a test likes.
func testHold(clock *testingclock.FakeClock) *hold {
	return &hold{clock: clock, longest: time.Minute, budget: time.Minute,
		released: func() {}}
}

// testPlugin is a plugin without a cluster.
func testPlugin(clock *testingclock.FakeClock, of pace) *Plugin {
	return &Plugin{activator: activations{}, trigger: newTrigger(clock, of), hold: testHold(clock), inFlight: newInFlight(),
		waiting: waiting.Table{Clock: clock}, wake: make(chan struct{}, 1)}
}

// viewOf shows the pods.
func viewOf(t *testing.T, pods ...*v1.Pod) *view {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, pod := range pods {
		testobjects.Must(t, indexer.Add(pod))
	}
	return &view{pods: corelisters.NewPodLister(indexer)}
}

// The timer of one hold must not end the next one.
func TestOldTimerDoesNotEndANewHold(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	h := testHold(clock)
	h.begin(time.Second)
	old := h.deadline
	h.end()
	h.begin(3 * time.Second)

	h.endIf(old)

	if !h.active() {
		t.Error("the new hold ended")
	}
}

// activations counts the wake-ups of each pod, as the scheduling queue gets them.
type activations map[string]int

func (a activations) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	for uid := range pods {
		a[uid]++
	}
}

// An activation that comes before the queue has parked the pod is lost. The pod is activated again and again until it
// passes.
func TestLostWakeUpIsRepeatedUntilThePodPasses(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	woken := activations{}
	p := testPlugin(clock, pace{})
	p.activator, p.hold.released = woken, p.release
	pod := &v1.Pod{}
	pod.UID = types.UID("p")
	p.view = viewOf(t, pod)
	p.hold.begin(time.Second)
	if p.PreEnqueue(t.Context(), pod).IsSuccess() {
		t.Fatal("the pod was not held")
	}

	p.hold.end() // the queue does not know the pod yet: this has no effect
	p.release()
	p.release()
	repeated := woken["p"]
	passed := p.PreEnqueue(t.Context(), pod).IsSuccess()
	p.release()

	if repeated != 3 || !passed || woken["p"] != 3 {
		t.Errorf("woken %d times before it passed (%v), %d in the end", repeated, passed, woken["p"])
	}
}

// Without an optimiser nothing is held and pods are placed as by the stock scheduler.
func TestWithoutAnOptimizerSchedulingGoesOn(t *testing.T) {
	c := fullNode(t, nil, nil)
	c.eventually("the back-off has begun", func() bool {
		c.plugin.trigger.mu.Lock()
		defer c.plugin.trigger.mu.Unlock()
		return c.plugin.trigger.failures >= 2
	})

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
	c := fullNode(t, nothing, nil)
	c.eventually("the first answer", func() bool {
		return c.phases()[packingplan.NoImprovement] == 1 && !c.plugin.hold.active()
	})
	c.plugin.hold.begin(seconds(usual.MaxHoldSeconds))
	c.add(testPod("untried", 1, 0))
	c.await("it is held", func() bool { return c.plugin.waiting.Count(reasonHeld) == 1 }, false)

	c.plugin.trigger.retry()
	c.advanceClock(1500 * time.Millisecond)

	if c.optimizer.asked() != 1 || c.nodeOf("untried") != "" {
		t.Errorf("asked %d times about one pod that waits, untried on %q", c.optimizer.asked(), c.nodeOf("untried"))
	}
	c.hasNode("untried")
}

// The histogram shows whether holds keep to their bound: it must distinguish one that does from one that does not, and a
// hold of half the time from a whole one.
func TestHoldsOfDifferentLengthsAreInDifferentBuckets(t *testing.T) {
	for _, pair := range [][2]float64{
		{0.05, 0.1}, {0.1, 0.25}, {0.25, 0.5}, {0.5, 1}, {1, 1.5}, {1.5, usual.MaxHoldSeconds},
		{usual.MaxHoldSeconds, 1.1 * usual.MaxHoldSeconds}, {2.1, 2.5}, {2.5, 5},
		{maxHold, 2 * maxHold},
	} {
		apart := func(bound float64) bool { return pair[0] <= bound && bound < pair[1] }
		if !slices.ContainsFunc(holdBuckets, apart) {
			t.Errorf("holds of %g s and of %g s are in one bucket: %v", pair[0], pair[1], holdBuckets)
		}
	}
}

// The share of the time in which pods are held is read off a counter: the histogram counts pods, not time.
func TestTimeOfHoldsIsCounted(t *testing.T) {
	registerMetrics()
	clock := testingclock.NewFakeClock(time.Now())
	h, before := testHold(clock), counted(t, heldSeconds)

	h.begin(2 * time.Second)
	clock.SetTime(clock.Now().Add(500 * time.Millisecond))
	h.end()
	h.begin(time.Second)
	clock.SetTime(clock.Now().Add(3 * time.Second)) // nobody ended it
	h.end()

	if got := counted(t, heldSeconds) - before; math.Abs(got-1.5) > 1e-9 {
		t.Errorf("counted %g s of holds that lasted 0.5 s and 1 s", got)
	}
}

func counted(t *testing.T, counter metrics.CounterMetric) float64 {
	t.Helper()
	value := testobjects.Value(testutil.GetCounterMetricValue(counter))(t)
	return value
}
