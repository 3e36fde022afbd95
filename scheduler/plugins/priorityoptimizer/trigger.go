package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

const (
	// settleAtMost is how many settle times a steady stream of new pods can delay a solve.
	settleAtMost = 10
	firstBackoff = time.Second
	longBackoff  = time.Minute
)

// pace says how a trigger waits for more pods.
type pace struct {
	kind TriggerKind
	// settle is the settle time of trigger OnUnschedulable.
	settle time.Duration
	// interval is the time between two solves of trigger Periodic, and the longest that a batch waits.
	interval time.Duration
	// batch is how many pods fill one (trigger Batch).
	batch int
}

func paceOf(args *PriorityOptimizerArgs) pace {
	interval := args.IntervalSeconds
	if args.Trigger == TriggerBatch {
		interval = args.BatchSeconds
	}
	return pace{kind: args.Trigger, settle: seconds(args.SettleSeconds), interval: seconds(interval), batch: int(args.BatchPods)}
}

// trigger keeps the pods that cannot be scheduled, and decides when to solve for them.
type trigger struct {
	pace
	clock clock.PassiveClock

	mu     sync.Mutex
	marked sets.Set[types.UID]
	// failedSignatures are the scheduling signatures of the pods that found no node since the last solve.
	failedSignatures sets.Set[string]
	// first and last mark since the last solve; zero if there was none.
	first, last time.Time
	// joined is since when pods wait, untried, for the next solve.
	joined map[types.UID]time.Time
	// fresh are the pods of the batch that is being collected.
	fresh sets.Set[types.UID]
	// exempted are the pods that are scheduled without a plan although the trigger is Batch.
	exempted sets.Set[types.UID]
	// next is when the next solve of the pods of former ones may start.
	next time.Time
	// notBefore implements the back-off after failures.
	notBefore time.Time
	failures  int
	// fruitless counts the consecutive solves that found nothing for the marked pods.
	fruitless int
	// pausedUntil bounds the share of time that is spent on solves.
	pausedUntil time.Time
	// retryTime is when a temporary obstacle for the marked pods ends; zero if there is none.
	retryTime time.Time
}

func newTrigger(clock clock.PassiveClock, pace pace) *trigger {
	return &trigger{pace: pace, clock: clock, marked: sets.New[types.UID](), joined: map[types.UID]time.Time{},
		fresh: sets.New[types.UID](), exempted: sets.New[types.UID](), failedSignatures: sets.New[string](), next: clock.Now().Add(pace.interval)}
}

// creationPrecision is that of the time at which an object was created.
const creationPrecision = time.Second

// mark records an unschedulable pod and its scheduling signature. Only a pod that was not marked before extends the settle
// time, counted from its creation: a pod that fails again, or that has long waited in the queue, does not.
func (t *trigger) mark(uid types.UID, signature string, created time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew := !t.marked.Has(uid)
	t.marked.Insert(uid)
	delete(t.joined, uid)
	t.failedSignatures.Insert(signature)
	now := t.clock.Now()
	if isNew {
		t.endBackOff()
	}
	if t.first.IsZero() {
		t.first, t.last = now, now
	} else if isNew {
		t.settleFrom(created)
	}
}

// settleFrom postpones the solve until a settle time after a pod's creation.
func (t *trigger) settleFrom(created time.Time) {
	from := t.clock.Now()
	if latest := created.Add(creationPrecision); latest.Before(from) {
		from = latest
	}
	if from.After(t.last) {
		t.last = from
	}
}

// collect says whether only a plan may place the pod (trigger Batch). If so it adds the pod to the batch, unless it was in
// a former one.
func (t *trigger) collect(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kind != TriggerBatch || t.exempted.Has(uid) {
		return false
	}
	if t.marked.Has(uid) {
		return true
	}
	t.marked.Insert(uid)
	t.fresh.Insert(uid)
	t.endBackOff()
	t.last = t.clock.Now()
	if t.first.IsZero() {
		t.first = t.last
	}
	return true
}

// exempt makes a pod of a batch an ordinary one, as in the other triggers. It reports whether the pod was in a batch and
// none yet.
func (t *trigger) exempt(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked.Has(uid) || t.exempted.Has(uid) {
		return false
	}
	t.exempted.Insert(uid)
	return true
}

func (t *trigger) isExempt(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exempted.Has(uid)
}

// join marks an untried pod, if a pod with the same signature has found no node since the last solve and the next solve
// starts before the pod has waited for longest. It reports whether it did; a pod that did not join is tried.
func (t *trigger) join(uid types.UID, signature string, created time.Time, longest time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, joined := t.joined[uid]
	delete(t.joined, uid)
	if t.kind != TriggerOnUnschedulable || !t.failedSignatures.Has(signature) || t.first.IsZero() || t.marked.Has(uid) && !joined {
		return false
	}
	last, now := t.last, t.clock.Now()
	if !joined {
		since = now
		t.settleFrom(created)
	}
	if at, ok := t.dueAt(); !ok || at.Sub(since) > longest || now.Sub(since) >= longest {
		t.last = last
		return false
	}
	t.marked.Insert(uid)
	t.joined[uid] = since
	return true
}

