package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// firstRetry and longRetry bound the wait after an eviction that was refused temporarily.
	firstRetry = 500 * time.Millisecond
	longRetry  = 5 * time.Second
	// evictionsAtOnce is how many calls to evict a pod a process makes at a time.
	evictionsAtOnce = 8
	// statusEvery is the least time between two writes of the progress. Writing takes at most one part in statusShare
	// of the time: a large plan is a large object.
	statusEvery = 500 * time.Millisecond
	statusShare = 10
	// wakeEvery is how often the pods of a plan are activated although nothing changed.
	wakeEvery = time.Second
)

// planExecution is a plan that is being carried out.
type planExecution struct {
	*executor.Execution
	plugin  *Plugin
	args    *PriorityOptimizerArgs
	clock   clock.PassiveClock
	records *planRecords
	evictor evictor
	// atOnce bounds the concurrent eviction calls.
	atOnce int

	record *packingplan.Record
	// nextChange is when the first of the rules that protect running pods only for now may end.
	nextChange time.Time
	// touched are the nodes that the plan's pods leave or arrive on.
	touched []string
	// expected is the fingerprint of the state that the plan leads to from the snapshot that it was made for: the proof
	// does not cover later changes. It is empty if that snapshot is not known.
	expected string
	deadline time.Time
	// notBefore and retry implement the back-off after refused evictions.
	notBefore time.Time
	retry     time.Duration
	// refused is why an eviction of the last wave must be tried again; empty if none must.
	refused string
	written progressWriter
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
	// adopted are the moves of the record whose pod a former process had evicted.
	adopted []*packingplan.Step
	// emptying is nil unless the plan consolidates.
	emptying *emptying
}

// advance carries the plan out as far as is possible now. It returns how the plan ends, or nil.
func (e *planExecution) advance(ctx context.Context) *ending {
	// First the pods that have left, then the room: it must include what they took.
	e.noteGone()
	free, err := (*e.plugin.rehearser.Load()).Free(ctx, e.touched...)
	if err != nil {
		return &ending{packingplan.Aborted, err.Error()}
	}
	progress := e.Progress()
	switch {
	case e.records.abortRequested(e.record):
		return &ending{packingplan.Aborted, messageAborted}
	case progress.Done():
		return &ending{packingplan.Completed, fmt.Sprintf("%d pods have their nodes", progress.Bound)}
	case !e.clock.Now().Before(e.deadline):
		return &ending{packingplan.Aborted, fmt.Sprintf("timed out: %d pods had not arrived, %d not left%s",
			progress.Arrivals, progress.Departures, e.awaited())}
	}
	if reason := e.infeasible(progress, free); reason != "" {
		return &ending{packingplan.Aborted, reason}
	}
	if e.emptying != nil && !e.emptying.marked {
		end, ready := e.emptying.begin(ctx)
		if !ready {
			return end
		}
		for _, name := range e.record.Status.Consolidation.OpenNodes() {
			e.record.Status.Consolidation.Of(name).State = packingplan.NodeEmptying
		}
	}
	if err := e.evictWave(ctx, free); err != nil {
		return &ending{packingplan.Aborted, err.Error()}
	}
	e.wakePlanned(free)
	e.writeProgress(ctx)
	return nil
}

// noteGone reports to the execution which pods have left their nodes.
func (e *planExecution) noteGone() {
	for _, pod := range e.Leaving() {
		if !e.plugin.view.running(pod.Object) {
			e.Gone(pod.Object.UID)
			e.dirty = true
		}
	}
}

// evictWave evicts the pods that the execution names, as fast as the rate limit allows. An eviction that is not possible
// now, because a disruption budget refuses it or the lease cannot be checked, is tried again later. Any other failure
// ends the plan.
func (e *planExecution) evictWave(ctx context.Context, free map[string]resources.Vector) error {
	if e.clock.Now().Before(e.notBefore) {
		return nil
	}
	wave := e.Next(free)
	for i := range wave {
		if !e.pace.AllowN(e.clock.Now(), 1) {
			wave = wave[:i]
			break
		}
	}
	if len(wave) == 0 {
		return nil
	}
	later, err := e.evictAll(ctx, wave)
	switch {
	case err != nil:
		return err
	case later != nil:
		e.notBefore, e.refused = e.clock.Now().Add(e.retry), later.Error()
		e.retry = min(2*e.retry, longRetry)
		e.records.logger(e.record).Info("Eviction refused for now", "reason", later.Error())
	default:
		e.retry, e.refused = firstRetry, ""
	}
	return nil
}

