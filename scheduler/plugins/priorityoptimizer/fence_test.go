package priorityoptimizer

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
)

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "stowage"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

// underLease makes the plan's process one of two.
func underLease(t *testing.T) *cluster {
	t.Helper()
	o := startOptimizer(t, answers(solveFigureOne))
	c := startCluster(t, o.socket, nil, testNode("n1", 4), testNode("n2", 4), leaseOf("me"))
	c.stop()
	c.lease = &leadership.Lease{Client: c.client.CoordinationV1(), Namespace: "system", Name: "stowage", Identity: "me"}
	c.begin()
	return c
}

// A leader that was stopped continues after another process has taken over its plan. It must not write anything about
// that plan.
func TestProcessThatHasLostTheLeaseTouchesNothing(t *testing.T) {
	c := underLease(t)
	c.set(func(c *cluster) { c.slowTermination = true })
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, leaseOf("another"), metav1.UpdateOptions{})
	c.must(err)
	before := c.phases()

	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.execution.Load() == nil })
	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)

	if after := c.phases(); len(c.evictions()) != 1 || c.ledger.Empty() || after[packingplan.Executing] != 1 || len(after) != len(before) {
		t.Errorf("before %v, after %v, evicted %v, reserved %v", before, after, c.evictions(), c.kept())
	}
}

// The lease may be back before the scheduler has noticed that it was lost: then its plans go on.
func TestProcessThatGetsTheLeaseBackGoesOn(t *testing.T) {
	c := underLease(t)
	lead := func(holder string) {
		_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, leaseOf(holder), metav1.UpdateOptions{})
		c.must(err)
	}
	c.set(func(c *cluster) { c.slowTermination = true })
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	lead("another")
	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.execution.Load() == nil })

	lead("me")

	c.eventually("the plan is over", func() bool { return c.phases()[packingplan.Executing] == 0 && c.ledger.Empty() })
	if c.nodeOf("three") == "" || len(c.evictions()) != 1 {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
}
