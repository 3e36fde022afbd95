package priorityoptimizer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
)

// tried are the pods for which the scheduler has recorded that it found no node.
func (c *cluster) tried() (names []string) {
	for _, action := range c.client.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok && action.GetSubresource() == "status" {
			names = append(names, patch.GetName())
		}
	}
	return names
}

// Five hundred pods of a burst that fit nowhere are not tried one by one before a solve starts: at the stock limits the
// scheduler would do nothing else for eight seconds. A pod with another signature may find one, and is tried at once.
func TestBurstIsSolvedForAfterOneOfItsPodsWasTried(t *testing.T) {
	does, goOn := pausing(nothing)
	c := fullNode(t, does, nil)
	c.await("the first one is tried", func() bool { return len(c.tried()) > 0 }, false)

	c.add(testPod("small", 1, 0))
	c.await("another one has a node", func() bool { return c.nodeOf("small") != "" }, false)
	for i := range 5 {
		c.add(testPod(fmt.Sprintf("like-%d", i), 3, 0))
	}
	c.await("the others wait", func() bool { return c.plugin.Waiting.Count(gate.ReasonNextSolve, gate.ReasonInSolve) == 5 }, false)
	c.eventually("the optimiser is asked", func() bool { return c.optimizer.asked() > 0 })
	if names := c.tried(); slices.ContainsFunc(names, func(name string) bool { return name != "waiting" }) {
		t.Errorf("tried before the solve: %v", names)
	}
	goOn()
	pending := slices.DeleteFunc(slices.Clone(c.optimizer.received()[0].Snapshot.Pods), func(pod *contract.Pod) bool { return pod.Node != "" })
	if len(pending) != 6 {
		t.Errorf("asked about %d pods, want all six", len(pending))
	}
	c.eventually("those that the plan leaves out have a reason", func() bool {
		explained := 0
		for _, pod := range c.pods() {
			if _, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); condition != nil {
				explained++
			}
		}
		return explained == 6
	})
}

// Where the next solve is far off, or its time has come and gone, a pod is tried like any other.
func TestPodWaitsForTheSolveNoLongerThanForAHold(t *testing.T) {
	c := fullNode(t, nothing, func(c *cluster) { c.args.SettleSeconds = 30 })
	c.await("the first one is tried", func() bool { return len(c.tried()) > 0 }, false)

	c.add(testPod("like", 3, 0))

	c.await("it is tried too", func() bool { return slices.Contains(c.tried(), "like") }, false)
}

// A solve on a large cluster takes longer than a hold may last. Its pods found no node before: trying hundreds of them
// meanwhile would take CPU time from the solver.
func TestPodsOfASolveWaitForItsEnd(t *testing.T) {
	does, goOn := pausing(nothing)
	c := fullNode(t, does, func(c *cluster) { c.args.MaxHoldSeconds = 0.2 })
	c.eventually("the optimiser is asked", func() bool { return c.optimizer.asked() == 1 })
	before := len(c.tried())

	c.advanceClock(500 * time.Millisecond)
	waiting := c.pods()[slices.IndexFunc(c.pods(), func(pod *v1.Pod) bool { return pod.Name == "waiting" })]
	kept := c.plugin.PreEnqueue(c.ctx, waiting)
	c.add(testPod("small", 1, 0))

	c.await("another pod is placed", func() bool { return c.nodeOf("small") != "" }, false)
	if kept.IsSuccess() || len(c.tried()) != before {
		t.Errorf("the pod is let in: %v; tried meanwhile: %v", kept, c.tried()[before:])
	}
	goOn()
	c.eventually("it is let in afterwards", func() bool { return c.plugin.PreEnqueue(c.ctx, waiting).IsSuccess() })
}

// batches puts the plugin into trigger Batch.
func batches(pods int32, most time.Duration) func(*cluster) {
	return func(c *cluster) {
		c.args.Trigger, c.args.BatchPods, c.args.BatchSeconds = gate.Batch, pods, most.Seconds()
	}
}

