package priorityoptimizer

import (
	"context"
	"errors"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

// startTries is how often a plan is checked again because a pod was bound to one of its nodes meanwhile.
const startTries = 3

// startPlan records the plan, checks it against the live state and makes it the active plan.
func (l *loop) startPlan(ctx context.Context, session *planning.Session, checked *plan.Plan) {
	giveUp := func(phase packingplan.Phase, err error) {
		if !session.Record.Consolidates() {
			l.plugin.Trigger.Failed()
		}
		l.records.Finish(ctx, session.Record, phase, err.Error())
	}
	session.Record.Status.Phase = packingplan.Proposed
	if err := l.records.Write(ctx, session.Record); err != nil {
		giveUp(packingplan.Failed, err)
		return
	}
	if l.records.AbortRequested(session.Record) {
		l.records.Finish(ctx, session.Record, packingplan.Aborted, records.MessageAborted)
		return
	}
	if session.Policy() == plan.Unsteered {
		l.startDrain(ctx, session.Record)
		return
	}
	// The hold of the solve may be over by now, and there is none where a proposal is approved.
	l.plugin.Hold.Begin(gate.HoldMargin)
	active, err := l.activatePlan(ctx, session)
	if err != nil {
		planning.CountRefusal(err)
		giveUp(packingplan.Aborted, err)
		return
	}
	session.Record.Status.Phase = packingplan.Executing
	if err := l.records.Write(ctx, session.Record); err != nil {
		l.plugin.Execution.Store(nil)
		giveUp(packingplan.Aborted, err)
		return
	}
	l.records.Logger(session.Record).Info("Carrying out a plan", "placements", len(checked.Placements),
		"moves", len(checked.Moves), "evictions", len(checked.Evictions), "optimal", session.Record.Status.Optimal)
	l.execution = active
	l.plugin.Hold.End()
}

// activatePlan checks the plan on the live state and opens its places. If a pod is bound to one of the plan's nodes
// between the two, it starts over. Pods may be bound to other nodes at any time.
func (l *loop) activatePlan(ctx context.Context, session *planning.Session) (*execution.Placing, error) {
	l.records.HoldRoom(session.Record)
	for range startTries {
		addedOn := l.plugin.InFlight.Watch()
		now, checked, outcome, err := session.CheckNow(ctx)
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
		l.records.CarryRoom(session.Record, execution.Places)
		if !addedOn(checked.Nodes()) {
			after := checked.NodesAfter()
			for uid, state := range execution.States() {
				if state == executor.NotNeeded {
					delete(after, uid)
				}
			}
			active := l.runner.Place(session.Record, session.Rules, now, checked, execution, after)
			active.Expected, active.NextChange = session.Expected(after), session.NextChange
			return active, nil
		}
		l.plugin.Execution.Store(nil)
	}
	return nil, errors.New("pods were being bound to its nodes while the plan was about to begin")
}

// startDrain carries a plan out that was rehearsed just now.
func (l *loop) startDrain(ctx context.Context, record *packingplan.Record) {
	record.Status.Phase = packingplan.Executing
	if err := l.records.Write(ctx, record); err != nil {
		l.records.Finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	l.records.Logger(record).Info("Emptying nodes", "nodes", len(record.Status.Consolidation.OpenNodes()), "moves", len(record.Status.Steps))
	l.drain = l.runner.Empty(record, config.RulesFor(record, l.plugin.view.Rules))
	l.plugin.Hold.End()
}
