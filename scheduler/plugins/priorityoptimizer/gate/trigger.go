package gate

import (
	"slices"
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

// TriggerType says what starts a solve. A PackingPlan created by a user starts one whatever it says.
type TriggerType string

const (
	// Manual solves only for PackingPlans that a user creates.
	Manual TriggerType = "Manual"
	// OnUnschedulable solves once no new pod has turned out unschedulable for the settle time.
	OnUnschedulable TriggerType = "OnUnschedulable"
	// Periodic solves every interval as long as there are unschedulable pods.
	Periodic TriggerType = "Periodic"
	// Batch holds every new pod until its batch is full or its time is up, and solves for all of them together; only
	// plans place pods. With the strategy boreas it is the scheduler of "Boreas - A Service Scheduler for Optimal
	// Kubernetes Deployment", section 3.
	Batch TriggerType = "Batch"
)

// Pace says what starts a solve, and how long one may hold pods back.
type Pace struct {
	Type TriggerType
	// Settle is the settle time of trigger OnUnschedulable.
	Settle time.Duration
	// Interval is the time between two solves of trigger Periodic, and the longest that a batch waits.
	Interval time.Duration
	// Pods is how many fill a batch (trigger Batch).
	Pods int
	// MaxHold is the longest hold, and MaxHoldShare the largest share of any minute in which pods are held.
	MaxHold      time.Duration
	MaxHoldShare float64
}

// Trigger keeps the pods that cannot be scheduled, and decides when to solve for them.
type Trigger struct {
	Pace
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
	// notBefore implements the back-off after so many consecutive solves that failed or, if fruitless, found nothing for
	// the marked pods.
	notBefore time.Time
	backOffs  int
	fruitless bool
	// pausedUntil bounds the share of time that is spent on solves.
	pausedUntil time.Time
	// retryTime is when a temporary obstacle for the marked pods ends; zero if there is none.
	retryTime time.Time
}

func NewTrigger(clock clock.PassiveClock, pace Pace) *Trigger {
	return &Trigger{Pace: pace, clock: clock, marked: sets.New[types.UID](), joined: map[types.UID]time.Time{},
		fresh: sets.New[types.UID](), exempted: sets.New[types.UID](), failedSignatures: sets.New[string](), next: clock.Now().Add(pace.Interval)}
}

// creationPrecision is that of the time at which an object was created.
const creationPrecision = time.Second

// Mark records an unschedulable pod and its scheduling signature. Only a pod that was not marked before extends the settle
// time, counted from its creation: a pod that fails again, or that has long waited in the queue, does not.
func (t *Trigger) Mark(uid types.UID, signature string, created time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNew := !t.marked.Has(uid)
	t.marked.Insert(uid)
	delete(t.joined, uid)
	t.failedSignatures.Insert(signature)
	now := t.clock.Now()
	if isNew && t.fruitless {
		t.endBackOff()
	}
	if t.first.IsZero() {
		t.first, t.last = now, now
	} else if isNew {
		t.settleFrom(created)
	}
}

// settleFrom postpones the solve until a settle time after a pod's creation.
func (t *Trigger) settleFrom(created time.Time) {
	t.last = latest(t.last, earliest(t.clock.Now(), created.Add(creationPrecision)))
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func earliest(times ...time.Time) time.Time { return slices.MinFunc(times, time.Time.Compare) }

// collect says whether only a plan may place the pod (trigger Batch). If so it adds the pod to the batch, unless it was in
// a former one.
func (t *Trigger) collect(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Type != Batch || t.exempted.Has(uid) {
		return false
	}
	if t.marked.Has(uid) {
		return true
	}
	t.marked.Insert(uid)
	t.fresh.Insert(uid)
	if t.fruitless {
		t.endBackOff()
	}
	t.last = t.clock.Now()
	if t.first.IsZero() {
		t.first = t.last
	}
	return true
}

// exempt makes a pod of a batch an ordinary one, as in the other triggers. It reports whether the pod was in a batch and
// none yet.
func (t *Trigger) exempt(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.marked.Has(uid) || t.exempted.Has(uid) {
		return false
	}
	t.exempted.Insert(uid)
	return true
}

func (t *Trigger) isExempt(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exempted.Has(uid)
}

// join marks an untried pod, if a pod with the same signature has found no node since the last solve and the next solve
// starts before the pod has waited for longest. It reports whether it did; a pod that did not join is tried.
func (t *Trigger) join(uid types.UID, signature string, created time.Time, longest time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	since, joined := t.joined[uid]
	delete(t.joined, uid)
	if t.Type != OnUnschedulable || !t.failedSignatures.Has(signature) || t.first.IsZero() || t.marked.Has(uid) && !joined {
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
func (t *Trigger) sinceJoined(uid types.UID) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock.Since(t.joined[uid])
}

// hasFailedSignatures says whether any pod has found no node since the last solve.
func (t *Trigger) hasFailedSignatures() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failedSignatures.Len() > 0
}

// unmark forgets a pod that was scheduled or is gone.
func (t *Trigger) unmark(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(uid)
}

func (t *Trigger) forget(uid types.UID) {
	t.marked.Delete(uid)
	delete(t.joined, uid)
	t.fresh.Delete(uid)
	t.exempted.Delete(uid)
}

// Due is when the next solve should start, if one should.
func (t *Trigger) Due() (at time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dueAt()
}

// IsDue says whether a solve should start now, IsDueSoon whether one should within the settle time of a burst.
func (t *Trigger) IsDue() bool     { return t.isDueWithin(0) }
func (t *Trigger) IsDueSoon() bool { return t.isDueWithin(settleAtMost * t.Settle) }

func (t *Trigger) isDueWithin(most time.Duration) bool {
	at, due := t.Due()
	return due && at.Sub(t.clock.Now()) <= most
}

func (t *Trigger) dueAt() (at time.Time, ok bool) {
	switch {
	case t.Type == OnUnschedulable && !t.first.IsZero():
		at = earliest(t.last.Add(t.Settle), t.first.Add(settleAtMost*t.Settle))
	case t.Type == Batch && t.fresh.Len() >= t.Pods:
		at = t.last
	case t.Type == Batch && t.fresh.Len() > 0:
		at = t.first.Add(t.Interval)
	case (t.Type == Periodic || t.Type == Batch) && t.marked.Len() > 0:
		at = t.next
	}
	if !t.retryTime.IsZero() && t.marked.Len() > 0 && (at.IsZero() || t.retryTime.Before(at)) {
		at = t.retryTime
	}
	if at.IsZero() {
		return time.Time{}, false
	}
	return latest(at, t.notBefore, t.pausedUntil), true
}

// IsPutOff says whether former solves put off the next one.
func (t *Trigger) IsPutOff() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clock.Now().Before(latest(t.notBefore, t.pausedUntil))
}

// Started records that a solve covers all marks so far.
func (t *Trigger) Started() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first, t.last = time.Time{}, time.Time{}
	t.fresh, t.failedSignatures = sets.New[types.UID](), sets.New[string]()
	now := t.clock.Now()
	t.next = now.Add(t.Interval)
	if !now.Before(t.retryTime) {
		t.retryTime = time.Time{}
	}
}

