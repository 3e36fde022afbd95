package priorityoptimizer

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

const (
	// settleAtMost is how many settle times a steady stream of new pods can delay a solve.
	settleAtMost = 5
	firstBackoff = time.Second
	longBackoff  = time.Minute
)

// pace says how a trigger waits for more pods.
type pace struct {
	mode Mode
	// settle is the quiet time of mode OnUnschedulable.
	settle time.Duration
	// interval lies between two solves of mode Periodic, and is the most that a batch waits.
	interval time.Duration
	// batch is how many pods fill one (mode Batch).
	batch int
}

func paceOf(args *PriorityOptimizerArgs) pace {
	interval := *args.IntervalSeconds
	if args.Mode == ModeBatch {
		interval = *args.BatchSeconds
	}
	return pace{mode: args.Mode, settle: seconds(*args.SettleSeconds), interval: seconds(interval), batch: int(*args.BatchPods)}
}

// trigger knows the pods that cannot be scheduled and when it is time to solve for them.
type trigger struct {
	pace
	clock clock.PassiveClock

	mu     sync.Mutex
	marked sets.Set[types.UID]
	// first and last mark since the last solve; zero if there was none.
	first, last time.Time
	// fresh are the pods of the batch that is being collected.
	fresh sets.Set[types.UID]
	// next is when the next solve of the pods of former ones may start.
	next time.Time
	// notBefore is set after failures, so that a broken optimiser is not asked all the time.
	notBefore time.Time
	failures  int
}

func newTrigger(clock clock.PassiveClock, pace pace) *trigger {
	return &trigger{pace: pace, clock: clock, marked: sets.New[types.UID](), fresh: sets.New[types.UID](),
		next: clock.Now().Add(pace.interval)}
}

// mark takes note of an unschedulable pod. Only a pod that was not marked before extends the
// settle time: the same pod failing again is no news.
func (t *trigger) mark(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew := !t.marked.Has(uid)
	t.marked.Insert(uid)
	now := t.clock.Now()
	if t.first.IsZero() {
		t.first, t.last = now, now
	} else if isNew {
		t.last = now
	}
}

// collect takes a pod into the batch, unless it was in a former one.
func (t *trigger) collect(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marked.Has(uid) {
		return
	}
	t.marked.Insert(uid)
	t.fresh.Insert(uid)
	t.last = t.clock.Now()
	if t.first.IsZero() {
		t.first = t.last
	}
}

// unmark forgets a pod that was scheduled or is gone.
func (t *trigger) unmark(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marked.Delete(uid)
	t.fresh.Delete(uid)
}

// due is when the next solve should start, if one should.
func (t *trigger) due() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mode == ModeOnUnschedulable && !t.first.IsZero():
		at = t.last.Add(t.settle)
		if latest := t.first.Add(settleAtMost * t.settle); latest.Before(at) {
			at = latest
		}
	case t.mode == ModeBatch && t.fresh.Len() >= t.batch:
		at = t.last
	case t.mode == ModeBatch && t.fresh.Len() > 0:
		at = t.first.Add(t.interval)
	case (t.mode == ModePeriodic || t.mode == ModeBatch) && t.marked.Len() > 0:
		at = t.next
	default:
		return time.Time{}, false
	}
	if at.Before(t.notBefore) {
		at = t.notBefore
	}
	return at, true
}

// started takes note that a solve covers all marks so far.
func (t *trigger) started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first, t.last = time.Time{}, time.Time{}
	t.fresh = sets.New[types.UID]()
	t.next = t.clock.Now().Add(t.interval)
}

// again asks for another solve for the pods that are still marked.
func (t *trigger) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marked.Len() == 0 {
		return
	}
	now := t.clock.Now()
	if t.mode == ModeBatch {
		t.next = now
	} else if t.first.IsZero() {
		t.first, t.last = now, now
	}
}

// failed backs off: 1 s, 2 s, 4 s and so on to a minute.
func (t *trigger) failed() {
	t.again()
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := longBackoff
	if t.failures < 6 {
		wait = min(firstBackoff<<t.failures, longBackoff)
	}
	t.failures++
	t.notBefore = t.clock.Now().Add(wait)
}

// succeeded ends the back-off.
func (t *trigger) succeeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures, t.notBefore = 0, time.Time{}
}
