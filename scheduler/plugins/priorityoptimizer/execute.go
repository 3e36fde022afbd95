package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// firstRetry and longRetry bound the wait after an eviction that was refused temporarily.
	firstRetry = 500 * time.Millisecond
	longRetry  = 5 * time.Second
	// evictionsAtOnce bounds the concurrent eviction calls.
	evictionsAtOnce = 8
	// statusEvery is the least time between two writes of the progress. Writing takes at most one part in statusShare
	// of the time: a large plan is a large object.
	statusEvery = 500 * time.Millisecond
	statusShare = 10
	// wakeEvery is how often the pods of a plan are activated although nothing changed.
	wakeEvery = time.Second
)

// activePlan is the plan being carried out.
type activePlan struct {
	record *packingplan.Record
	// partial says that pods were left to another plan.
	partial bool
	// nextChange is when the first of the rules that protect running pods only for now may end.
	nextChange time.Time
	execution  *executor.Execution
	targets    map[types.UID]string
	// touched are the nodes that the plan's pods leave or arrive on.
	touched []string
	// expected is the fingerprint of the state that the plan leads to from the snapshot that it was made for: the proof
	// does not cover later changes. It is empty if that snapshot is not known.
	expected string
	deadline time.Time
	// notBefore and retry implement the back-off after refused evictions.
	notBefore time.Time
	retry     time.Duration
	// written is when the progress was last written, and writing how long that took.
	written time.Time
	writing time.Duration
	woken   time.Time
	dirty   bool
	// nodes are the states that the nodes of the plan must keep.
	nodes map[string]string
	// progress was last seen to change at changed.
	progress executor.Progress
	changed  time.Time
	pace     *rate.Limiter
	// shortSince is since when a node has lacked room, by node.
	shortSince map[string]time.Time
	// adopted are the moves whose pod a former process had evicted.
	adopted []types.UID
}

// advance carries the active plan out as far as is possible now.
func (l *loop) advance(ctx context.Context) {
	active := l.active
	// First the pods that have left, then the room: it must include what they took.
	l.noteGone(active)
	free, err := (*l.rehearser.Load()).FreeOn(ctx, active.touched)
	if err != nil {
		l.endPlan(ctx, packingplan.Aborted, err.Error())
		return
	}
	progress := active.execution.Progress()
	switch {
	case l.abortRequested(active.record):
		l.endPlan(ctx, packingplan.Aborted, messageAborted)
		return
	case progress.Done():
		l.endPlan(ctx, packingplan.Completed, fmt.Sprintf("%d pods have their nodes", progress.Bound))
		return
	case !l.clock.Now().Before(active.deadline):
		l.endPlan(ctx, packingplan.Aborted, fmt.Sprintf("timed out: %d pods had not arrived, %d not left",
			progress.Arrivals, progress.Departures))
		return
	}
	if reason := l.infeasible(active, progress, free); reason != "" {
		l.endPlan(ctx, packingplan.Aborted, reason)
		return
	}
	if err := l.evictWave(ctx, active, free); err != nil {
		l.endPlan(ctx, packingplan.Aborted, err.Error())
		return
	}
	l.wakePlanned(active, free)
	l.writeProgress(ctx, active)
}

// noteGone reports to the execution which pods have left their nodes.
func (l *loop) noteGone(active *activePlan) {
	for _, pod := range active.execution.Leaving() {
		if !l.view.running(pod.Object) {
			active.execution.Gone(pod.Object.UID)
			active.dirty = true
		}
	}
}

// evictWave evicts the pods that the execution names, as fast as the rate limit allows. An eviction that is not possible
// now, because a disruption budget refuses it or the lease cannot be checked, is tried again later. Any other failure
// ends the plan.
func (l *loop) evictWave(ctx context.Context, active *activePlan, free map[string]resources.Vector) error {
	if l.clock.Now().Before(active.notBefore) {
		return nil
	}
	wave := active.execution.Next(free)
	for i := range wave {
		if !active.pace.AllowN(l.clock.Now(), 1) {
			wave = wave[:i]
			break
		}
	}
	if len(wave) == 0 {
		return nil
	}
	later, err := l.evictAll(ctx, active, wave)
	switch {
	case err != nil:
		return err
	case later != nil:
		active.notBefore = l.clock.Now().Add(active.retry)
		active.retry = min(2*active.retry, longRetry)
		l.planLogger(active.record).Info("Eviction refused for now", "reason", later.Error())
	default:
		active.retry = firstRetry
	}
	return nil
}

