package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// beginTries is how often a plan is checked anew because a pod slipped in meanwhile.
	beginTries = 3
	// firstRetry and longRetry bound the wait after an eviction that was refused for now.
	firstRetry = 500 * time.Millisecond
	longRetry  = 5 * time.Second
	// statusEvery is how often the progress is written at most.
	statusEvery = 500 * time.Millisecond
	// wakeEvery is how often planned pods are woken up although nothing changed.
	wakeEvery = time.Second
)

// carrying is a plan being carried out.
type carrying struct {
	record    *packingplan.Record
	execution *executor.Execution
	targets   map[types.UID]string
	// expected is the fingerprint of the state that the plan leads to from the one in which the optimiser
	// made it: what has changed since is not in its proof. It is empty if that state is not known.
	expected string
	deadline time.Time
	// notBefore and retry implement the back-off after refused evictions.
	notBefore time.Time
	retry     time.Duration
	written   time.Time
	woken     time.Time
	dirty     bool
	// nodes are the states that the nodes of the plan must keep.
	nodes map[string]string
	// progress was last seen to change at changed.
	progress executor.Progress
	changed  time.Time
	pace     *rate.Limiter
	// shortSince is since when room is lacking; zero if it is not.
	shortSince time.Time
	// adopted are the moves of which a former process had evicted the pod.
	adopted []types.UID
}

// begin records the plan, checks it against the state as it is now and makes it the running one.
func (l *loop) begin(ctx context.Context, q *question, checked *plan.Plan) {
	q.record.Status.Phase = packingplan.Proposed
	if err := l.write(ctx, q.record); err != nil {
		l.trigger.failed()
		l.finish(ctx, q.record, packingplan.Failed, err.Error())
		return
	}
	if l.abortAsked(q.record) {
		l.finish(ctx, q.record, packingplan.Aborted, messageAborted)
		return
	}
	if err := l.holdRoom(ctx, q.record, checked); err != nil {
		l.trigger.failed()
		l.finish(ctx, q.record, packingplan.Aborted, err.Error())
		return
	}
	current, err := l.makeRunning(ctx, q)
	if err != nil {
		countRefusal(err)
		l.trigger.failed()
		l.finish(ctx, q.record, packingplan.Aborted, err.Error())
		return
	}
	q.record.Status.Phase = packingplan.Executing
	if err := l.write(ctx, q.record); err != nil {
		l.running.Store(nil)
		l.trigger.failed()
		l.finish(ctx, q.record, packingplan.Aborted, err.Error())
		return
	}
	l.planLogger(q.record).Info("Carrying out a plan", "placements", len(checked.Placements),
		"moves", len(checked.Moves), "evictions", len(checked.Evictions), "optimal", checked.Optimal)
	l.current = current
	l.hold.end()
}

// makeRunning checks the plan on the live state and opens its places. Pods that were let in
// between the two make it start over.
func (l *loop) makeRunning(ctx context.Context, q *question) (*carrying, error) {
	for range beginTries {
		before := l.inFlight.generation()
		now, err := l.view.snapshot(q.asked.ID)
		if err != nil {
			return nil, err
		}
		checked, err := plan.Check(q.answer.Plan, now, l.policy())
		if err != nil {
			return nil, err
		}
		if err := plan.CheckNodesUnchanged(checked, q.asked, now); err != nil {
			return nil, err
		}
		outcome, err := l.rehearse(ctx, checked)
		if err != nil {
			return nil, err
		}
		execution := executor.New(checked, now.Free(), int(*l.args.Limits.MaxUnavailablePerWorkload))
		execution.Hurry(outcome.Early...)
		if outcome.Insist {
			execution.Insist()
		}
		l.running.Store(execution)
		if l.inFlight.generation() == before {
			nodes := checked.NodesAfter()
			for uid, state := range execution.States() {
				if state == executor.NotNeeded {
					delete(nodes, uid)
				}
			}
			return &carrying{record: q.record, execution: execution, targets: nodes, dirty: true,
				expected: q.expected(nodes), retry: firstRetry,
				nodes: statesOf(now, nodes), changed: l.clock.Now(), pace: l.args.Limits.pace(),
				deadline: l.clock.Now().Add(seconds(*l.args.PlanTimeoutSeconds))}, nil
		}
		l.running.Store(nil)
	}
	return nil, errors.New("pods were being bound while the plan was about to begin")
}

