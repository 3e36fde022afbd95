package priorityoptimizer

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// createPlan creates a PackingPlan as kubectl would, once the plugin knows the existing pods: it watches pods and plans
// separately, and may see the plan first.
func (c *cluster) createPlan(name string, spec map[string]any, change func(*unstructured.Unstructured)) {
	c.t.Helper()
	known := func() bool {
		return !slices.ContainsFunc(c.pods(), func(pod *v1.Pod) bool { return !c.plugin.view.exists(pod) })
	}
	c.await("the pods are known", known, false)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(packingplan.Resource.GroupVersion().String())
	object.SetKind(packingplan.Kind)
	object.SetName(name)
	object.SetUID(types.UID("uid-" + name))
	if change != nil {
		change(object)
	}
	_, err := c.plans.Resource(packingplan.Resource).Create(c.ctx, object, metav1.CreateOptions{})
	c.must(err)
}

func (c *cluster) phaseOf(name string) packingplan.Phase {
	for _, record := range c.plansOf() {
		if record.Name() == name {
			return record.Status.Phase
		}
	}
	return ""
}

func manual(c *cluster) { c.args.Trigger = TriggerManual }

// A dry run answers "would they fit?" without disrupting or holding any pod.
func TestDryRunOnlyWritesThePlan(t *testing.T) {
	c := figureOne(t, nil, manual)

	c.createPlan("what-if", map[string]any{"executionMode": "DryRun"}, nil)
	c.planReaches("what-if", packingplan.Proposed)
	c.advanceClock(3 * time.Second)

	status := c.plansOf()[0].Status
	if len(status.Moves) != 1 || len(status.Placements) != 1 || status.Moves[0].State != "Waiting" {
		t.Errorf("status = %+v, want the whole plan", status)
	}
	if len(c.evictions()) != 0 || c.nodeOf("three") != "" {
		t.Errorf("evicted %v, three on %q", c.evictions(), c.nodeOf("three"))
	}
}

// A user's plan in mode Execute is carried out and closed whatever triggers the plugin's own, also with the longest name that
// Kubernetes accepts.
func TestManualPlanIsCarriedOut(t *testing.T) {
	name := strings.Repeat("a", 253)
	c := figureOne(t, nil, manual)

	c.createPlan(name, map[string]any{"executionMode": "Execute", "timeLimitSeconds": 7.5}, nil)
	c.planReaches(name, packingplan.Completed)
	c.eventually("its room is free", c.ledger.Empty)

	if c.nodeOf("three") == "" || c.optimizer.received()[0].Options.TimeLimitS != 7.5 {
		t.Errorf("three on %q, time limit %v", c.nodeOf("three"), c.optimizer.received()[0].Options.TimeLimitS)
	}
}

// Without waiting pods there is nothing to gain: the answer needs no optimiser. Nor does it need a scheduling cycle, which
// never comes if no pod waits.
func TestManualPlanWithNothingWaitingIsAnswered(t *testing.T) {
	c := startCluster(t, nothing, manual, testNode("n1", 4))

	c.createPlan("idle", map[string]any{"executionMode": "Execute"}, nil)
	c.planReaches("idle", packingplan.NoImprovement)

	if c.optimizer.asked() != 0 || !c.plansOf()[0].Status.Optimal {
		t.Errorf("asked %d times, status %+v", c.optimizer.asked(), c.plansOf()[0].Status)
	}
}

// A plan that a former process had not started to carry out is closed: the next solve starts from the present state. A
// plan with nothing left to do is completed.
func TestPlansOfAFormerProcessAreAborted(t *testing.T) {
	c := startCluster(t, nothing, nil, testNode("n1", 4))
	for i, phase := range []string{"Solving", "Proposed", "Executing"} {
		c.createPlan(fmt.Sprintf("old-%d", i), map[string]any{"executionMode": "Execute"}, func(object *unstructured.Unstructured) {
			object.Object["status"] = map[string]any{"phase": phase}
		})
	}
	c.createPlan("unborn", map[string]any{"executionMode": "Execute"}, func(object *unstructured.Unstructured) {
		object.SetLabels(map[string]string{packingplan.CreatedByLabel: packingplan.CreatedByValue})
	})

	c.addInTurn(testPod("first", 1, 0))

	c.eventually("the others are aborted", func() bool { return c.phases()[packingplan.Aborted] == 3 })
	c.planReaches("old-2", packingplan.Completed)
}

// Finished plans do not pile up; open ones are never deleted.
func TestHistoryIsLimited(t *testing.T) {
	c := fullNode(t, nothing, func(c *cluster) { c.args.Trigger, c.args.HistoryLimit = TriggerManual, 2 })

	for i := range 5 {
		name := fmt.Sprintf("plan-%d", i)
		c.createPlan(name, map[string]any{"executionMode": "DryRun"}, nil)
		c.planReaches(name, packingplan.NoImprovement)
		c.clock.Step(2 * time.Second) // timestamps have whole seconds
	}

	c.eventually("two are left", func() bool { return len(c.plansOf()) == 2 })
	if c.phaseOf("plan-4") == "" || c.phaseOf("plan-3") == "" {
		t.Errorf("the newest are not kept: %s", c.state())
	}
}

// A dead optimiser fails a user's plan at once, with the reason.
func TestManualPlanWithoutOptimizerFails(t *testing.T) {
	c := fullNode(t, nil, manual)

	c.createPlan("go", map[string]any{"executionMode": "Execute"}, nil)

	c.planReaches("go", packingplan.Failed)
}

// patchPlan changes a plan as kubectl patch would.
func (c *cluster) patchPlan(name, patch string) {
	c.t.Helper()
	_, err := c.plans.Resource(packingplan.Resource).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// A plan can be aborted in every phase; no pods wait for it afterwards.
func TestPlanIsGivenUpAtAUsersRequest(t *testing.T) {
	resting := proposed(t)
	resting.patchPlan("what-if", `{"spec":{"abort":true}}`)
	resting.planReaches("what-if", packingplan.Aborted)

	running := slowTermination(t)
	name := running.plansOf()[0].Name()
	running.patchPlan(name, `{"spec":{"abort":true}}`)
	running.planReaches(name, packingplan.Aborted)
	if running.plugin.execution.Load() != nil {
		t.Error("the plan is still running")
	}
}

// A plan may be deleted while it is carried out, and another one may get its name: a request about the second must not
// affect the first.
func TestAbortIsThatOfThePlanAndNotOfANamesake(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	records := &planRecords{informer: packingplan.NewInformer(client)}
	plan := func(uid types.UID) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"abort": true}}}
		object.SetName("what-if")
		object.SetUID(uid)
		return object
	}
	second, err := packingplan.Read(plan("second"))
	testobjects.Must(t, err)
	testobjects.Must(t, records.informer.GetStore().Add(second))

	for uid, want := range map[types.UID]bool{"first": false, "second": true} {
		record, err := packingplan.Read(plan(uid))
		testobjects.Must(t, err)
		if got := records.abortRequested(record); got != want {
			t.Errorf("the %s plan: %t, want %t", uid, got, want)
		}
	}
}
