package priorityoptimizer

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/reservation"
)

// A process may die at any moment. The next one finishes its plan, and no pod is evicted a second time.
func TestPlanOfAProcessThatDiedIsResumed(t *testing.T) {
	c := slowTermination(t)

	c.restart()
	c.advanceClock(time.Second)
	c.endPods()
	c.reaches(packingplan.Completed)

	status := c.plansOf()[0].Status
	if len(c.evictions()) != 1 || c.nodeOf("three") == "" || c.nodesOf("one")[0] != c.nodeOf("two") {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
	if move := status.Moves()[0]; move.State != "Bound" {
		t.Errorf("move %+v", move)
	}
}

// As long as a pod of the plan terminates, nobody can say whether the plan goes on. Until then no pod takes the room that it
// has made, however high its priority, just as while it is carried out; and no pod waits for that afterwards.
func TestRoomThatAFormerProcessMadeIsNotStolen(t *testing.T) {
	c := slowTermination(t)
	c.restart()
	c.advanceClock(3 * time.Second)
	thief := testPod("thief", 2, 9)
	thief.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever)
	c.add(thief)
	c.await("it is kept out", func() bool { return c.plugin.Waiting.Count(gate.ReasonReserved) == 1 }, false)
	began := c.plugin.Execution.Load()
	c.endPods()
	c.reaches(packingplan.Completed)

	if began != nil || c.nodeOf("three") == "" || c.nodeOf("thief") != "" || len(c.evictions()) != 1 {
		t.Errorf("carried out %t before the pod was gone; evicted %v; %s", began != nil, c.evictions(), c.state())
	}
	c.must(c.client.Tracker().Delete(podsResource, "default", "three"))
	c.hasNode("thief")
}

// What one plan keeps back while it is undecided must not outlive it, and the pods of the next one are kept back at once.
// They are told why.
func TestOnlyThePlanThatIsUndecidedKeepsPodsBack(t *testing.T) {
	c := startCluster(t, nil, func(c *cluster) { c.standby = true })
	l := &loop{plugin: c.plugin, records: &records.Plans{Ledger: c.ledger}}
	for _, of := range []string{"first", "second"} {
		record := testobjects.Value(packingplan.Read(testobjects.Custom(packingplan.Kind, of, nil)))(t)
		record.Status.Steps = []*packingplan.Step{{OwnerUID: string(testobjects.ReplicaSet(of).UID)}}
		l.keepBack(record)
	}

	first, second := c.plugin.PreEnqueue(c.ctx, testPod("first", 1, 0)), c.plugin.PreEnqueue(c.ctx, testPod("second", 1, 0))
	l.keepBack(nil)

	if last := c.plugin.PreEnqueue(c.ctx, testPod("second", 1, 0)); !first.IsSuccess() || !last.IsSuccess() ||
		second.Message() != string(gate.ReasonUndecided) {
		t.Errorf("pods of the first plan: %v, of the second: %v, and of no plan: %v", first, second, last)
	}
}

// A user need not wait until it is clear whether the plan goes on, and is told that it was aborted as asked for.
func TestPlanThatMayBeResumedIsAbortedAtAUsersRequest(t *testing.T) {
	c := slowTermination(t)
	c.restart()
	c.advanceClock(3 * time.Second)
	began := c.clock.Now()

	c.patchPlan(c.plansOf()[0].Name(), `{"spec":{"abort":true}}`)
	c.reaches(packingplan.Aborted)

	if message := c.plansOf()[0].Status.Message; message != records.MessageAborted || c.clock.Since(began) > 2*time.Second {
		t.Errorf("after %s: %s", c.clock.Since(began), message)
	}
}

