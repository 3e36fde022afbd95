package priorityoptimizer

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// The optimiser is not asked twice about the same state, whatever the names of its pods are; after a change it is.
func TestSameStateIsNotAskedAboutTwice(t *testing.T) {
	for _, triggerType := range []gate.TriggerType{gate.OnUnschedulable, gate.Periodic} {
		t.Run(string(triggerType), func(t *testing.T) {
			c := fullNode(t, nothing, func(c *cluster) { c.args.Trigger, c.args.IntervalSeconds = triggerType, 1 })
			c.reaches(packingplan.NoImprovement)
			first := c.plansOf()[0].Status

			c.replaceByHand("waiting")
			c.advanceClock(10 * time.Second)
			again := c.optimizer.asked()
			c.addInTurn(testPod("change", 1, 0))
			c.add(testPod("another", 3, 0))
			c.eventually("the changed state is asked about", func() bool { return c.optimizer.asked() == 2 })

			if again != 1 {
				t.Errorf("asked %d times about one state", again)
			}
			if !first.Optimal {
				t.Errorf("no certificate: %+v", first)
			}
		})
	}
}

// replaceByHand deletes a waiting pod and creates another one of its ReplicaSet, as a
// controller would.
func (c *cluster) replaceByHand(name string) {
	c.t.Helper()
	for _, pod := range c.pods() {
		if pod.Name == name {
			c.must(c.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name))
			c.add(c.replacement(pod))
		}
	}
}

// advanceClock advances the fake clock in small steps, and wakes up the loop at each.
func (c *cluster) advanceClock(most time.Duration) {
	c.t.Helper()
	until := c.clock.Now().Add(most)
	c.await("time has passed", func() bool {
		c.flow(100 * time.Millisecond)
		return !c.clock.Now().Before(until)
	}, false)
}

// No event tells a waiting pod that others have become old enough to be moved for it: it must not wait for ever.
func TestPodsThatGrowOldEnoughToMoveAreAskedAboutAgain(t *testing.T) {
	c := fullNode(t, nothing, func(c *cluster) { c.args.MinPodAgeSeconds = 30 })
	c.reaches(packingplan.NoImprovement)
	c.advanceClock(10 * time.Second)
	early := c.optimizer.asked()

	c.eventually("they are old enough", func() bool { return c.optimizer.asked() == 2 })
	c.advanceClock(10 * time.Second)

	if early != 1 || c.optimizer.asked() != 2 {
		t.Errorf("asked %d times while they were young, %d in all", early, c.optimizer.asked())
	}
	protected := map[string]int32{}
	for _, record := range c.plansOf() {
		for _, one := range record.Status.Protected {
			protected[one.Reason] += one.InTheWayOf
		}
	}
	if len(protected) != 1 || protected[snapshot.TooYoung] != 1 {
		t.Errorf("the plans say that %v were in the way", protected)
	}
}

// The first snapshot of a large cluster takes several times as long as the next: pods need not be held for it. One that
// is read while the burst still comes is enough.
func TestClusterIsReadOnceWhileABurstSettles(t *testing.T) {
	clock, reads := testingclock.NewFakeClock(time.Now()), 0
	handle := testobjects.NewHandle()
	view := testobjects.Value(clusterview.New(handle, snapshot.Rules{}, nil))(t)
	view.Held = func() map[string]resources.Vector { reads++; return nil }
	p := &Plugin{view: view,
		Gate: &gate.Gate{Trigger: gate.NewTrigger(clock, gate.Pace{Type: gate.OnUnschedulable, Settle: time.Second})}}
	l := &loop{plugin: p, clock: clock, records: &records.Plans{Informer: packingplan.NewInformer(testobjects.CustomClient())}}

	l.startDue(t.Context())
	idle := reads
	p.Trigger.Mark("a", "", clock.Now())
	l.startDue(t.Context())
	first := reads
	clock.Step(500 * time.Millisecond)
	p.Trigger.Mark("b", "", clock.Now())
	l.startDue(t.Context())

	if idle != 0 || first != 1 || reads != 1 {
		t.Errorf("read %d times while no pods waited, %d at the first pod, %d at the second", idle, first, reads)
	}
}

// change gives the node a label, and returns once the scheduler has seen it.
func (c *cluster) change(node string) {
	before, changed := c.seen(), testNode(node, 1)
	changed.Labels["changed"] = "yes"
	testobjects.Value(c.client.CoreV1().Nodes().Update(c.ctx, changed, metav1.UpdateOptions{}))(c.t)
	c.await("the change is seen", func() bool { return c.seen() != before }, false)
}

