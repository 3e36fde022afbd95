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
	// firstRetry and longRetry bound the wait after an eviction that was refused for now.
	firstRetry = 500 * time.Millisecond
	longRetry  = 5 * time.Second
	// evictionsAtOnce bounds the calls under way.
	evictionsAtOnce = 8
	// statusEvery is how often the progress is written at most, and statusShare the share of the time that the
	// writing may take: a large plan is a large object.
	statusEvery = 500 * time.Millisecond
	statusShare = 10
	// wakeEvery is how often planned pods are woken up although nothing changed.
	wakeEvery = time.Second
)

// activePlan is the plan being carried out.
type activePlan struct {
	record *packingplan.Record
	// partial says that pods were left to another plan.
	partial bool
	// passes is when the first of the reasons passes for which running pods are left alone for now.
	passes    time.Time
	execution *executor.Execution
	targets   map[types.UID]string
	// touched are the nodes that the plan's pods leave or arrive on.
	touched []string
	// expected is the fingerprint of the state that the plan leads to from the one in which the optimiser
	// made it: what has changed since is not in its proof. It is empty if that state is not known.
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
	// shortSince is since when room is lacking, by node.
	shortSince map[string]time.Time
	// adopted are the moves of which a former process had evicted the pod.
	adopted []types.UID
}

// carryOn takes the running plan as far as it goes now.
func (l *loop) carryOn(ctx context.Context) {
	c := l.current
	// First who has left, then the room: what has left is in it.
	l.noteGone(c)
	free, err := (*l.stage.Load()).FreeOn(ctx, c.touched)
	if err != nil {
		l.end(ctx, packingplan.Aborted, err.Error())
		return
	}
	progress := c.execution.Progress()
	switch {
	case l.abortAsked(c.record):
		l.end(ctx, packingplan.Aborted, messageAborted)
		return
	case progress.Done():
		l.end(ctx, packingplan.Completed, fmt.Sprintf("%d pods have their nodes", progress.Bound))
		return
	case !l.clock.Now().Before(c.deadline):
		l.end(ctx, packingplan.Aborted, fmt.Sprintf("timed out: %d pods had not arrived, %d not left",
			progress.Arrivals, progress.Departures))
		return
	}
	if hopeless := l.hopeless(c, progress, free); hopeless != "" {
		l.end(ctx, packingplan.Aborted, hopeless)
		return
	}
	if err := l.evictWave(ctx, c, free); err != nil {
		l.end(ctx, packingplan.Aborted, err.Error())
		return
	}
	l.wakePlanned(c, free)
	l.writeProgress(ctx, c)
}

// noteGone tells the execution which pods have left their nodes.
func (l *loop) noteGone(c *activePlan) {
	for _, pod := range c.execution.Leaving() {
		if !l.view.running(pod.Object) {
			c.execution.Gone(pod.Object.UID)
			c.dirty = true
		}
	}
}

// evictWave evicts what the execution says, as fast as the pace allows. An eviction that cannot be made now,
// since a disruption budget refuses it or nobody tells who leads, is tried again later; any other failure ends
// the plan.
func (l *loop) evictWave(ctx context.Context, c *activePlan, free map[string]resources.Vector) error {
	if l.clock.Now().Before(c.notBefore) {
		return nil
	}
	wave := c.execution.Next(free)
	for i := range wave {
		if !c.pace.AllowN(l.clock.Now(), 1) {
			wave = wave[:i]
			break
		}
	}
	if len(wave) == 0 {
		return nil
	}
	later, err := l.evictAll(ctx, c, wave)
	switch {
	case err != nil:
		return err
	case later != nil:
		c.notBefore = l.clock.Now().Add(c.retry)
		c.retry = min(2*c.retry, longRetry)
		l.planLogger(c.record).Info("Eviction refused for now", "reason", later.Error())
	default:
		c.retry = firstRetry
	}
	return nil
}

// evictAll evicts the pods side by side and notes what came of each. later is why some of them are to be tried again.
func (l *loop) evictAll(ctx context.Context, c *activePlan, wave []executor.Departure) (later, failed error) {
	if err := l.vouchForLead(ctx); err != nil {
		return err, nil
	}
	answers := make([]error, len(wave))
	var group errgroup.Group
	group.SetLimit(evictionsAtOnce)
	for i, departure := range wave {
		c.execution.Opened(departure.Pod.Object.UID)
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
			l.noteEvicted(c, departure, err == nil)
			continue
		case errors.Is(err, errLater):
			later = err
		default:
			failed = err
		}
		c.execution.Refused(departure.Pod.Object.UID)
	}
	return later, failed
}

// noteEvicted puts down that a pod leaves, by this process if it is ours.
func (l *loop) noteEvicted(c *activePlan, departure executor.Departure, ours bool) {
	pod := departure.Pod.Object
	c.execution.Evicted(pod.UID)
	c.dirty = true
	to := c.targets[pod.UID]
	l.planLogger(c.record).Info("Evicted a pod", "pod", podName(pod), "uid", pod.UID, "node", departure.Pod.Node,
		"to", to, "early", departure.Early, "gone", !ours)
	if !ours {
		return
	}
	if departure.Move {
		movesTotal.Inc()
	} else {
		evictionsTotal.Inc()
	}
	l.announceDeparture(c.record, departure, to)
}

// wakePlanned wakes up the pods that have an open place with room for them.
func (l *loop) wakePlanned(c *activePlan, free map[string]resources.Vector) {
	if now := l.clock.Now(); c.dirty || now.Sub(c.woken) >= wakeEvery {
		c.woken = now
	} else {
		return
	}
	reserved := l.inFlight.all()
	l.activate(c.execution.Ready(free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
}

func (l *loop) writeProgress(ctx context.Context, c *activePlan) {
	c.dirty = false
	began := l.clock.Now()
	if began.Sub(c.written) < max(statusEvery, statusShare*c.writing) || !describeProgress(&c.record.Status, c.execution.States()) {
		return
	}
	if err := l.write(ctx, c.record); err != nil {
		l.planLogger(c.record).Error(err, "The progress could not be written")
	}
	c.written = l.clock.Now()
	c.writing = c.written.Sub(began)
}

// end takes the state machine back to Idle. Everything the plan kept is let go.
func (l *loop) end(ctx context.Context, phase packingplan.Phase, message string) {
	c := l.current
	l.current = nil
	l.running.Store(nil)
	describeProgress(&c.record.Status, c.execution.States())
	c.record.Status.Set(packingplan.Executed, phase == packingplan.Completed, string(phase), message, l.clock.Now())
	if phase == packingplan.Completed {
		markBound(&c.record.Status, c.adopted)
	}
	switch {
	case phase != packingplan.Completed:
		l.trigger.failed()
	case c.record.Status.Optimal && c.expected != "" && !c.partial:
		l.memory.remember(c.expected, l.clock.Now().Add(provedFor))
		l.trigger.succeeded()
		if !c.passes.IsZero() {
			l.trigger.againAt(c.passes)
		}
	default:
		l.trigger.succeeded()
		l.trigger.again()
	}
	l.activate(l.keptOut.all())
	l.activate(c.execution.Waiting())
	l.finish(ctx, c.record, phase, message)
}