// To continue a plan that no longer fits the cluster would only disrupt more pods: it is closed at once, or, where pods may
// leave yet, within ten seconds of the restart of its process, and its pods are scheduled like any others.
func TestPlanThatNoLongerFitsIsClosed(t *testing.T) {
	changing := func(change func(*v1.Node)) func(*cluster, string) {
		return func(c *cluster, target string) {
			node := testNode(target, 4)
			change(node)
			c.updateNode(node)
		}
	}
	cordoned := changing(func(node *v1.Node) { node.Spec.Unschedulable = true })
	for text, row := range map[string]struct {
		restarts bool
		change   func(c *cluster, target string)
	}{
		"cordoned":                {false, cordoned},
		"tainted":                 {false, changing(func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} })},
		"shrunk":                  {false, changing(func(node *v1.Node) { node.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("1G") })},
		"restarted, and cordoned": {true, cordoned},
		"restarted, and the pod does not go away":     {true, func(*cluster, string) {}},
		"restarted, and a foreign pod takes the room": {true, func(c *cluster, target string) { c.endPods(); c.add(foreignPod(target)) }},
		"restarted, and the target is gone": {true, func(c *cluster, target string) {
			c.endPods()
			c.must(c.client.CoreV1().Nodes().Delete(c.ctx, target, metav1.DeleteOptions{}))
		}},
	} {
		t.Run(text, func(t *testing.T) {
			c, most := slowTermination(t), 2*time.Second
			began, target := c.clock.Now(), c.plansOf()[0].Status.Placements()[0].To
			if row.restarts {
				c.stop()
				most = 5 * time.Second
			}
			if strings.Contains(text, "pod") { // which may go yet
				most = 10 * time.Second
			}
			row.change(c, target)
			if row.restarts {
				c.begin()
				began = c.clock.Now()
			}

			c.reaches(packingplan.Aborted)

			if took := c.clock.Since(began); took > most || len(c.evictions()) != 1 {
				t.Errorf("took %s, evicted %v", took, c.evictions())
			}
		})
	}
}

// If a replacement never comes, because its owner was scaled down or a quota is used up, its room must not be held for
// long.
func TestPlanWhoseReplacementNeverComesIsGivenUp(t *testing.T) {
	c := figureOne(t, nil, func(c *cluster) { c.args.StepTimeoutSeconds, c.withoutControllers = 10, true })
	c.eventually("the pod is gone", func() bool { return len(c.evictions()) == 1 })
	began := c.clock.Now()

	c.reaches(packingplan.Aborted)

	if took := c.clock.Since(began); took > 12*time.Second || c.nodeOf("three") == "" {
		t.Errorf("took %s, three on %q", took, c.nodeOf("three"))
	}
}

// A replacement that is still to come has nowhere to go where its node has gone while no process was there.
func TestPlanWhoseAwaitedReplacementHasLostItsNodeIsClosed(t *testing.T) {
	c := figureOne(t, nil, func(c *cluster) { c.withoutControllers = true })
	c.eventually("the pod is gone", func() bool { return len(c.evictions()) == 1 })
	c.stop()
	c.must(c.client.CoreV1().Nodes().Delete(c.ctx, c.plansOf()[0].Status.Moves()[0].To, metav1.DeleteOptions{}))

	c.begin()

	c.reaches(packingplan.Aborted)
}

// A leader that was stopped continues after another process has taken over its plan. It must not write anything about
// that plan. The lease may be back before the scheduler has noticed that it was lost: then its plans go on.
func TestProcessThatHasLostTheLeaseTouchesNothingUntilItHasItBack(t *testing.T) {
	c := slowTermination(t, func(c *cluster) {
		c.lease = &leadership.Lease{Client: c.client.CoordinationV1(), Namespace: "system", Name: "stowage", Identity: "me"}
	})
	lead := func(holder string) {
		_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, testobjects.Lease("system", "stowage", holder), metav1.UpdateOptions{})
		c.must(err)
	}
	lead("another")
	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.Execution.Load() == nil })

	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)
	if after := c.phases(); len(c.evictions()) != 1 || c.ledger.Empty() || after[packingplan.Executing] != 1 || len(after) != 1 {
		t.Errorf("plans %v, evicted %v, reserved %v", after, c.evictions(), c.kept())
	}
	record := c.plansOf()[0]
	c.must(c.bind(&v1.Binding{ // the other process binds it
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "three", Annotations: map[string]string{
			reservation.AllocatedAnnotation: reservation.Taken{Name: record.Name(), UID: record.UID()}.Text()}},
		Target: v1.ObjectReference{Name: record.Status.Placements()[0].To}}))
	c.eventually("its place is taken", func() bool { return len(c.kept()) == 0 })
	lead("me")

	c.eventually("the plan is over", func() bool { return c.phases()[packingplan.Executing] == 0 && c.ledger.Empty() })
	if c.nodeOf("three") == "" || len(c.evictions()) != 1 {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
}