// RetryAt asks for another solve for the pods that are still marked then.
func (t *Trigger) RetryAt(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Type != Manual && (t.retryTime.IsZero() || at.Before(t.retryTime)) {
		t.retryTime = at
	}
}

// KeepOnly forgets the pods that no longer exist: a pod that is deleted during its cycle is marked after its deletion
// event.
func (t *Trigger) KeepOnly(there func(types.UID) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for uid := range t.marked {
		if !there(uid) {
			t.forget(uid)
		}
	}
}

// Retry asks for another solve for the pods that are still marked.
func (t *Trigger) Retry() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.marked.Len() == 0 {
		return
	}
	now := t.clock.Now()
	if t.Type == Batch {
		t.next = now
	} else if t.first.IsZero() {
		t.first, t.last = now, now
	}
}

// All are the marked pods.
func (t *Trigger) All() sets.Set[types.UID] {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.marked.Clone()
}

// IsMarked selects the pods that run or are marked now.
func (t *Trigger) IsMarked() func(*v1.Pod) bool {
	marked := t.All()
	return func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || marked.Has(pod.UID) }
}

// Failed backs off: 1 s, 2 s, 4 s and so on to a minute.
func (t *Trigger) Failed() {
	t.Retry()
	t.backOff(false)
}

// FoundNothing backs off in the same way, until a further pod is marked: a cluster that changes all the time is never in
// a remembered state, and still has no room for the pods.
func (t *Trigger) FoundNothing() { t.backOff(true) }

func (t *Trigger) backOff(fruitless bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fruitless != fruitless {
		t.fruitless, t.backOffs = fruitless, 0
	}
	// It is the longest from the seventh on.
	t.notBefore = t.clock.Now().Add(min(firstBackoff<<min(t.backOffs, 6), longBackoff))
	t.backOffs++
}

// Succeeded ends the back-off.
func (t *Trigger) Succeeded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.endBackOff()
}

func (t *Trigger) endBackOff() { t.backOffs, t.notBefore = 0, time.Time{} }

// Pause postpones the next solve for at least so long.
func (t *Trigger) Pause(least time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pausedUntil = latest(t.pausedUntil, t.clock.Now().Add(least))
}