// carryOn takes the running plan as far as it goes now.
func (l *loop) carryOn(ctx context.Context) {
	c := l.current
	free, pods, err := l.view.free()
	if err != nil {
		l.end(ctx, packingplan.Aborted, err.Error())
		return
	}
	l.noteGone(c, pods)
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
	l.wakePlanned(c, free, pods)
	l.writeProgress(ctx, c)
}

// noteGone tells the execution which pods have left their nodes.
func (l *loop) noteGone(c *carrying, pods []*v1.Pod) {
	leaving := c.execution.Leaving()
	if len(leaving) == 0 {
		return
	}
	there := make(map[types.UID]bool, len(pods))
	for _, pod := range pods {
		there[pod.UID] = !podutil.IsPodTerminal(pod)
	}
	for _, uid := range leaving {
		if !there[uid] {
			c.execution.Gone(uid)
			c.dirty = true
		}
	}
}

// evictWave evicts what the execution says. An eviction that cannot be made now, since a disruption
// budget refuses it or nobody tells who leads, is tried again later; any other failure ends the plan.
func (l *loop) evictWave(ctx context.Context, c *carrying, free map[string]resources.Vector) error {
	if l.clock.Now().Before(c.notBefore) {
		return nil
	}
	wave := c.execution.Next(free)
	for _, departure := range wave {
		if !c.pace.AllowN(l.clock.Now(), 1) {
			return nil
		}
		switch err := l.evict(ctx, c, departure); {
		case errors.Is(err, errLater):
			c.notBefore = l.clock.Now().Add(c.retry)
			c.retry = min(2*c.retry, longRetry)
			l.planLogger(c.record).Info("Eviction refused for now", "reason", err.Error())
			return nil
		case err != nil:
			return err
		}
	}
	if len(wave) > 0 {
		c.retry = firstRetry
	}
	return nil
}

func (l *loop) evict(ctx context.Context, c *carrying, departure executor.Departure) error {
	pod := departure.Pod.Object
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if err := l.checkLead(ctx); err != nil {
		return fmt.Errorf("%w: %w", errLater, err)
	}
	c.execution.Opened(pod.UID)
	err := l.evictor.evict(ctx, pod)
	if err != nil && !errors.Is(err, errGone) {
		c.execution.Refused(pod.UID)
		return err
	}
	c.execution.Evicted(pod.UID)
	c.dirty = true
	to := c.targets[pod.UID]
	l.planLogger(c.record).Info("Evicted a pod", "pod", podName(pod), "uid", pod.UID, "node", departure.Pod.Node,
		"to", to, "early", departure.Early, "gone", err != nil)
	if err != nil {
		return nil // it was gone already
	}
	if departure.Move {
		movesTotal.Inc()
	} else {
		evictionsTotal.Inc()
	}
	l.announceDeparture(c.record, departure, to)
	return nil
}

// wakePlanned wakes up the pods that have an open place with room for them.
func (l *loop) wakePlanned(c *carrying, free map[string]resources.Vector, pods []*v1.Pod) {
	if now := l.clock.Now(); c.dirty || now.Sub(c.woken) >= wakeEvery {
		c.woken = now
	} else {
		return
	}
	reserved := l.inFlight.all()
	ready := map[string]*v1.Pod{}
	for _, pod := range pods {
		if _, binding := reserved[pod.UID]; binding || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		nodes, _ := c.execution.Nodes(pod, func(node string) resources.Vector { return free[node] })
		for _, node := range nodes {
			if resources.OfPod(pod).FitsIn(free[node]) {
				ready[string(pod.UID)] = pod
			}
		}
	}
	l.activate(ready)
}

func (l *loop) writeProgress(ctx context.Context, c *carrying) {
	c.dirty = false
	if l.clock.Since(c.written) < statusEvery || !describeProgress(&c.record.Status, c.execution.States()) {
		return
	}
	c.written = l.clock.Now()
	if err := l.write(ctx, c.record); err != nil {
		l.planLogger(c.record).Error(err, "The progress could not be written")
	}
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
	case c.record.Status.Optimal && c.expected != "":
		l.memory.remember(c.expected)
		l.trigger.succeeded()
	default:
		l.trigger.succeeded()
		l.trigger.again()
	}
	l.activate(l.keptOut.all())
	l.finish(ctx, c.record, phase, message)
}
