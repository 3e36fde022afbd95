package priorityoptimizer

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// patchPlan changes a plan as kubectl patch would.
func (c *cluster) patchPlan(name, patch string) {
	c.t.Helper()
	_, err := c.plans.Resource(packingplan.Resource).Patch(c.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	c.must(err)
}

// proposed starts figure 1 with a proposal that has not been approved yet.
func proposed(t *testing.T) *cluster {
	c, _ := figureOne(t, answers(solveFigureOne), manual)
	c.createPlan("what-if", map[string]any{"mode": "DryRun"}, nil)
	c.eventually("the plan is proposed", func() bool { return c.phaseOf("what-if") == packingplan.Proposed })
	return c
}

// A user who has reviewed a plan wants that one to be carried out, not the result of another solve.
func TestApprovedProposalIsCarriedOutAsItIs(t *testing.T) {
	c := proposed(t)
	before := c.plansOf()[0].Status

	c.patchPlan("what-if", `{"spec":{"mode":"Execute"}}`)
	c.eventually("the plan is completed", func() bool { return c.phaseOf("what-if") == packingplan.Completed })

	after := c.plansOf()[0].Status
	if len(after.Moves) != 1 || after.Moves[0].PodUID != before.Moves[0].PodUID || after.Moves[0].State != "Bound" || c.nodeOf("three") == "" {
		t.Errorf("proposed %+v, carried out %+v", before.Moves, after.Moves)
	}
}

// A proposal may be hours old when it is approved.
func TestProposalForAClusterThatHasChangedIsNotCarriedOut(t *testing.T) {
	c := proposed(t)
	pod := testPod("foreign", 2, 0)
	pod.Spec.SchedulerName, pod.Spec.NodeName = "other", c.nodeOf("two")
	c.add(pod)
	c.advanceClock(time.Second)

	c.patchPlan("what-if", `{"spec":{"mode":"Execute"}}`)
	c.eventually("the plan is aborted", func() bool { return c.phaseOf("what-if") == packingplan.Aborted })

	if len(c.evictions()) != 0 {
		t.Errorf("evicted %v", c.evictions())
	}
}

// A plan can be aborted in every phase; no pods wait for it afterwards.
func TestPlanIsGivenUpAtAUsersRequest(t *testing.T) {
	resting := proposed(t)
	resting.patchPlan("what-if", `{"spec":{"abort":true}}`)
	resting.eventually("the proposal is aborted", func() bool { return resting.phaseOf("what-if") == packingplan.Aborted })

	running := slowTermination(t)
	name := running.plansOf()[0].Name()
	running.patchPlan(name, `{"spec":{"abort":true}}`)
	running.eventually("the plan is aborted", func() bool { return running.phaseOf(name) == packingplan.Aborted })
	if running.plugin.execution.Load() != nil {
		t.Error("the plan is still running")
	}
}

// A plan may be deleted while it is carried out, and another one may get its name: a request about the second must not
// affect the first.
func TestAbortIsThatOfThePlanAndNotOfANamesake(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	l := &loop{Plugin: &Plugin{}, informer: packingplan.NewInformer(client)}
	plan := func(uid types.UID) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"abort": true}}}
		object.SetName("what-if")
		object.SetUID(uid)
		return object
	}
	second, err := packingplan.Read(plan("second"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.informer.GetStore().Add(second); err != nil {
		t.Fatal(err)
	}

	for uid, want := range map[types.UID]bool{"first": false, "second": true} {
		record, err := packingplan.Read(plan(uid))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.abortRequested(record); got != want {
			t.Errorf("the %s plan: %t, want %t", uid, got, want)
		}
	}
}