// sinceJoined is how long a pod has waited, untried, for the next solve.
func (t *trigger) sinceJoined(uid types.UID) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock.Since(t.joined[uid])
}

// hasFailedSignatures says whether any pod has found no node since the last solve.
func (t *trigger) hasFailedSignatures() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failedSignatures.Len() > 0
}

// unmark forgets a pod that was scheduled or is gone.
func (t *trigger) unmark(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(uid)
}

func (t *trigger) forget(uid types.UID) {
	t.marked.Delete(uid)
	delete(t.joined, uid)
	t.fresh.Delete(uid)
	t.exempted.Delete(uid)
}

// due is when the next solve should start, if one should.
func (t *trigger) due() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dueAt()
}

func (t *trigger) dueAt() (at time.Time, ok bool) {
	switch {
	case t.kind == TriggerOnUnschedulable && !t.first.IsZero():
		at = t.last.Add(t.settle)
		if latest := t.first.Add(settleAtMost * t.settle); latest.Before(at) {
			at = latest
		}
	case t.kind == TriggerBatch && t.fresh.Len() >= t.batch:
		at = t.last
	case t.kind == TriggerBatch && t.fresh.Len() > 0:
		at = t.first.Add(t.interval)
	case (t.kind == TriggerPeriodic || t.kind == TriggerBatch) && t.marked.Len() > 0:
		at = t.next
	}
	if !t.retryTime.IsZero() && t.marked.Len() > 0 && (at.IsZero() || t.retryTime.Before(at)) {
		at = t.retryTime
	}
	if at.IsZero() {
		return time.Time{}, false
	}
	if at.Before(t.notBefore) {
		at = t.notBefore
	}
	if at.Before(t.pausedUntil) {
		at = t.pausedUntil
	}
	return at, true
}

// isPutOff says whether former solves put off the next one.
func (t *trigger) isPutOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	return now.Before(t.notBefore) || now.Before(t.pausedUntil)
}

// started records that a solve covers all marks so far.
func (t *trigger) started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first, t.last = time.Time{}, time.Time{}
	t.fresh, t.failedSignatures = sets.New[types.UID](), sets.New[string]()
	now := t.clock.Now()
	t.next = now.Add(t.interval)
	if !now.Before(t.retryTime) {
		t.retryTime = time.Time{}
	}
}

// retryAt asks for another solve for the pods that are still marked then.
func (t *trigger) retryAt(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kind != TriggerManual && (t.retryTime.IsZero() || at.Before(t.retryTime)) {
		t.retryTime = at
	}
}

// keepOnly forgets the pods that no longer exist: a pod that is deleted during its cycle is marked after its deletion
// event.
func (t *trigger) keepOnly(there func(types.UID) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid := range t.marked {
		if !there(uid) {
			t.forget(uid)
		}
	}
}

// retry asks for another solve for the pods that are still marked.
func (t *trigger) retry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marked.Len() == 0 {
		return
	}
	now := t.clock.Now()
	if t.kind == TriggerBatch {
		t.next = now
	} else if t.first.IsZero() {
		t.first, t.last = now, now
	}
}

// all are the marked pods.
func (t *trigger) all() sets.Set[types.UID] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marked.Clone()
}

// isMarked selects the pods that run or are marked now.
func (t *trigger) isMarked() func(*v1.Pod) bool {
	marked := t.all()
	return func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || marked.Has(pod.UID) }
}

// failed backs off: 1 s, 2 s, 4 s and so on to a minute.
func (t *trigger) failed() {
	t.retry()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fruitless = 0
	t.backOff(t.failures)
	t.failures++
}

// succeeded ends the back-off.
func (t *trigger) succeeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures, t.fruitless, t.notBefore = 0, 0, time.Time{}
}

// foundNothing backs off in the same way, until a further pod is marked: a cluster that changes all the time is never in
// a remembered state, and still has no room for the pods.
func (t *trigger) foundNothing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = 0
	t.backOff(t.fruitless)
	t.fruitless++
}

// endBackOff ends the back-off after fruitless solves.
func (t *trigger) endBackOff() {
	if t.fruitless > 0 {
		t.fruitless, t.notBefore = 0, time.Time{}
	}
}

func (t *trigger) backOff(times int) {
	wait := longBackoff
	if times < 6 {
		wait = min(firstBackoff<<times, longBackoff)
	}
	t.notBefore = t.clock.Now().Add(wait)
}

// pause postpones the next solve for at least so long.
func (t *trigger) pause(least time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := t.clock.Now().Add(least); until.After(t.pausedUntil) {
		t.pausedUntil = until
	}
}