// allOn sends every waiting pod to one node.
func allOn(node string) func(*contract.Snapshot) *contract.Plan {
	return func(snapshot *contract.Snapshot) *contract.Plan {
		plan := &contract.Plan{Optimal: true}
		for _, pod := range snapshot.Pods {
			if pod.Node == "" {
				plan.Placements = append(plan.Placements, &contract.Placement{PodUid: pod.Uid, Node: node})
			}
		}
		return plan
	}
}

// The paper's batches: no pod is placed before the whole batch is solved together.
func TestPodsOfABatchArePlacedTogetherByOnePlan(t *testing.T) {
	c := startCluster(t, answers(allOn("n2")), batches(3, time.Minute), testNode("n1", 8), testNode("n2", 4))
	c.add(testPod("one", 1, 0), testPod("two", 1, 0))
	c.await("two pods wait", func() bool { return c.plugin.Waiting.Count(gate.ReasonBatch) == 2 }, false)
	c.advanceClock(10 * time.Second)
	before := c.optimizer.asked()

	c.add(testPod("three", 2, 0))
	c.reaches(packingplan.Completed)

	for _, name := range []string{"one", "two", "three"} {
		if node := c.nodeOf(name); node != "n2" {
			t.Errorf("%s is on %q, want n2", name, node)
		}
	}
	if before != 0 || c.optimizer.asked() != 1 || c.plugin.Waiting.Count(gate.ReasonBatch) != 0 {
		t.Errorf("asked %d times before the batch was full, %d in all, %d pods left", before, c.optimizer.asked(), c.plugin.Waiting.Count(gate.ReasonBatch))
	}
	if trigger := c.plansOf()[0].Spec.Trigger; trigger != string(gate.Batch) {
		t.Errorf("the plan says it was asked for by %q", trigger)
	}
}

// All or nothing: what the optimiser does not place stays pending, though there is room for some.
func TestABatchWithoutAPlanStaysPendingWhole(t *testing.T) {
	c := startCluster(t, nothing, batches(99, 2*time.Second), testNode("n1", 4))
	c.add(testPod("small", 1, 0), testPod("large", 9, 0))

	c.reaches(packingplan.NoImprovement)
	c.advanceClock(10 * time.Second)

	if node := c.nodeOf("small"); node != "" || c.optimizer.asked() != 1 {
		t.Errorf("small is on %q, asked %d times about one state", node, c.optimizer.asked())
	}
}

// Pods must not starve without an optimiser: they are scheduled as by the stock scheduler.
func TestBatchesAreScheduledWithoutAnOptimizer(t *testing.T) {
	failing := func(_ *contract.SolveRequest, stream *call) error {
		return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_ERROR})
	}
	for name, row := range map[string]struct {
		does    script
		apiDown bool
	}{
		"no optimiser":       {nil, false},
		"a broken optimiser": {failing, false},
		"no PackingPlans":    {answers(allOn("n1")), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, row.does, func(c *cluster) { batches(99, time.Second)(c); c.apiDown = row.apiDown }, testNode("n1", 4))
			for i := range 3 {
				c.add(testPod(fmt.Sprintf("pod-%d", i), 1, 0))
			}
			for i := range 3 {
				pod := fmt.Sprintf("pod-%d", i)
				c.eventually(pod+" is placed", func() bool { return c.nodeOf(pod) != "" })
			}
		})
	}
}

// Pods that the optimiser cannot place are left to the scheduler.
func TestPodsThatTheOptimizerRefusesAreScheduledWithoutIt(t *testing.T) {
	refusing := func(request *contract.SolveRequest, stream *call) error {
		var refusals []*contract.Refusal
		for _, pod := range request.Snapshot.Pods {
			if pod.Name == "odd" {
				refusals = append(refusals, &contract.Refusal{Subject: "class " + pod.ClassId, Reason: "unsupported"})
			}
		}
		return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_NO_IMPROVEMENT,
			Plan: &contract.Plan{SnapshotId: request.Snapshot.Id}, Refusals: refusals})
	}
	c := startCluster(t, refusing, batches(2, time.Minute), testNode("n1", 4))

	c.add(testPod("odd", 1, 0), testPod("even", 2, 0))

	c.hasNode("odd")
	if node := c.nodeOf("even"); node != "" {
		t.Errorf("even is on %q without a plan", node)
	}
}
