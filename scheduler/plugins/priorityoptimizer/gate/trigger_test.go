package gate

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

// dueIn is how long from now the next solve starts; never is none.
func dueIn(t *Trigger) time.Duration {
	at, ok := t.Due()
	if !ok {
		return never
	}
	return at.Sub(t.clock.Now())
}

const never = time.Duration(-1)

// happening is what a trigger is told after a while, and when the next solve is due then.
type happening struct {
	after time.Duration
	is    func(*Trigger)
	due   time.Duration
}

func marks(uid types.UID) func(*Trigger) {
	return func(t *Trigger) { t.Mark(uid, "", t.clock.Now()) }
}

func collects(uid types.UID) func(*Trigger) { return func(t *Trigger) { t.collect(uid) } }

func nothingHappens(*Trigger) {}

// When a solve is due decides how long pods wait, and how much the optimiser costs: each row has its own reason.
func TestSolveIsDueWhenItsModeSays(t *testing.T) {
	began := time.Now()
	onUnschedulable := Pace{Type: OnUnschedulable, Settle: time.Second}
	periodic := Pace{Type: Periodic, Interval: 30 * time.Second}
	ofThree := Pace{Type: Batch, Interval: 30 * time.Second, Pods: 3}
	failure := func(t *Trigger) { t.Started(); t.Failed() }
	for text, row := range map[string]struct {
		pace    Pace
		happens []happening
	}{
		"there is one solve for a burst of pods, once it has settled": {onUnschedulable, []happening{
			{0, marks("a"), time.Second},
			{900 * time.Millisecond, marks("b"), time.Second},
			{500 * time.Millisecond, marks("a"), 500 * time.Millisecond},
		}},
		// A scheduler with a long queue tries the last pods of a burst long after their creation.
		"a pod that waited in the queue does not delay the solve": {onUnschedulable, []happening{
			{0, marks("a"), time.Second},
			{1500 * time.Millisecond, func(t *Trigger) { t.Mark("b", "", began) }, 500 * time.Millisecond},
			{0, marks("c"), time.Second},
		}},
		"periodic keeps its interval, whatever comes and goes meanwhile": {periodic, []happening{
			{0, nothingHappens, never},
			{0, marks("a"), 30 * time.Second},
			{10 * time.Second, marks("b"), 20 * time.Second},
			{10 * time.Second, marks("c"), 10 * time.Second},
			{10 * time.Second, (*Trigger).Started, 30 * time.Second},
		}},
		"a broken optimiser is asked less and less often, and normally again once it works": {onUnschedulable, []happening{
			{0, marks("a"), time.Second},
			{time.Second, failure, time.Second}, {0, failure, 2 * time.Second}, {0, failure, 4 * time.Second},
			{0, failure, 8 * time.Second}, {0, failure, 16 * time.Second}, {0, failure, 32 * time.Second},
			{0, failure, time.Minute}, {0, failure, time.Minute},
			{time.Second, (*Trigger).Succeeded, 0},
		}},
		"a batch is over when it is full, or its first pod has waited long enough": {ofThree, []happening{
			{0, nothingHappens, never},
			{0, collects("a"), 30 * time.Second},
			{10 * time.Second, collects("a"), 20 * time.Second},
			{0, collects("b"), 20 * time.Second},
			{0, collects("c"), 0},
			{0, (*Trigger).Started, 30 * time.Second},
			{time.Second, collects("d"), 30 * time.Second},
		}},
		// The scheduler does not place the pods of a batch.
		"what is left of a batch is tried again, and after a failure at once when the back-off ends": {ofThree, []happening{
			{0, collects("a"), 30 * time.Second},
			{0, (*Trigger).Started, 30 * time.Second},
			{0, (*Trigger).Failed, time.Second},
			{0, func(t *Trigger) { t.unmark("a") }, never},
		}},
	} {
		t.Run(text, func(t *testing.T) {
			clock := testingclock.NewFakeClock(began)
			trigger := NewTrigger(clock, row.pace)
			for i, one := range row.happens {
				clock.Step(one.after)
				one.is(trigger)
				if got := dueIn(trigger); got != one.due {
					t.Errorf("step %d: due in %s, want %s", i, got, one.due)
				}
			}
		})
	}
}

// A steady stream of pods delays the solve to ten settle times, not for ever.
func TestSteadyStreamDoesNotDelayTheSolveForEver(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	trigger := NewTrigger(clock, Pace{Type: OnUnschedulable, Settle: time.Second})
	began := clock.Now()

	for i := range 100 {
		marks(types.UID(fmt.Sprint(i)))(trigger)
		if dueIn(trigger) <= 0 {
			break
		}
		clock.Step(500 * time.Millisecond)
	}

	if took := clock.Since(began); took != 10*time.Second {
		t.Errorf("due after %s, want 10 settle times", took)
	}
}
