package priorityoptimizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// emptied moves every movable pod off the node with fewest pods.
func emptied(s *contract.Snapshot) *contract.Plan {
	on := map[string][]*contract.Pod{}
	for _, pod := range s.Pods {
		if pod.Node != "" {
			on[pod.Node] = append(on[pod.Node], pod)
		}
	}
	plan := &contract.Plan{NodesInUse: &contract.NodesInUse{Before: int32(len(on)), After: int32(len(on)), LowerBound: 1}}
	if len(on) < 2 || slices.ContainsFunc(s.Pods, func(pod *contract.Pod) bool { return !pod.Movable }) {
		return plan
	}
	names := []string{"n1", "n2"}
	slices.SortStableFunc(names, func(a, b string) int { return len(on[a]) - len(on[b]) })
	for _, pod := range on[names[0]] {
		plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: names[0], ToNode: names[1]})
	}
	plan.NodesInUse.After, plan.NodesInUse.MovesLowerBound = 1, int32(len(plan.Moves))
	return plan
}

// halfEmpty starts two nodes of 4 GB with a pod of 2 GB on each, and waits until both have run for a while.
func halfEmpty(t *testing.T) *cluster {
	t.Helper()
	c := startCluster(t, answers(emptied), manual, testNode("n1", 4), testNode("n2", 4), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default",
		Labels: map[string]string{"tier": "batch"}}})
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.advanceClock(10 * time.Second)
	return c
}

// consolidation is the spec of a plan that empties nodes.
func consolidation(more map[string]any) map[string]any {
	spec := map[string]any{"executionMode": "Execute", "objective": "Consolidate"}
	for field, value := range more {
		spec[field] = value
	}
	return spec
}

// An emptied node is what such a plan is for: pods move although none is placed, and the status says how many nodes there
// were, are, and must be.
func TestConsolidationEmptiesANode(t *testing.T) {
	c := halfEmpty(t)

	c.createPlan("fewer", consolidation(map[string]any{"maxMoves": int64(3), "minGainPerMove": 0.5}), nil)
	c.planReaches("fewer", packingplan.Completed)

	if one, two := c.nodesOf("one"), c.nodesOf("two"); one[0] != two[0] {
		t.Errorf("one on %v, two on %v", one, two)
	}
	asked := c.optimizer.received()[0].Options
	if asked.Objective != contract.Objective_OBJECTIVE_CONSOLIDATE || asked.GetMaxMoves() != 3 || asked.MinGainPerMove != 0.5 {
		t.Errorf("asked for %v", asked)
	}
	status := c.plansOf()[0].Status
	if want := (packingplan.NodesInUse{Before: 2, After: 1, LowerBound: 1, MovesLowerBound: 1}); status.NodesInUse == nil ||
		*status.NodesInUse != want || !status.Optimal {
		t.Errorf("status %+v, nodes in use %+v", status, status.NodesInUse)
	}
}

// A plan that empties nodes is in nobody's way: pods that wait are not held for it, and their own plan is neither put off
// nor taken for proved by it.
func TestConsolidationLeavesWaitingPodsToTheScheduler(t *testing.T) {
	c := halfEmpty(t)
	c.add(testPod("large", 9, 0))
	c.eventually("the pod is tried", func() bool { return c.plugin.trigger.has("uid-large-0") || len(c.plugin.trigger.all()) == 1 })

	c.createPlan("fewer", consolidation(nil), nil)
	c.planReaches("fewer", packingplan.Completed)

	for _, request := range c.optimizer.received() {
		for _, pod := range request.Snapshot.Pods {
			if strings.HasPrefix(pod.Name, "large") {
				t.Error("the waiting pod is in the snapshot")
			}
		}
	}
	if c.plugin.trigger.isPutOff() || !c.plugin.trigger.has(c.pod("large").UID) {
		t.Errorf("put off %t, still marked %t", c.plugin.trigger.isPutOff(), c.plugin.trigger.has(c.pod("large").UID))
	}
}

func (c *cluster) pod(owner string) *v1.Pod {
	c.t.Helper()
	for _, pod := range c.pods() {
		if pod.OwnerReferences[0].Name == owner {
			return pod
		}
	}
	c.t.Fatalf("no pod of %s", owner)
	return nil
}