// A proof is about the snapshot that the optimiser got. A change during the solve may be what a pod that still waits has
// been waiting for.
func TestWhatChangedDuringASolveIsNotInItsProof(t *testing.T) {
	for text, changes := range map[string]bool{"a node changes": true, "nothing changes": false} {
		t.Run(text, func(t *testing.T) {
			var c *cluster
			first := true
			c = startCluster(t, func(request *contract.SolveRequest, stream *call) error {
				if first && changes {
					c.change("n3")
				}
				first = false
				return answers(solveFigureOne)(request, stream)
			}, nil, testNode("n1", 4), testNode("n2", 4), testNode("n3", 1))
			c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
			c.add(testPod("three", 3, 0), testPod("large", 5, 0))

			c.reaches(packingplan.Completed)
			if changes {
				c.eventually("the optimiser is asked again", func() bool { return c.optimizer.asked() == 2 })
				return
			}
			c.advanceClock(10 * time.Second)
			if c.optimizer.asked() != 1 {
				t.Errorf("asked %d times about what is proved", c.optimizer.asked())
			}
		})
	}
}

// The state decides what the loop does: each fact leads to its own, and the last one here overrides those before.
func TestStateFollowsFromWhatIsOpenAndDue(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	p := &Plugin{Gate: &gate.Gate{Trigger: gate.NewTrigger(clock, gate.Pace{Type: gate.OnUnschedulable, Settle: time.Second})}}
	l := &loop{plugin: p, clock: clock, records: &records.Plans{}}
	for i, row := range []struct {
		happens func()
		want    state
	}{
		{func() {}, standingBy},
		{func() { p.leadership.Held.Store(true) }, starting},
		{func() { l.leadingSince = clock.Now() }, idle},
		{func() { p.Trigger.Mark("a", "", clock.Now()) }, settling},
		{func() { p.Trigger.Failed() }, backingOff},
		{func() { clock.Step(time.Minute) }, settling},
		{func() { l.placing = &execution.ActivePlan{} }, executing},
		{func() { l.records.Unwritten = []*packingplan.Record{{}} }, closing},
		{func() { p.leadership.Held.Store(false) }, standingBy},
	} {
		row.happens()
		if got := l.update(); got != row.want {
			t.Errorf("step %d: the state is %s, want %s", i, got, row.want)
		}
	}
}

// updateNode stores the node.
func (c *cluster) updateNode(node *v1.Node) {
	c.t.Helper()
	testobjects.Value(c.client.CoreV1().Nodes().Update(c.ctx, node, metav1.UpdateOptions{}))(c.t)
}

// A state is settled only if it is proved that nothing better exists. Where pods were left aside, it is asked about again
// as soon as after a search that found nothing in time.
func TestAStateWithPodsLeftAsideIsNotSettled(t *testing.T) {
	for name, row := range map[string]struct {
		beside []*v1.Pod
		again  bool
	}{
		"all were asked about": {nil, false},
		"one was left aside":   {[]*v1.Pod{testobjects.With(testPod("needy", 1, 0), func(pod *v1.Pod) { pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device"}} })}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, nothing, func(c *cluster) { c.args.Trigger, c.args.IntervalSeconds = gate.Periodic, 5 }, testNode("n1", 4))
			c.add(row.beside...)
			c.addInTurn(testPod("resident", 2, 0))
			c.add(testPod("waiting", 3, 0))
			c.eventually("it is asked about", func() bool {
				return slices.ContainsFunc(c.optimizer.received(), func(request *contract.SolveRequest) bool {
					return slices.ContainsFunc(request.Snapshot.Pods, func(pod *contract.Pod) bool { return pod.Name == "waiting" })
				})
			})
			before := c.optimizer.asked()

			c.advanceClock(2 * planning.UnprovedFor)

			if asked := c.optimizer.asked() > before; asked != row.again {
				t.Errorf("asked again: %t, want %t; %s", asked, row.again, c.state())
			}
			last := slices.MaxFunc(c.plansOf(), func(a, b *packingplan.Record) int {
				return a.Status.StartTime.Compare(b.Status.StartTime.Time)
			})
			if last.Status.Optimal == row.again || strings.Contains(last.Status.Message, "left aside") != row.again {
				t.Errorf("optimal %t, %q", last.Status.Optimal, last.Status.Message)
			}
		})
	}
}