// evictAll evicts the pods concurrently and records each result. later is why some of them must be tried again.
func (e *planExecution) evictAll(ctx context.Context, wave []executor.Departure) (later, failed error) {
	if err := e.plugin.lead.checkCached(ctx); err != nil {
		return err, nil
	}
	answers := make([]error, len(wave))
	var group errgroup.Group
	group.SetLimit(e.atOnce)
	for i, departure := range wave {
		e.Opened(departure.Pod.Object.UID)
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, apiTimeout)
			defer cancel()
			answers[i] = e.evictor.evict(ctx, departure.Pod.Object)
			return nil
		})
	}
	_ = group.Wait() // every answer is looked at
	for i, departure := range wave {
		switch err := answers[i]; {
		case err == nil, errors.Is(err, errGone):
			e.noteEvicted(departure, err == nil)
			continue
		case errors.Is(err, errLater):
			later = err
		default:
			failed = err
		}
		refusedEvictionsTotal.WithLabelValues(refusalLabel(answers[i])).Inc()
		e.Refused(departure.Pod.Object.UID)
	}
	return later, failed
}

// noteEvicted records that a pod leaves; ours says that this process evicted it.
func (e *planExecution) noteEvicted(departure executor.Departure, ours bool) {
	pod := departure.Pod.Object
	e.Evicted(pod.UID)
	e.dirty = true
	to := e.Target(pod.UID)
	e.records.logger(e.record).Info("Evicted a pod", "pod", podName(pod), "uid", pod.UID, "node", departure.Pod.Node,
		"to", to, "early", departure.Early, "gone", !ours)
	if !ours {
		return
	}
	if departure.Move {
		movesTotal.Inc()
	} else {
		evictionsTotal.Inc()
	}
	e.announce(departure, to)
}

