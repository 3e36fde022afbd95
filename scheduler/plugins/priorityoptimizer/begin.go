package priorityoptimizer

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// beginTries is how often a plan is checked anew because a pod slipped in meanwhile.
const beginTries = 3

// begin records the plan, checks it against the state as it is now and makes it the running one.
func (l *loop) begin(ctx context.Context, q *question, checked *plan.Plan) {
	giveUp := func(phase packingplan.Phase, err error) {
		l.trigger.failed()
		l.finish(ctx, q.record, phase, err.Error())
	}
	q.record.Status.Phase = packingplan.Proposed
	if err := l.write(ctx, q.record); err != nil {
		giveUp(packingplan.Failed, err)
		return
	}
	if l.abortAsked(q.record) {
		l.finish(ctx, q.record, packingplan.Aborted, messageAborted)
		return
	}
	l.holdRoom(q.record)
	// The hold of the solve may be over by now, and there is none where a proposal is approved.
	l.hold.begin(holdMargin)
	active, err := l.makeRunning(ctx, q)
	if err != nil {
		countRefusal(err)
		giveUp(packingplan.Aborted, err)
		return
	}
	q.record.Status.Phase = packingplan.Executing
	if err := l.write(ctx, q.record); err != nil {
		l.running.Store(nil)
		giveUp(packingplan.Aborted, err)
		return
	}
	l.planLogger(q.record).Info("Carrying out a plan", "placements", len(checked.Placements),
		"moves", len(checked.Moves), "evictions", len(checked.Evictions), "optimal", checked.Optimal)
	l.current = active
	l.hold.end()
}

// makeRunning checks the plan on the live state and opens its places. Pods that were let in between the two make it
// start over if they are on the plan's nodes: on others they are let in all the while that it is carried out.
func (l *loop) makeRunning(ctx context.Context, q *question) (*activePlan, error) {
	defer l.inFlight.lookAway()
	for range beginTries {
		l.inFlight.look()
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
		for _, pod := range now.Pods {
			if pod.Node == "" {
				execution.Note(pod.Object)
			}
		}
		l.running.Store(execution)
		if !l.inFlight.tookAny(checked.Nodes()) {
			return l.newActivePlan(q, now, checked, execution), nil
		}
		l.running.Store(nil)
	}
	return nil, errors.New("pods were being bound to its nodes while the plan was about to begin")
}

func (l *loop) newActivePlan(q *question, now *snapshot.Snapshot, checked *plan.Plan, execution *executor.Execution) *activePlan {
	after := checked.NodesAfter()
	for uid, state := range execution.States() {
		if state == executor.NotNeeded {
			delete(after, uid)
		}
	}
	return &activePlan{
		record: q.record, partial: q.partial, passes: q.passes, execution: execution, targets: after, nodes: statesOf(now, after),
		touched: checked.Nodes(), expected: q.expected(after), dirty: true, retry: firstRetry,
		changed: l.clock.Now(), pace: l.args.Limits.pace(), deadline: l.clock.Now().Add(l.patienceFor(checked)),
	}
}

// patienceFor is how long the plan may take altogether. It grows with the plan: by the rate at which pods are evicted,
// and by the workload whose pods have to go one after the other for longest. Long before that, a plan that stands
// still is given up.
func (l *loop) patienceFor(checked *plan.Plan) time.Duration {
	disturbed := checked.Disturbed()
	patience := seconds(*l.args.PlanTimeoutSeconds)
	if rate := *l.args.Limits.EvictionsPerSecond; rate > 0 {
		patience += seconds(float64(len(disturbed)) / rate)
	}
	atOnce := int(*l.args.Limits.MaxUnavailablePerWorkload)
	if atOnce == 0 {
		return patience
	}
	count, longest := map[types.UID]int{}, time.Duration(0)
	for _, pod := range disturbed {
		count[pod.Owner]++
		turns := time.Duration((count[pod.Owner] - 1) / atOnce)
		longest = max(longest, turns*(seconds(*l.args.StepTimeoutSeconds)+graceOf(pod.Object)))
	}
	return patience + longest
}

func graceOf(pod *v1.Pod) time.Duration {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		return time.Duration(*grace) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}
