package execution

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// firstRetry and longRetry bound the wait after an eviction that was refused temporarily.
	firstRetry = 500 * time.Millisecond
	longRetry  = 5 * time.Second
	// EvictionsAtOnce is how many calls to evict a pod a process makes at a time.
	EvictionsAtOnce = 8
	// statusEvery is the least time between two writes of the progress. Writing takes at most one part in statusShare
	// of the time: a large plan is a large object.
	statusEvery = 500 * time.Millisecond
	statusShare = 10
	// wakeEvery is how often the pods of a plan are activated although nothing changed.
	wakeEvery = time.Second
)

// Placing is a plan that is being carried out.
type Placing struct {
	*executor.Execution
	*Runner
	evictor evictor

	Record *packingplan.Record
	// NextChange is when the first of the rules that protect running pods only for now may end.
	NextChange time.Time
	// touched are the nodes that the plan's pods leave or arrive on.
	touched []string
	// Expected is the fingerprint of the state that the plan leads to from the snapshot that it was made for: the proof
	// does not cover later changes. It is empty if that snapshot is not known.
	Expected string
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

// Place begins to carry out a plan whose pods this scheduler places. The execution is that of the plan checked on the
// snapshot, and after are the nodes that pods have when it is done.
func (r *Runner) Place(record *packingplan.Record, rules snapshot.Rules, now *snapshot.Snapshot, checked *plan.Plan,
	execution *executor.Execution, after map[types.UID]string,
) *Placing {
	e := &Placing{Execution: execution, Runner: r, evictor: r.evictorFor(rules), Record: record,
		nodes: statesOf(now, after), touched: checked.Nodes(), dirty: true, retry: firstRetry,
		changed: r.Clock.Now(), pace: r.Args.Limits.Pace(), deadline: r.Clock.Now().Add(timeoutFor(checked, r.Args))}
	if record.Consolidates() {
		e.emptying = &emptying{Runner: r, Record: record}
	}
	return e
}

// Advance carries the plan out as far as is possible now. It returns how the plan ends, or nil.
func (e *Placing) Advance(ctx context.Context) *records.Ending {
	// First the pods that have left, then the room: it must include what they took.
	e.noteGone()
	free, err := e.Free(ctx, e.touched...)
	if err != nil {
		return records.End(packingplan.Aborted, err.Error())
	}
	progress := e.Progress()
	switch {
	case e.Records.AbortRequested(e.Record):
		return records.End(packingplan.Aborted, records.MessageAborted)
	case progress.Done():
		return records.End(packingplan.Completed, fmt.Sprintf("%d pods have their nodes", progress.Bound))
	case !e.Clock.Now().Before(e.deadline):
		return records.End(packingplan.Aborted, fmt.Sprintf("timed out: %d pods had not arrived, %d not left%s",
			progress.Arrivals, progress.Departures, e.awaited()))
	}
	if reason := e.infeasible(progress, free); reason != "" {
		return records.End(packingplan.Aborted, reason)
	}
	if e.emptying != nil && !e.emptying.marked {
		end, ready := e.emptying.begin(ctx)
		if !ready {
			return end
		}
		for _, name := range e.Record.Status.Consolidation.OpenNodes() {
			e.Record.Status.Consolidation.Of(name).State = packingplan.NodeEmptying
		}
	}
	if err := e.evictWave(ctx, free); err != nil {
		return records.End(packingplan.Aborted, err.Error())
	}
	e.wakePlanned(free)
	e.writeProgress(ctx)
	return nil
}

// noteGone reports to the execution which pods have left their nodes.
func (e *Placing) noteGone() {
	for _, pod := range e.Leaving() {
		if !e.View.Running(pod.Object) {
			e.Gone(pod.Object.UID)
			e.dirty = true
		}
	}
}

// evictWave evicts the pods that the execution names, as fast as the rate limit allows. An eviction that is not possible
// now, because a disruption budget refuses it or the lease cannot be checked, is tried again later. Any other failure
// ends the plan.
func (e *Placing) evictWave(ctx context.Context, free map[string]resources.Vector) error {
	if e.Clock.Now().Before(e.notBefore) {
		return nil
	}
	wave := e.Next(free)
	for i := range wave {
		if !e.pace.AllowN(e.Clock.Now(), 1) {
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
		e.notBefore, e.refused = e.Clock.Now().Add(e.retry), later.Error()
		e.retry = min(2*e.retry, longRetry)
		e.Records.Logger(e.Record).Info("Eviction refused for now", "reason", later.Error())
	default:
		e.retry, e.refused = firstRetry, ""
	}
	return nil
}

// evictAll evicts the pods concurrently and records each result. later is why some of them must be tried again.
func (e *Placing) evictAll(ctx context.Context, wave []executor.Departure) (later, failed error) {
	if err := e.Records.Lead.CheckCached(ctx); err != nil {
		return err, nil
	}
	answers := make([]error, len(wave))
	var group errgroup.Group
	group.SetLimit(e.AtOnce)
	for i, departure := range wave {
		e.Opened(departure.Pod.Object.UID)
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, records.APITimeout)
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
		metrics.RefusedEvictionsTotal.WithLabelValues(refusalLabel(answers[i])).Inc()
		e.Refused(departure.Pod.Object.UID)
	}
	return later, failed
}

// noteEvicted records that a pod leaves; ours says that this process evicted it.
func (e *Placing) noteEvicted(departure executor.Departure, ours bool) {
	pod := departure.Pod.Object
	e.Evicted(pod.UID)
	e.dirty = true
	e.Records.Logger(e.Record).Info("Evicted a pod", "pod", klog.KObj(pod), "uid", pod.UID, "node", departure.Pod.Node,
		"to", departure.To, "early", departure.Early, "gone", !ours)
	if !ours {
		return
	}
	if departure.To != "" {
		metrics.MovesTotal.Inc()
	} else {
		metrics.EvictionsTotal.Inc()
	}
	e.announce(departure)
}

// wakePlanned activates the pods that have an open place with room for them.
func (e *Placing) wakePlanned(free map[string]resources.Vector) {
	if now := e.Clock.Now(); e.dirty || now.Sub(e.woken) >= wakeEvery {
		e.woken = now
	} else {
		return
	}
	reserved := e.Gate.InFlight.All()
	e.Gate.Activate(e.Ready(free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
}

func (e *Placing) writeProgress(ctx context.Context) {
	e.dirty = false
	if e.written.due(e.Clock.Now()) && records.DescribeProgress(&e.Record.Status, e.States(), e.Targets()) {
		e.written.write(ctx, e.Clock, e.Records, e.Record)
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

func (w *progressWriter) write(ctx context.Context, clock clock.PassiveClock, records *records.Plans, record *packingplan.Record) {
	began := clock.Now()
	if err := records.Write(ctx, record); err != nil {
		records.Logger(record).Error(err, "The progress could not be written")
	}
	w.at = clock.Now()
	w.took = w.at.Sub(began)
}

// announce records an event that says why a pod was evicted.
func (e *Placing) announce(departure executor.Departure) {
	if e.Records.Recorder == nil {
		return
	}
	pod := departure.Pod.Object
	if departure.To != "" {
		e.Records.Recorder.Eventf(pod, e.Record.Reference(), v1.EventTypeNormal, "MovedByPlan", "Evict",
			"evicted from %s by plan %s; its replacement goes to %s", departure.Pod.Node, e.Record.Name(), departure.To)
		return
	}
	e.Records.Recorder.Eventf(pod, e.Record.Reference(), v1.EventTypeNormal, "EvictedByPlan", "Evict",
		"evicted from %s by plan %s for pods of higher priority", departure.Pod.Node, e.Record.Name())
}

// IsProved says that no improvement is possible in the state that the completed plan leads to.
func (e *Placing) IsProved() bool {
	return e.Record.Status.Optimal && e.Expected != ""
}

// Conclude puts the end of the plan into its status.
func (e *Placing) Conclude(ctx context.Context, end *records.Ending) {
	records.DescribeProgress(&e.Record.Status, e.States(), e.Targets())
	e.Record.Status.Set(packingplan.Executed, end.Phase == packingplan.Completed, string(end.Phase), end.Message, e.Clock.Now())
	if end.Phase == packingplan.Completed {
		for _, move := range e.adopted {
			move.State = packingplan.Bound
		}
	}
	if e.emptying != nil {
		e.emptying.settle(ctx, end.Message)
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
func (e *Placing) infeasible(progress executor.Progress, free map[string]resources.Vector) string {
	now := e.Clock.Now()
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
		state, err := e.View.NodeState(node)
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
func (e *Placing) stalled(progress executor.Progress, idle time.Duration) string {
	timeout := config.Seconds(e.Args.StepTimeoutSeconds) + e.LongestGrace()
	if idle < timeout {
		return ""
	}
	hint := "did their controllers create replacements?"
	if limited := e.Limited(); limited > 0 {
		if progress.Starting > 0 {
			timeout = max(timeout, config.Seconds(e.Args.ReadyTimeoutSeconds))
		}
		if idle < timeout {
			return ""
		}
		hint = fmt.Sprintf("%d moves wait, since %d pods of their workload are away or not ready (maxUnavailablePerWorkload); %s",
			limited, e.Args.Limits.MaxUnavailablePerWorkload, hint)
	}
	if e.refused != "" {
		hint = e.refused
	}
	return fmt.Sprintf("no step was done for %s: %d pods had not arrived, %d not left%s; %s",
		timeout, progress.Arrivals, progress.Departures, e.awaited(), hint)
}

// awaited names the replacements that the plan waits for until they are ready, for a message.
func (e *Placing) awaited() string {
	pods := e.Starting()
	if len(pods) == 0 {
		return ""
	}
	others := ""
	if len(pods) > 1 {
		others = fmt.Sprintf(" and %d others", len(pods)-1)
	}
	return fmt.Sprintf(", %s on node %q%s not ready", klog.KObj(pods[0]).String(), pods[0].Spec.NodeName, others)
}

// missingRoom says which room the plan lacks, or "". The free room and the plan's places are read one after the other,
// so a pod that is just being bound, or whose binding just failed, may count twice. So room must be lacking for a while.
func (e *Placing) missingRoom(outstanding, free map[string]resources.Vector, now time.Time) string {
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

// timeoutFor is how long the plan may take in total. It grows with the plan: with the rate at which pods are evicted,
// and with the workload whose pods take longest to be replaced one after the other. A plan that makes no progress is aborted
// long before that.
func timeoutFor(checked *plan.Plan, args *config.PriorityOptimizerArgs) time.Duration {
	disrupted := checked.Disrupted()
	timeout := config.Seconds(args.PlanTimeoutSeconds)
	if rate := args.Limits.EvictionsPerSecond; rate > 0 {
		timeout += config.Seconds(float64(len(disrupted)) / rate)
	}
	atOnce := int(args.Limits.MaxUnavailablePerWorkload)
	if atOnce == 0 {
		return timeout
	}
	count, longest := map[types.UID]int{}, time.Duration(0)
	for _, pod := range disrupted {
		count[pod.Owner]++
		turns := float64((count[pod.Owner] - 1) / atOnce)
		turn := args.StepTimeoutSeconds + args.ReadyTimeoutSeconds + graceOf(pod.Object).Seconds()
		longest = max(longest, config.Seconds(turns*turn))
	}
	return timeout + longest
}

func graceOf(pod *v1.Pod) time.Duration {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		return time.Duration(*grace) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}