// wakePlanned activates the pods that have an open place with room for them.
func (e *planExecution) wakePlanned(free map[string]resources.Vector) {
	if now := e.clock.Now(); e.dirty || now.Sub(e.woken) >= wakeEvery {
		e.woken = now
	} else {
		return
	}
	reserved := e.plugin.InFlight.All()
	e.plugin.Activate(e.Ready(free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
}

func (e *planExecution) writeProgress(ctx context.Context) {
	e.dirty = false
	if e.written.due(e.clock.Now()) && describeProgress(&e.record.Status, e.States(), e.Targets()) {
		e.written.write(ctx, e.clock, e.records, e.record)
	}
}

// progressWriter bounds how often progress is written. at is when it was last written, took how long that took.
type progressWriter struct {
	at   time.Time
	took time.Duration
}

func (w *progressWriter) due(now time.Time) bool {
	return now.Sub(w.at) >= max(statusEvery, statusShare*w.took)
}

func (w *progressWriter) write(ctx context.Context, clock clock.PassiveClock, records *planRecords, record *packingplan.Record) {
	began := clock.Now()
	if err := records.write(ctx, record); err != nil {
		records.logger(record).Error(err, "The progress could not be written")
	}
	w.at = clock.Now()
	w.took = w.at.Sub(began)
}

// announce records an event that says why a pod was evicted.
func (e *planExecution) announce(departure executor.Departure, to string) {
	if e.records.recorder == nil {
		return
	}
	pod := departure.Pod.Object
	if departure.Move {
		e.records.recorder.Eventf(pod, e.record.Reference(), v1.EventTypeNormal, "MovedByPlan", "Evict",
			"evicted from %s by plan %s; its replacement goes to %s", departure.Pod.Node, e.record.Name(), to)
		return
	}
	e.records.recorder.Eventf(pod, e.record.Reference(), v1.EventTypeNormal, "EvictedByPlan", "Evict",
		"evicted from %s by plan %s for pods of higher priority", departure.Pod.Node, e.record.Name())
}

// isProved says that no improvement is possible in the state that the completed plan leads to.
func (e *planExecution) isProved() bool {
	return e.record.Status.Optimal && e.expected != ""
}

// conclude puts the end of the plan into its status.
func (e *planExecution) conclude(ctx context.Context, end *ending) {
	describeProgress(&e.record.Status, e.States(), e.Targets())
	e.record.Status.Set(packingplan.Executed, end.phase == packingplan.Completed, string(end.phase), end.message, e.clock.Now())
	if end.phase == packingplan.Completed {
		for _, move := range e.adopted {
			move.State = packingplan.Bound
		}
	}
	if e.emptying != nil {
		e.emptying.settle(ctx, end.message)
	}
}

const (
	// minShortage is how long room must be lacking before the plan is aborted for it.
	minShortage = time.Second
	// vanishedAfter is how long a plan waits for a controller to replace waiting pods that are gone.
	vanishedAfter = 5 * time.Second
)

// statesOf are the states of the nodes that the plan sends pods to.
func statesOf(now *snapshot.Snapshot, targets map[types.UID]string) map[string]string {
	states := map[string]string{}
	for _, node := range targets {
		if node != "" {
			states[node] = now.Nodes[node].State
		}
	}
	return states
}

// infeasible is why the rest of the plan can no longer be carried out, or "". To continue would only disrupt more pods.
func (e *planExecution) infeasible(progress executor.Progress, free map[string]resources.Vector) string {
	now := e.clock.Now()
	if progress != e.progress {
		e.progress, e.changed = progress, now
	}
	if now.Sub(e.changed) >= vanishedAfter && e.GiveUpVanished() > 0 {
		return ""
	}
	if reason := e.stalled(progress, now.Sub(e.changed)); reason != "" {
		return reason
	}
	outstanding := e.Outstanding()
	for node := range outstanding {
		state, err := e.plugin.view.nodeState(node)
		switch {
		case err != nil:
			return fmt.Sprintf("node %q, which the plan sends pods to, is gone", node)
		case state != e.nodes[node]:
			return fmt.Sprintf("node %q, which the plan sends pods to, was changed", node)
		}
	}
	return e.missingRoom(outstanding, free, now)
}

// stalled says whom the plan has waited for in vain, or "". Pods that are leaving get their grace period on top.
func (e *planExecution) stalled(progress executor.Progress, idle time.Duration) string {
	timeout := seconds(e.args.StepTimeoutSeconds) + e.LongestGrace()
	if idle < timeout {
		return ""
	}
	hint := "did their controllers create replacements?"
	if limited := e.Limited(); limited > 0 {
		if progress.Starting > 0 {
			timeout = max(timeout, seconds(e.args.ReadyTimeoutSeconds))
		}
		if idle < timeout {
			return ""
		}
		hint = fmt.Sprintf("%d moves wait, since %d pods of their workload are away or not ready (maxUnavailablePerWorkload); %s",
			limited, e.args.Limits.MaxUnavailablePerWorkload, hint)
	}
	if e.refused != "" {
		hint = e.refused
	}
	return fmt.Sprintf("no step was done for %s: %d pods had not arrived, %d not left%s; %s",
		timeout, progress.Arrivals, progress.Departures, e.awaited(), hint)
}

// awaited names the replacements that the plan waits for until they are ready, for a message.
func (e *planExecution) awaited() string {
	pods := e.Starting()
	if len(pods) == 0 {
		return ""
	}
	others := ""
	if len(pods) > 1 {
		others = fmt.Sprintf(" and %d others", len(pods)-1)
	}
	return fmt.Sprintf(", %s on node %q%s not ready", podName(pods[0]), pods[0].Spec.NodeName, others)
}

// missingRoom says which room the plan lacks, or "". The free room and the plan's places are read one after the other,
// so a pod that is just being bound, or whose binding just failed, may count twice. So room must be lacking for a while.
func (e *planExecution) missingRoom(outstanding, free map[string]resources.Vector, now time.Time) string {
	room := e.RoomToCome()
	since := map[string]time.Time{}
	for node, needed := range outstanding {
		short := needed.ShortOf(free[node].Plus(room[node]))
		if short == "" {
			continue
		}
		began, before := e.shortSince[node]
		if !before {
			began = now
		}
		if now.Sub(began) >= minShortage {
			return fmt.Sprintf("node %q has too little %s left for the pods that the plan sends there", node, short)
		}
		since[node] = began
	}
	e.shortSince = since
	return ""
}
