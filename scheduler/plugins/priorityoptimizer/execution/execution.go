// Package execution carries plans out: it evicts pods, and keeps pods off the nodes that are to be emptied.
package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
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
)

var (
	// errGone: the pod no longer exists, or another one has its name.
	errGone = errors.New("the pod is gone")
	// errLater: the eviction is not possible now, but may be later.
	errLater = errors.New("not now")
	// errBudget: a disruption budget allows no eviction for now.
	errBudget = fmt.Errorf("%w: a disruption budget does not allow the eviction", errLater)
	// errUnanswered: the pod may have been evicted or not.
	errUnanswered = fmt.Errorf("%w: the server did not say whether it evicted the pod", errLater)
)

// Runner carries out the plans of one profile. The loop alone uses it.
type Runner struct {
	Log     klog.Logger
	Args    *config.PriorityOptimizerArgs
	Clock   clock.PassiveClock
	View    *clusterview.View
	Records *records.Plans
	Gate    *gate.Gate
	// Client is for evictions and for marks on nodes.
	Client clientset.Interface
	// AtOnce bounds the concurrent eviction calls.
	AtOnce int
	// Room is that of the rehearser.
	Room func(ctx context.Context, leaving sets.Set[types.UID], nodes ...string) (
		free, toCome map[string]resources.Vector, err error)
}

func (r *Runner) marks() NodeMarks { return NodeMarks{r.Client, r.Clock} }

// ActivePlan is a plan that is being carried out. All pods leave under the same rules and limits; in which order, depends
// on who places them.
type ActivePlan struct {
	*Runner
	order
	Record  *packingplan.Record
	evictor evictor
	pace    *rate.Limiter
	// inTurn: no pod leaves after one that was refused.
	inTurn bool
	// notBefore and retry implement the back-off after refused evictions.
	notBefore time.Time
	retry     time.Duration
	// refused is why the last eviction must be tried again; empty if it must not.
	refused string
	// nodes are those that the plan empties; nil unless it consolidates.
	nodes *emptying
	// wroteAt is when the progress was last written, writing how long that took.
	wroteAt time.Time
	writing time.Duration
	// Proof is the fingerprint of the state that the plan leads to from the snapshot that it was made for, if nothing
	// better is possible there: the proof does not cover later changes. It is empty otherwise.
	Proof string
	// NextChange is when the first of the rules that protect running pods only for now may end.
	NextChange time.Time
}

// order says which pods of a plan leave when.
type order interface {
	// look takes in what has happened. It says how the plan ends, or whether anything can be done now.
	look(ctx context.Context) (end *records.Ending, ready bool)
	// next are the pods that may leave now.
	next(ctx context.Context) []departure
	// opened is called before the pod is evicted.
	opened(departure)
	// evicted notes that the pod leaves.
	evicted(departure)
	// putOff notes that the pod could not be evicted. The error ends the plan.
	putOff(one departure, why error) error
	// follow does what follows from the evictions, and says how the plan ends.
	follow(ctx context.Context) *records.Ending
	// describe puts the progress into the status, and reports whether anything changed.
	describe() bool
	// conclude ends the order before the plan's end is described.
	conclude(ctx context.Context)
}

// departure is a pod that is to leave its node.
type departure struct {
	pod *v1.Pod
	// to is where its replacement goes; empty if there is no place, or another scheduler decides.
	from, to string
	// unplaced: there is no place for its replacement. early: that will wait for its place.
	unplaced, early bool
}

func (r *Runner) begin(record *packingplan.Record, rules snapshot.Rules) *ActivePlan {
	e := &ActivePlan{Runner: r, Record: record, evictor: r.evictorFor(rules), pace: r.Args.Limits.Pace(), retry: firstRetry}
	if record.Status.Consolidation != nil {
		e.nodes = r.emptying(record)
	}
	return e
}

// Advance carries the plan out as far as is possible now. It returns how the plan ends, or nil.
func (e *ActivePlan) Advance(ctx context.Context) *records.Ending {
	if e.Records.AbortRequested(e.Record) {
		return records.End(packingplan.Aborted, records.MessageAborted)
	}
	if end, ready := e.look(ctx); !ready {
		return end
	}
	if e.nodes != nil {
		if end, ready := e.nodes.begin(ctx); !ready {
			return end
		}
	}
	if err := e.evictWave(ctx); err != nil {
		return records.End(packingplan.Aborted, err.Error())
	}
	end := e.follow(ctx)
	e.writeProgress(ctx)
	return end
}

// evictWave evicts the pods that may leave, as fast as the rate limit allows. An eviction that is not possible now, because
// a disruption budget refuses it or the lease cannot be checked, is tried again later. Any other failure may end the plan.
func (e *ActivePlan) evictWave(ctx context.Context) error {
	wave := e.next(ctx)
	size := max(1, len(wave))
	if e.inTurn {
		size = 1
	}
	for part := range slices.Chunk(wave, size) {
		now, sent := e.Clock.Now(), 0
		if now.Before(e.notBefore) {
			return nil
		}
		for sent < len(part) && e.pace.AllowN(now, 1) {
			sent++
		}
		if sent == 0 {
			return nil
		}
		refused, err := e.evictAll(ctx, part[:sent])
		switch {
		case err != nil:
			return err
		case refused == nil:
			e.retry, e.refused = firstRetry, ""
			continue
		case !e.inTurn || errors.Is(refused, errLater):
			e.notBefore, e.refused = e.Clock.Now().Add(e.retry), refused.Error()
			e.retry = min(2*e.retry, longRetry)
		}
		e.Records.Logger(e.Record).Info("Eviction refused", "reason", refused.Error())
		return nil
	}
	return nil
}

