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
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
)

// createPlan creates a PackingPlan as kubectl would, once the plugin knows the existing pods: it watches pods and plans
// separately, and may see the plan first.
func (c *cluster) createPlan(name string, spec map[string]any, change func(*unstructured.Unstructured)) {
	c.t.Helper()
	known := func() bool {
		return !slices.ContainsFunc(c.pods(), func(pod *v1.Pod) bool { return !c.plugin.view.Exists(pod) })
	}
	c.await("the pods are known", known, false)
	object := testobjects.Custom(packingplan.Kind, name, spec)
	if change != nil {
		change(object)
	}
	testobjects.Value(c.plans.Resource(packingplan.Resource).Create(c.ctx, object, metav1.CreateOptions{}))(c.t)
}

func (c *cluster) phaseOf(name string) packingplan.Phase {
	for _, record := range c.plansOf() {
		if record.Name() == name {
			return record.Status.Phase
		}
	}
	return ""
}

func manual(c *cluster) { c.args.Trigger = gate.Manual }

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

// Without waiting pods there is nothing to gain: the answer needs no optimiser, nor a scheduling cycle, which never comes if
// no pod waits. Where pods wait, a dead optimiser fails a user's plan at once, with the reason.
func TestManualPlanThatCannotBeMadeIsAnswered(t *testing.T) {
	idle, dead := startCluster(t, nothing, manual, testNode("n1", 4)), fullNode(t, nil, manual)

	idle.createPlan("idle", map[string]any{"executionMode": "Execute"}, nil)
	dead.createPlan("go", map[string]any{"executionMode": "Execute"}, nil)

	idle.planReaches("idle", packingplan.NoImprovement)
	dead.planReaches("go", packingplan.Failed)
	if idle.optimizer.asked() != 0 || !idle.plansOf()[0].Status.Optimal {
		t.Errorf("asked %d times, status %+v", idle.optimizer.asked(), idle.plansOf()[0].Status)
	}
}

// patchPlan changes a plan as kubectl patch would.
func (c *cluster) patchPlan(name, patch string) {
	c.t.Helper()
	_, err := c.plans.Resource(packingplan.Resource).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// A plan can be aborted in every phase, and at once; no pods wait for it afterwards.
func TestPlanIsGivenUpAtAUsersRequest(t *testing.T) {
	solving := fullNode(t, silent, manual)
	solving.createPlan("what-if", map[string]any{"executionMode": "Execute", "timeLimitSeconds": 50.0}, nil)
	solving.eventually("the solve has begun", func() bool { return solving.optimizer.asked() == 1 })
	for phase, c := range map[string]*cluster{"solving": solving, "proposed": proposed(t), "running": slowTermination(t)} {
		began, name := c.clock.Now(), c.plansOf()[0].Name()

		c.patchPlan(name, `{"spec":{"abort":true}}`)
		c.planReaches(name, packingplan.Aborted)

		if took := c.clock.Since(began); took > 5*time.Second || c.plugin.Execution.Load() != nil {
			t.Errorf("%s: took %s, the plan is still running: %t", phase, took, c.plugin.Execution.Load() != nil)
		}
	}
}
