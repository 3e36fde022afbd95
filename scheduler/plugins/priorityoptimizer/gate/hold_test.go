package gate

import (
	"math/rand/v2"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// testHold may last as long as a test likes.
func testHold(clock *testingclock.FakeClock) *Hold {
	return &Hold{clock: clock, longest: time.Minute, budget: time.Minute,
		released: func() {}, Ended: func(time.Duration) {}}
}

// The timer of one hold must not end the next one.
func TestOldTimerDoesNotEndANewHold(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	h := testHold(clock)
	h.Begin(time.Second)
	old := h.deadline
	h.End()
	h.Begin(3 * time.Second)

	h.endIf(old)

	if !h.Active() {
		t.Error("the new hold ended")
	}
}

// The share of the time in which pods are held is read off a counter: the histogram counts pods, not time.
func TestTimeOfHoldsIsCounted(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	h, total := testHold(clock), time.Duration(0)
	h.Ended = func(held time.Duration) { total += held }

	h.Begin(2 * time.Second)
	clock.SetTime(clock.Now().Add(500 * time.Millisecond))
	h.End()
	h.Begin(time.Second)
	clock.SetTime(clock.Now().Add(3 * time.Second)) // nobody ended it
	h.End()

	if total != 1500*time.Millisecond {
		t.Errorf("counted %s of holds that lasted 0.5 s and 1 s", total)
	}
}

// Whatever is asked for, and however often: no hold lasts longer than the bound, and the holds in any minute no longer
// than the share.
func TestHoldsKeepTheirBoundAndTheirShareOfAnyMinute(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	random := rand.New(rand.NewPCG(7, 7))
	h := testHold(clock)
	h.longest, h.budget = 2*time.Second, 3*time.Second
	began, tick := clock.Now(), 50*time.Millisecond
	var held []bool
	longest, run := 0, 0
	for range 20 * 60 * 20 {
		switch random.IntN(30) {
		case 0:
			h.Begin(time.Duration(random.IntN(9000)) * time.Millisecond)
		case 1:
			h.End()
		}
		held = append(held, h.Active())
		run++
		if !h.Active() {
			run = 0
		}
		longest = max(longest, run)
		clock.SetTime(clock.Now().Add(tick))
	}
	most, window := 0, 0
	for i, one := range held {
		if one {
			window++
		}
		if i >= 1200 && held[i-1200] {
			window--
		}
		most = max(most, window)
	}

	if time.Duration(longest)*tick > 2*time.Second+tick || time.Duration(most)*tick > 3*time.Second+20*tick || most < 40 {
		t.Errorf("held for %s at a time, %s in a minute, in %s", time.Duration(longest)*tick, time.Duration(most)*tick, clock.Since(began))
	}
}
