package priorityoptimizer

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// dueIn is how long from now the next solve starts; negative is never.
func dueIn(t *trigger) time.Duration {
	at, ok := t.due()
	if !ok {
		return -1
	}
	return at.Sub(t.clock.Now())
}

// There is one solve for a burst of pods, once it has settled.
func TestSolveWaitsUntilTheBurstHasSettled(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := newTrigger(clock, pace{mode: ModeOnUnschedulable, settle: time.Second})

	trigger.mark("a", "", trigger.clock.Now())
	clock.Step(900 * time.Millisecond)
	trigger.mark("b", "", trigger.clock.Now())
	afterNew := dueIn(trigger)
	clock.Step(500 * time.Millisecond)
	trigger.mark("a", "", trigger.clock.Now())
	afterOld := dueIn(trigger)

	if afterNew != time.Second || afterOld != 500*time.Millisecond {
		t.Errorf("due in %s after a new pod, in %s after an old one", afterNew, afterOld)
	}
}

// A scheduler with a long queue tries the last pods of a burst long after their creation: that is no reason to wait longer.
func TestPodThatWaitedInTheQueueDoesNotDelayTheSolve(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := newTrigger(clock, pace{mode: ModeOnUnschedulable, settle: time.Second})
	began := clock.Now()
	trigger.mark("a", "", began)

	clock.Step(1500 * time.Millisecond)
	trigger.mark("b", "", began)
	late := dueIn(trigger)
	trigger.mark("c", "", clock.Now())

	if late != 500*time.Millisecond || dueIn(trigger) != time.Second {
		t.Errorf("due in %s after a pod that waited, in %s after a new one", late, dueIn(trigger))
	}
}

// A steady stream of pods delays the solve to ten settle times, not for ever.
func TestSteadyStreamDoesNotDelayTheSolveForEver(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := newTrigger(clock, pace{mode: ModeOnUnschedulable, settle: time.Second})
	began := clock.Now()

	for i := range 100 {
		trigger.mark(types.UID(fmt.Sprint(i)), "", trigger.clock.Now())
		if dueIn(trigger) <= 0 {
			break
		}
		clock.Step(500 * time.Millisecond)
	}

	if took := clock.Since(began); took != 10*time.Second {
		t.Errorf("due after %s, want 10 settle times", took)
	}
}

// Periodic means every interval while pods wait, whatever comes and goes meanwhile.
func TestPeriodicKeepsItsIntervalUnderSteadyArrivals(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := newTrigger(clock, pace{mode: ModePeriodic, interval: 30 * time.Second})
	idle := dueIn(trigger)

	for i := range 20 {
		trigger.mark(types.UID(fmt.Sprint(i)), "", trigger.clock.Now())
		clock.Step(time.Second)
	}
	busy := dueIn(trigger)
	clock.Step(10 * time.Second)
	trigger.started()

	if idle != -1 || busy != 10*time.Second || dueIn(trigger) != 30*time.Second {
		t.Errorf("idle %s, busy %s, after a solve %s", idle, busy, dueIn(trigger))
	}
}

// A broken optimiser is asked less and less often, and normally again once it works.
func TestFailuresBackOff(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := newTrigger(clock, pace{mode: ModeOnUnschedulable})
	trigger.mark("a", "", trigger.clock.Now())
	var waits []time.Duration
	for range 8 {
		trigger.started()
		trigger.failed()
		waits = append(waits, dueIn(trigger))
	}
	trigger.succeeded()

	if waits[0] != time.Second || waits[1] != 2*time.Second || waits[7] != time.Minute || dueIn(trigger) != 0 {
		t.Errorf("waits %v, then %s", waits, dueIn(trigger))
	}
}

// The optimiser is not asked twice about the same state, whatever the names of its pods are; after a change it is.
func TestSameStateIsNotAskedAboutTwice(t *testing.T) {
	for _, mode := range []Mode{ModeOnUnschedulable, ModePeriodic} {
		t.Run(string(mode), func(t *testing.T) {
			one := 1.0
			c, o := fullNode(t, nothing, func(args *PriorityOptimizerArgs) { args.Mode, args.IntervalSeconds = mode, &one })
			c.eventually("the first answer", func() bool { return c.phases()[packingplan.NoImprovement] == 1 })
			first := c.plansOf()[0].Status

			c.replaceByHand("waiting")
			c.advanceClock(10 * time.Second)
			again := o.asked()
			c.addInTurn(testPod("change", 1, 0))
			c.add(testPod("another", 3, 0))
			c.eventually("the changed state is asked about", func() bool { return o.asked() == 2 })

			if again != 1 {
				t.Errorf("asked %d times about one state", again)
			}
			if !first.Optimal {
				t.Errorf("no certificate: %+v", first)
			}
		})
	}
}

// A completed plan that was proved optimal leads to a state that need not be asked about.
func TestStateAfterAnOptimalPlanIsNotAskedAbout(t *testing.T) {
	c, o := figureOne(t, answers(solveFigureOne), nil)
	c.eventually("the plan is completed", func() bool { return c.phases()[packingplan.Completed] == 1 })
	asked := o.asked()

	c.advanceClock(20 * time.Second)

	if o.asked() != asked {
		t.Errorf("asked %d times, want %d", o.asked(), asked)
	}
}

// In mode Manual nothing starts by itself.
func TestManualModeNeverStartsByItself(t *testing.T) {
	c, o := fullNode(t, nothing, func(args *PriorityOptimizerArgs) { args.Mode = ModeManual })

	c.advanceClock(time.Minute)

	if o.asked() != 0 {
		t.Errorf("asked %d times", o.asked())
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
		c.clock.Step(100 * time.Millisecond)
		return !c.clock.Now().Before(until)
	}, false)
}

// No event tells a waiting pod that others have become old enough to be moved for it: it must not wait for ever.
func TestPodsThatGrowOldEnoughToMoveAreAskedAboutAgain(t *testing.T) {
	c, o := fullNode(t, nothing, func(args *PriorityOptimizerArgs) {
		age := 30.0
		args.MinPodAgeSeconds = &age
	})
	c.eventually("the first answer", func() bool { return c.phases()[packingplan.NoImprovement] == 1 })
	c.advanceClock(10 * time.Second)
	early := o.asked()

	c.eventually("they are old enough", func() bool { return o.asked() == 2 })
	c.advanceClock(10 * time.Second)

	if early != 1 || o.asked() != 2 {
		t.Errorf("asked %d times while they were young, %d in all", early, o.asked())
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
