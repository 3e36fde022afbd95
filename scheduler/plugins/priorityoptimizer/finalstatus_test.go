package priorityoptimizer

import (
	"errors"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// A plan that ends while the API server is down must not look active or hold room for ever, and no other plan may start
// before its final status is written.
func TestFinalStatusIsWrittenOnceTheAPIServerIsBack(t *testing.T) {
	c := slowTermination(t)
	c.set(func(c *cluster) { c.apiDown = true })
	c.endPods()
	c.eventually("the plan is carried out", func() bool { return c.nodeOf("three") != "" && c.plugin.execution.Load() == nil })
	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)

	before, free := c.phases(), c.ledger.Empty()
	c.set(func(c *cluster) { c.apiDown = false })
	c.eventually("the final status is written", func() bool {
		return c.phases()[packingplan.Completed] == 1 && c.ledger.Empty()
	})

	if before[packingplan.Executing] != 1 || len(before) != 1 || free {
		t.Errorf("before the server was back: %v, nothing held: %t", before, free)
	}
}

// A write that the API server will never accept is not retried for ever.
func TestOnlyTransientErrorsAreRetried(t *testing.T) {
	plans := packingplan.Resource.GroupResource()
	for text, c := range map[string]struct {
		err  error
		want bool
	}{
		"refused":     {errors.New("connection refused"), true},
		"busy":        {apierrors.NewTooManyRequests("later", 1), true},
		"starting":    {apierrors.NewServiceUnavailable("not yet"), true},
		"overtaken":   {apierrors.NewConflict(plans, "p", errors.New("changed")), true},
		"deleted":     {apierrors.NewNotFound(plans, "p"), false},
		"forbidden":   {apierrors.NewForbidden(plans, "p", errors.New("not synced")), true},
		"overwritten": {&packingplan.OvertakenError{Plan: "p"}, false},
		"too large":   {apierrors.NewRequestEntityTooLargeError("2 MiB"), false},
		"for etcd":    {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), false},
		"not a plan":  {apierrors.NewInvalid(packingplan.Resource.GroupVersion().WithKind(packingplan.Kind).GroupKind(), "p", nil), false},
	} {
		if got := isTransient(c.err); got != c.want {
			t.Errorf("%s: tried again: %t", text, got)
		}
	}
}

// Pods that wait because of a budget are not tried by any other plugin when it allows more disruptions.
func TestBudgetThatAllowsMoreAsksForAnotherSolve(t *testing.T) {
	allows := func(count int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: count}}
	}
	for text, c := range map[string]struct {
		change func(*Plugin)
		want   bool
	}{
		"more":    {func(p *Plugin) { p.budgetHandler().OnUpdate(allows(0), allows(1)) }, true},
		"gone":    {func(p *Plugin) { p.budgetHandler().OnDelete(allows(0)) }, true},
		"as many": {func(p *Plugin) { p.budgetHandler().OnUpdate(allows(1), allows(1)) }, false},
		"fewer":   {func(p *Plugin) { p.budgetHandler().OnUpdate(allows(1), allows(0)) }, false},
	} {
		trigger := newTrigger(testingclock.NewFakeClock(time.Now()), pace{mode: ModeOnUnschedulable, settle: time.Second, interval: time.Minute})
		trigger.marked = sets.New[types.UID]("waiting")

		c.change(&Plugin{trigger: trigger, wake: make(chan struct{}, 1)})

		if _, due := trigger.due(); due != c.want {
			t.Errorf("%s: due %t", text, due)
		}
	}
}
