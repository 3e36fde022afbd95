package priorityoptimizer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Any user who may create plans could keep the optimiser busy for ever: so the number of waiting plans is limited, and
// automatic solves run between them.
func TestUsersPlansNeitherPileUpNorKeepOthersOut(t *testing.T) {
	c := fullNode(t, silent, nil)
	c.eventually("the optimiser is asked", func() bool { return c.optimizer.asked() == 1 })
	for i := range 60 {
		c.createPlan(fmt.Sprintf("user-%d", i), map[string]any{"executionMode": "DryRun"}, nil)
	}

	c.eventually("some are refused, and the cluster's own pods have their turn before the others", func() bool {
		own, refused, waiting := 0, 0, 0
		for _, record := range c.plansOf() {
			switch {
			case record.Ours():
				own++
			case record.Status.Message == records.MessageQueueFull:
				refused++
			case record.Status.Phase == "":
				waiting++
			}
		}
		return refused > 0 && own > 1 && waiting > 0
	})
}

// A pod may wait for a workload that is protected for a while: when the protection ends, there must be another solve.
func TestTemporarilyProtectedPodsAreAskedAboutAfterwards(t *testing.T) {
	cooling := func(request *contract.SolveRequest) (some bool) {
		for _, pod := range request.Snapshot.Pods {
			some = some || pod.ImmovableReason == snapshot.CoolingDown
		}
		return some
	}
	const coolDownSeconds = 10
	c := figureOne(t, nil, func(c *cluster) { c.args.CoolDownSeconds = coolDownSeconds })
	c.reaches(packingplan.Completed)
	c.add(testPod("four", 4, 0))
	c.eventually("it is asked about while the workload cools down", func() bool {
		requests := c.optimizer.received()
		return len(requests) > 1 && cooling(requests[len(requests)-1])
	})

	c.eventually("it is asked about again afterwards", func() bool {
		requests := c.optimizer.received()
		return !cooling(requests[len(requests)-1])
	})

	for _, record := range c.plansOf() {
		if record.Status.Phase != packingplan.Completed {
			continue
		}
		if waited := c.clock.Since(record.Status.CompletionTime.Time); waited < config.Seconds(coolDownSeconds) {
			t.Errorf("asked %s after the plan that moved it", waited)
		}
	}
}

// The optimiser's messages are stored in an object: an answer of megabytes must not make it too large to be stored.
func TestLongMessagesOfTheOptimizerAreShortened(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	c := fullNode(t, func(request *contract.SolveRequest, stream *call) error {
		tiers := make([]*contract.TierResult, 50_000)
		for i := range tiers {
			tiers[i] = &contract.TierResult{Priority: int32(i)}
		}
		return stream.Send(&contract.SolveUpdate{Last: true, EndReason: contract.EndReason_END_REASON_NO_IMPROVEMENT, Message: long,
			Refusals: []*contract.Refusal{{Subject: long, Reason: long, Detail: long}},
			Plan:     &contract.Plan{SnapshotId: request.Snapshot.Id, Tiers: tiers}})
	}, nil)

	c.reaches(packingplan.NoImprovement)

	if size := records.SizeOf(&c.plansOf()[0].Status); size > records.MaxStatusBytes/4 {
		t.Errorf("the status takes %d bytes", size)
	}
}

// A plan that does not fit into one object is made in parts, the most important pods first.
func TestPlanThatFitsIntoNoObjectIsMadeInParts(t *testing.T) {
	c := startCluster(t, answers(allOn("n1")), func(c *cluster) { batches(12, time.Second)(c); c.statusBytes = 2200 }, testNode("n1", 100))
	for i := range 12 {
		c.add(testPod(fmt.Sprintf("pod-%d", i), 1, int32(i)))
	}

	c.eventually("all pods are placed", func() bool {
		for i := range 12 {
			if c.nodeOf(fmt.Sprintf("pod-%d", i)) == "" {
				return false
			}
		}
		return true
	})
	c.eventually("the last plan is over", func() bool { return c.plugin.Execution.Load() == nil && c.phases()[packingplan.Executing] == 0 })

	if completed := c.phases()[packingplan.Completed]; completed < 2 {
		t.Errorf("%d plans: %s", completed, c.state())
	}
	whole := 0
	for _, record := range c.plansOf() {
		if size := records.SizeOf(&record.Status); size > 3*c.statusBytes/2 {
			t.Errorf("plan %s takes %d bytes", record.Name(), size)
		}
		if record.Status.Optimal {
			whole++
		}
	}
	if whole > 1 { // the last part may be about all that wait
		t.Errorf("%d parts are called optimal", whole)
	}
}

// A pod's deletion event may come before its cycle has held or marked it. The pod must not be remembered for ever.
func TestPodsThatAreGoneAreKeptNowhere(t *testing.T) {
	c := fullNode(t, nothing, nil)
	c.eventually("the optimiser was asked", func() bool { return c.optimizer.asked() == 1 })
	ghost := testPod("ghost", 9, 0)

	c.plugin.Waiting.Put(ghost, gate.ReasonHeld, nil)
	c.plugin.Trigger.Mark(ghost.UID, "", time.Now())

	c.eventually("it is forgotten", func() bool {
		return c.plugin.Waiting.Reason(ghost.UID) == "" && !c.plugin.Trigger.All().Has(ghost.UID)
	})
}

// As long as there is no plan, no node is filtered, and the scheduler may reuse results among equal pods. In trigger Manual
// nothing starts by itself.
func TestIdlePluginFiltersNoNode(t *testing.T) {
	c := fullNode(t, nothing, manual)
	c.advanceClock(time.Minute)
	pod := testPod("p", 1, 0)

	_, status := c.plugin.PreFilter(c.ctx, framework.NewCycleState(), pod, nil)
	_, signed := c.plugin.SignPod(c.ctx, pod)

	if !status.IsSkip() || !signed.IsSuccess() || c.optimizer.asked() != 0 {
		t.Errorf("PreFilter says %v, SignPod %v, the optimiser was asked %d times", status, signed, c.optimizer.asked())
	}
}