// evictAll evicts the pods concurrently and records each result. refused is why some of them are still there.
func (e *ActivePlan) evictAll(ctx context.Context, wave []departure) (refused, failed error) {
	if err := e.Records.Leadership.CheckCached(ctx); err != nil {
		return err, nil
	}
	answers := make([]error, len(wave))
	var group errgroup.Group
	group.SetLimit(e.AtOnce)
	for i, one := range wave {
		e.opened(one)
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, records.APITimeout)
			defer cancel()
			answers[i] = e.evictor.evict(ctx, one.pod)
			return nil
		})
	}
	_ = group.Wait() // every answer is looked at
	for i, one := range wave {
		err := answers[i]
		if err == nil || errors.Is(err, errGone) {
			e.noteEvicted(one, err == nil)
			continue
		}
		metrics.RefusedEvictionsTotal.WithLabelValues(refusalLabel(err)).Inc()
		refused = err
		if err := e.putOff(one, err); err != nil {
			failed = err
		}
	}
	return refused, failed
}

// noteEvicted records that a pod leaves, and announces why; ours says that this process evicted it.
func (e *ActivePlan) noteEvicted(one departure, ours bool) {
	e.evicted(one)
	e.Records.Logger(e.Record).Info("Evicted a pod", "pod", klog.KObj(one.pod), "uid", one.pod.UID, "node", one.from,
		"to", one.to, "early", one.early, "gone", !ours)
	if !ours {
		return
	}
	counter, reason, then := metrics.MovesTotal, "MovedByPlan", "; its replacement goes to "+one.to
	switch {
	case one.unplaced:
		counter, reason, then = metrics.EvictionsTotal, "EvictedByPlan", " for pods of higher priority"
	case one.to == "":
		then = "; scheduler " + one.pod.Spec.SchedulerName + " places its replacement"
	}
	counter.Inc()
	if e.Records.Recorder != nil {
		e.Records.Recorder.Eventf(one.pod, e.Record.Reference(), v1.EventTypeNormal, reason, "Evict",
			"evicted from %s by plan %s%s", one.from, e.Record.Name(), then)
	}
}

// evictor evicts through the Eviction API, so that disruption budgets, admission and audit apply.
type evictor struct {
	client clientset.Interface
	view   *clusterview.View
	// protected is the rule that forbids a disruption of the pod as it is now, or "".
	protected func(*v1.Pod) string
}

// evictorFor evicts under the rules of a plan.
func (r *Runner) evictorFor(rules snapshot.Rules) evictor {
	return evictor{r.Client, r.View, func(pod *v1.Pod) string {
		unplaced := 0
		if execution := r.Gate.Execution.Load(); execution != nil {
			unplaced = execution.LeftUnplaced(pod)
		}
		return r.View.Protected(pod, rules, unplaced)
	}}
}

// evict evicts exactly this pod, with its own grace period, unless it has become protected meanwhile. The informer's
// copy is checked first, because an eviction whose UID does not match still uses up one disruption of the budget.
func (e evictor) evict(ctx context.Context, pod *v1.Pod) error {
	live := e.view.Live(pod)
	if live == nil || live.DeletionTimestamp != nil {
		return errGone
	}
	switch rule := e.protected(live); {
	case rule == "":
	case snapshot.IsPassing(rule):
		return fmt.Errorf("%w: pod %s is left alone for now: %s", errLater, klog.KObj(pod).String(), rule)
	default:
		return fmt.Errorf("pod %s may not be moved any more: %s", klog.KObj(pod).String(), rule)
	}
	uid := pod.UID
	err := e.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errGone
	case apierrors.IsTooManyRequests(err):
		return fmt.Errorf("evicting pod %s: %w: %w", klog.KObj(pod).String(), errBudget, err)
	case records.Unanswered(err):
		return fmt.Errorf("evicting pod %s: %w: %w", klog.KObj(pod).String(), errUnanswered, err)
	}
	return fmt.Errorf("evicting pod %s: %w", klog.KObj(pod).String(), err)
}

// refusalLabel is the metric's reason for an eviction that was refused.
func refusalLabel(err error) string {
	switch {
	case errors.Is(err, errBudget):
		return "DisruptionBudget"
	case errors.Is(err, errLater):
		return "Later"
	}
	return "Forbidden"
}

func (e *ActivePlan) writeProgress(ctx context.Context) {
	began := e.Clock.Now()
	if began.Sub(e.wroteAt) < max(statusEvery, statusShare*e.writing) {
		return
	}
	changed := e.describe()
	if e.nodes != nil && e.nodes.changed() || changed {
		if err := e.Records.Write(ctx, e.Record); err != nil {
			e.Records.Logger(e.Record).Error(err, "The progress could not be written")
		}
		e.wroteAt = e.Clock.Now()
		e.writing = e.wroteAt.Sub(began)
	}
}

// Conclude gives back the nodes that are not empty, and puts the end of the plan into its status.
func (e *ActivePlan) Conclude(ctx context.Context, end *records.Ending) {
	completed := end.Phase == packingplan.Completed
	e.conclude(ctx)
	if e.nodes != nil {
		e.nodes.settle(ctx, end.Message)
	}
	e.describe()
	e.Record.Status.Set(packingplan.Executed, completed, string(end.Phase), end.Message, e.Clock.Now())
}