// evictAll evicts the pods concurrently and records each result. later is why some of them must be tried again.
func (l *loop) evictAll(ctx context.Context, active *activePlan, wave []executor.Departure) (later, failed error) {
	if err := l.checkLeadCached(ctx); err != nil {
		return err, nil
	}
	answers := make([]error, len(wave))
	var group errgroup.Group
	group.SetLimit(evictionsAtOnce)
	for i, departure := range wave {
		active.execution.Opened(departure.Pod.Object.UID)
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, apiTimeout)
			defer cancel()
			answers[i] = l.evictor.evict(ctx, departure.Pod.Object)
			return nil
		})
	}
	_ = group.Wait() // every answer is looked at
	for i, departure := range wave {
		switch err := answers[i]; {
		case err == nil, errors.Is(err, errGone):
			l.noteEvicted(active, departure, err == nil)
			continue
		case errors.Is(err, errLater):
			later = err
		default:
			failed = err
		}
		active.execution.Refused(departure.Pod.Object.UID)
	}
	return later, failed
}

// noteEvicted records that a pod leaves; ours says that this process evicted it.
func (l *loop) noteEvicted(active *activePlan, departure executor.Departure, ours bool) {
	pod := departure.Pod.Object
	active.execution.Evicted(pod.UID)
	active.dirty = true
	to := active.targets[pod.UID]
	l.planLogger(active.record).Info("Evicted a pod", "pod", podName(pod), "uid", pod.UID, "node", departure.Pod.Node,
		"to", to, "early", departure.Early, "gone", !ours)
	if !ours {
		return
	}
	if departure.Move {
		movesTotal.Inc()
	} else {
		evictionsTotal.Inc()
	}
	l.announceDeparture(active.record, departure, to)
}

// wakePlanned activates the pods that have an open place with room for them.
func (l *loop) wakePlanned(active *activePlan, free map[string]resources.Vector) {
	if now := l.clock.Now(); active.dirty || now.Sub(active.woken) >= wakeEvery {
		active.woken = now
	} else {
		return
	}
	reserved := l.inFlight.all()
	l.activate(active.execution.Ready(free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
}

func (l *loop) writeProgress(ctx context.Context, active *activePlan) {
	active.dirty = false
	began := l.clock.Now()
	if began.Sub(active.written) < max(statusEvery, statusShare*active.writing) ||
		!describeProgress(&active.record.Status, active.execution.States()) {
		return
	}
	if err := l.write(ctx, active.record); err != nil {
		l.planLogger(active.record).Error(err, "The progress could not be written")
	}
	active.written = l.clock.Now()
	active.writing = active.written.Sub(began)
}

// endPlan returns the state machine to Idle and releases everything that the plan held.
func (l *loop) endPlan(ctx context.Context, phase packingplan.Phase, message string) {
	active := l.active
	l.active = nil
	l.execution.Store(nil)
	describeProgress(&active.record.Status, active.execution.States())
	active.record.Status.Set(packingplan.Executed, phase == packingplan.Completed, string(phase), message, l.clock.Now())
	if phase == packingplan.Completed {
		markBound(&active.record.Status, active.adopted)
	}
	switch {
	case phase != packingplan.Completed:
		l.trigger.failed()
	case active.record.Status.Optimal && active.expected != "" && !active.partial:
		l.solvedStates.add(active.expected, l.clock.Now().Add(provedFor))
		l.trigger.succeeded()
		if !active.nextChange.IsZero() {
			l.trigger.retryAt(active.nextChange)
		}
	default:
		l.trigger.succeeded()
		l.trigger.retry()
	}
	l.activate(l.keptOut.all())
	l.activate(active.execution.Waiting())
	l.finish(ctx, active.record, phase, message)
}
