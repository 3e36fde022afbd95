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
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// startTries is how often a plan is checked again because a pod was bound to one of its nodes meanwhile.
const startTries = 3

// startPlan records the plan, checks it against the live state and makes it the active plan.
func (l *loop) startPlan(ctx context.Context, session *solveSession, checked *plan.Plan) {
	giveUp := func(phase packingplan.Phase, err error) {
		if !session.record.Consolidates() {
			l.plugin.Trigger.Failed()
		}
		l.records.finish(ctx, session.record, phase, err.Error())
	}
	session.record.Status.Phase = packingplan.Proposed
	if err := l.records.write(ctx, session.record); err != nil {
		giveUp(packingplan.Failed, err)
		return
	}
	if l.records.abortRequested(session.record) {
		l.records.finish(ctx, session.record, packingplan.Aborted, messageAborted)
		return
	}
	if session.policy() == plan.Unsteered {
		l.startDrain(ctx, session.record)
		return
	}
	// The hold of the solve may be over by now, and there is none where a proposal is approved.
	l.plugin.Hold.Begin(gate.HoldMargin)
	active, err := l.activatePlan(ctx, session)
	if err != nil {
		countRefusal(err)
		giveUp(packingplan.Aborted, err)
		return
	}
	session.record.Status.Phase = packingplan.Executing
	if err := l.records.write(ctx, session.record); err != nil {
		l.plugin.Execution.Store(nil)
		giveUp(packingplan.Aborted, err)
		return
	}
	l.records.logger(session.record).Info("Carrying out a plan", "placements", len(checked.Placements),
		"moves", len(checked.Moves), "evictions", len(checked.Evictions), "optimal", session.record.Status.Optimal)
	l.execution = active
	l.plugin.Hold.End()
}

// activatePlan checks the plan on the live state and opens its places. If a pod is bound to one of the plan's nodes
// between the two, it starts over. Pods may be bound to other nodes at any time.
func (l *loop) activatePlan(ctx context.Context, session *solveSession) (*planExecution, error) {
	l.records.holdRoom(session.record)
	for range startTries {
		addedOn := l.plugin.InFlight.Watch()
		now, err := session.now(session.snapshot.ID)
		if err != nil {
			return nil, err
		}
		checked, err := plan.Check(session.steps, now, session.policy())
		if err != nil {
			return nil, err
		}
		if err := plan.CheckNodesUnchanged(checked, session.snapshot, now); err != nil {
			return nil, err
		}
		outcome, err := l.planner.rehearse(ctx, checked)
		if err != nil {
			return nil, err
		}
		execution := executor.New(checked, now.Free(), int(l.args.Limits.MaxUnavailablePerWorkload))
		execution.AllowEarly(outcome.Early...)
		if outcome.RequireAll {
			execution.RequireAll()
		}
		for _, pod := range now.Pods {
			if pod.Node == "" {
				execution.Note(pod.Object)
			}
		}
		l.plugin.Execution.Store(execution)
		l.records.carryRoom(session.record, execution.Places)
		if !addedOn(checked.Nodes()) {
			return l.newExecution(session, now, checked, execution), nil
		}
		l.plugin.Execution.Store(nil)
	}
	return nil, errors.New("pods were being bound to its nodes while the plan was about to begin")
}

func (l *loop) newExecution(
	session *solveSession, now *snapshot.Snapshot, checked *plan.Plan, execution *executor.Execution,
) *planExecution {
	after := checked.NodesAfter()
	for uid, state := range execution.States() {
		if state == executor.NotNeeded {
			delete(after, uid)
		}
	}
	var nodes *emptying
	if session.record.Consolidates() {
		nodes = &emptying{marks: l.marks, view: l.plugin.view, records: l.records, record: session.record}
	}
	return &planExecution{
		emptying:  nodes,
		Execution: execution, plugin: l.plugin, args: l.args, clock: l.clock, records: l.records,
		evictor: l.evictorFor(session.rules), atOnce: l.evictionsAtOnce,
		record: session.record, nextChange: session.nextChange,
		nodes:   statesOf(now, after),
		touched: checked.Nodes(), expected: session.expected(after), dirty: true, retry: firstRetry,
		changed: l.clock.Now(), pace: l.args.Limits.pace(), deadline: l.clock.Now().Add(timeoutFor(checked, l.args)),
	}
}

// timeoutFor is how long the plan may take in total. It grows with the plan: with the rate at which pods are evicted,
// and with the workload whose pods take longest to be replaced one after the other. A plan that makes no progress is aborted
// long before that.
func timeoutFor(checked *plan.Plan, args *PriorityOptimizerArgs) time.Duration {
	disrupted := checked.Disrupted()
	timeout := seconds(args.PlanTimeoutSeconds)
	if rate := args.Limits.EvictionsPerSecond; rate > 0 {
		timeout += seconds(float64(len(disrupted)) / rate)
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
		longest = max(longest, seconds(turns*turn))
	}
	return timeout + longest
}

func graceOf(pod *v1.Pod) time.Duration {
	if grace := pod.Spec.TerminationGracePeriodSeconds; grace != nil {
		return time.Duration(*grace) * time.Second
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}