// A pod that was moved is a new one: the time that it must have run keeps it from being moved again. A namespace that is
// not selected is not touched.
func TestTermsOfAPlanPinPods(t *testing.T) {
	for text, row := range map[string]struct {
		terms  map[string]any
		reason string
	}{
		"old enough":        {map[string]any{"coolDownSeconds": 5.0}, ""},
		"too young":         {map[string]any{"coolDownSeconds": 3600.0}, snapshot.CoolingDown},
		"selected":          {selecting("batch"), ""},
		"not selected":      {selecting("web"), snapshot.ProtectedNamespace},
		"a broken selector": {map[string]any{"namespaceSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "tier", "operator": "Like"}}}}, snapshot.ProtectedNamespace},
	} {
		t.Run(text, func(t *testing.T) {
			c := halfEmpty(t)

			c.createPlan("fewer", consolidation(row.terms), nil)
			end := packingplan.Completed
			if row.reason != "" {
				end = packingplan.NoImprovement
			}
			c.planReaches("fewer", end)

			for _, pod := range c.optimizer.received()[0].Snapshot.Pods {
				if pod.ImmovableReason != row.reason {
					t.Errorf("%s: %q, want %q", pod.Name, pod.ImmovableReason, row.reason)
				}
			}
		})
	}
}

func selecting(tier string) map[string]any {
	return map[string]any{"namespaceSelector": map[string]any{"matchLabels": map[string]any{"tier": tier}}}
}

// at is a time of the fake clock as the API writes it.
func (c *cluster) at(later time.Duration) string {
	return c.clock.Now().Add(later).UTC().Format(time.RFC3339)
}

// A proposal of the night must not be carried out by an approval in the morning, and a plan whose turn comes too late not
// at all.
func TestPlanWhoseTimeIsOverIsNotCarriedOut(t *testing.T) {
	c := halfEmpty(t)
	c.createPlan("proposal", map[string]any{"executionMode": "DryRun", "objective": "Consolidate", "notAfter": c.at(30 * time.Second)}, nil)
	c.planReaches("proposal", packingplan.Proposed)
	c.advanceClock(31 * time.Second)
	c.planReaches("proposal", packingplan.Aborted)
	c.patchPlan("proposal", `{"spec":{"executionMode":"Execute"}}`)

	c.createPlan("late", consolidation(map[string]any{"notAfter": c.at(-time.Second)}), nil)
	c.planReaches("late", packingplan.Aborted)

	if len(c.evictions()) != 0 {
		t.Errorf("evicted %v", c.evictions())
	}
}

// When its time is over a plan stops between two pods, not in the middle of one: what was evicted gets its place.
func TestExecutionEndsBetweenTwoPodsWhenItsTimeIsOver(t *testing.T) {
	c := startCluster(t, answers(emptied), func(c *cluster) {
		manual(c)
		c.args.Limits.EvictionsPerSecond = 0.05
	}, testNode("n1", 9), testNode("n2", 9))
	for i := range 2 {
		pod := testobjects.Pod(fmt.Sprint("few", i), "", "2G").Node("n1").Obj()
		pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &metav1.Time{Time: c.clock.Now()}
		c.add(pod)
	}
	for i := range 3 {
		pod := testobjects.Pod(fmt.Sprint("rest", i), "", "1G").Node("n2").Obj()
		pod.Status.Phase, pod.Status.StartTime = v1.PodRunning, &metav1.Time{Time: c.clock.Now()}
		c.add(pod)
	}
	c.set(func(c *cluster) { c.slowTermination = true })

	c.createPlan("slow", consolidation(map[string]any{"notAfter": c.at(8 * time.Second)}), nil)
	c.eventually("a pod is terminating", func() bool { return len(c.evictions()) == 1 })
	c.advanceClock(10 * time.Second)
	during := c.phaseOf("slow")
	c.endPods()
	c.planReaches("slow", packingplan.Aborted)

	states := map[string]int{}
	for _, move := range c.plansOf()[0].Status.Moves {
		states[move.State]++
	}
	if during != packingplan.Executing || len(c.evictions()) != 1 || states["Bound"] != 1 || states["Waiting"] != 1 {
		t.Errorf("%s while the pod was leaving; evicted %v; moves %v; %s", during, c.evictions(), states, c.state())
	}
}

// A policy's plan may be told to displace nobody, although the profile's own plans may.
func TestPlanThatMayNotEvictDisplacesNobody(t *testing.T) {
	c := startCluster(t, answers(func(s *contract.Snapshot) *contract.Plan {
		plan := &contract.Plan{}
		for _, pod := range s.Pods {
			if pod.Node == "" {
				plan.Placements = append(plan.Placements, &contract.Placement{PodUid: pod.Uid, Node: "n1"})
			} else if pod.Movable {
				plan.Evictions = append(plan.Evictions, &contract.Eviction{PodUid: pod.Uid, Node: pod.Node})
			}
		}
		if len(plan.Evictions) == 0 {
			plan.Placements = nil
		}
		return plan
	}), manual, testNode("n1", 4))
	c.addInTurn(testPod("low", 3, 0))
	c.add(testPod("high", 3, 10))

	c.createPlan("gentle", map[string]any{"executionMode": "Execute", "maxEvictions": int64(0)}, nil)
	c.planReaches("gentle", packingplan.NoImprovement)

	asked := c.optimizer.received()
	if options := asked[0].Options; options.MaxEvictions == nil || *options.MaxEvictions != 0 || len(asked) < 2 {
		t.Errorf("asked %d times, first for %v", len(asked), options)
	}
	if len(c.evictions()) != 0 {
		t.Errorf("evicted %v", c.evictions())
	}
}
