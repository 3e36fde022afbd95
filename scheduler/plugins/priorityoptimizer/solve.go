package priorityoptimizer

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
)

// startTries is how often a plan is checked again because a pod was bound to one of its nodes meanwhile.
const startTries = 3

// solveAutomatic asks the optimiser about the marked pods, unless the state is known to allow no improvement.
func (l *loop) solveAutomatic(ctx context.Context) {
	l.plugin.Trigger.Started()
	l.hasRead = false
	if l.planner.IsKnown() {
		metrics.SolvesTotal.WithLabelValues("KNOWN_STATE").Inc()
		return
	}
	if err := l.planner.Ready(ctx); err != nil {
		metrics.SolvesTotal.WithLabelValues(planning.FailureLabel(err)).Inc()
		l.plugin.logger.Error(err, "Scheduling continues without the optimiser")
		l.plugin.Trigger.Failed()
		l.plugin.ReleaseWithoutPlan("the optimiser is away", clusterview.AnyPod)
		return
	}
	if err := l.plugin.leadership.Check(ctx); err != nil {
		l.plugin.Trigger.Failed()
		return
	}
	create, cancel := context.WithTimeout(ctx, records.APITimeout)
	defer cancel()
	spec := packingplan.Spec{ExecutionMode: packingplan.Execute, Trigger: string(l.args.Trigger)}
	if l.args.Maximize != packingplan.Pods {
		spec.Maximize = l.args.Maximize
	}
	record, err := l.records.Store.Create(create, spec)
	if err != nil {
		l.plugin.logger.Error(err, "Nothing is solved that cannot be recorded; is the PackingPlan CRD installed?")
		l.plugin.Trigger.Failed()
		l.plugin.ReleaseWithoutPlan("plans cannot be recorded", clusterview.AnyPod)
		return
	}
	l.records.Handled.Insert(record.UID())
	l.solve(ctx, record)
}

// solveManual answers a user's plan.
func (l *loop) solveManual(ctx context.Context, record *packingplan.Record) {
	l.records.Handled.Insert(record.UID())
	if record.Spec.ExecutionMode == packingplan.Execute && !record.Consolidates() {
		l.plugin.Trigger.Started() // it is about the pods that wait
	}
	if err := l.planner.Ready(ctx); err != nil {
		metrics.SolvesTotal.WithLabelValues(planning.FailureLabel(err)).Inc()
		l.records.Finish(ctx, record, packingplan.Failed, err.Error())
		return
	}
	l.solve(ctx, record)
}

// solve takes a recorded plan from Solving to Executing or to its end. A dry run holds no pods.
func (l *loop) solve(ctx context.Context, record *packingplan.Record) {
	now := metav1.NewTime(l.clock.Now())
	record.Status = packingplan.Status{Phase: packingplan.Solving, StartTime: &now, Strategy: l.args.Strategy}
	if err := l.records.Write(ctx, record); err != nil {
		l.plugin.Trigger.Failed()
		l.records.Finish(ctx, record, packingplan.Failed, "nothing is solved that cannot be recorded: "+err.Error())
		l.plugin.ReleaseWithoutPlan("plans cannot be recorded", clusterview.AnyPod)
		return
	}
	record = asStored(record)
	l.enter(solving)
	session := l.planner.NewSession(record)
	if record.Spec.ExecutionMode == packingplan.Execute && session.Policy() != plan.Drain {
		if !l.plugin.Hold.Begin(session.Limit + gate.HoldMargin) {
			l.plugin.Release()
		}
		if record.Ours() {
			asked := l.plugin.Trigger.All()
			defer l.plugin.HoldBack(func(pod *v1.Pod) bool { return asked.Has(pod.UID) }, gate.ReasonInSolve, nil)()
		}
	}
	checked, end := session.FindPlan(ctx)
	defer func() { l.plugin.Trigger.Pause(planning.PauseFactor * session.OwnTime) }()
	if record.Spec.ExecutionMode == packingplan.Execute && !record.Consolidates() {
		defer func() { l.plugin.ReleaseWithoutPlan("the optimiser leaves them to the scheduler", session.Refuses()) }()
	}
	switch {
	case end != nil:
		failed := end.Phase == packingplan.Failed && record.Ours()
		if failed {
			l.plugin.Trigger.Failed()
		}
		l.records.Finish(ctx, record, end.Phase, end.Message)
		if failed {
			l.plugin.ReleaseWithoutPlan("the optimiser failed", clusterview.AnyPod)
		}
	case record.Spec.ExecutionMode == packingplan.DryRun:
		l.records.Finish(ctx, record, packingplan.Proposed, records.MessageProposed)
	default:
		l.startPlan(ctx, session, checked)
	}
}

// asStored is the plan that was just written, with what it is for as the API server has it. A watch that was there before
// a field was added to the definition goes on without that field for a moment, and the plan would be for something else.
func asStored(record *packingplan.Record) *packingplan.Record {
	stored, err := packingplan.Read(record)
	if err != nil {
		return record // it has been read before
	}
	stored.Spec.ExecutionMode, stored.Status = record.Spec.ExecutionMode, record.Status
	return stored
}

// executeApproved carries out a proposal unchanged, if it is still a good plan for the cluster and its disruptions are
// still within the limits.
func (l *loop) executeApproved(ctx context.Context, record *packingplan.Record) {
	l.records.Answered.Insert(record.UID())
	record.Status.CompletionTime = nil
	l.enter(solving)
	session := l.planner.NewSession(record)
	l.plugin.Hold.Begin(gate.HoldMargin)
	checked, err := session.Recheck(ctx)
	if err != nil {
		planning.CountRefusal(err)
		l.records.Finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	l.startPlan(ctx, session, checked)
}

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
	if !session.Record.PlacedElsewhere() {
		// The hold of the solve may be over by now, and there is none where a proposal is approved.
		l.plugin.Hold.Begin(gate.HoldMargin)
	}
	active, err := l.activatePlan(ctx, session, execution.Remainder{})
	if err != nil {
		planning.CountRefusal(err)
		giveUp(packingplan.Aborted, err)
		return
	}
	session.Record.Status.Phase = packingplan.Executing
	if err := l.carryOut(ctx, active); err != nil {
		giveUp(packingplan.Aborted, err)
		return
	}
	l.records.Logger(session.Record).Info("Carrying out a plan", "placements", len(checked.Placements),
		"moves", len(checked.Moves), "evictions", len(checked.Evictions), "optimal", session.Record.Status.Optimal)
}

// carryOut writes that the plan is carried out, and begins with it.
func (l *loop) carryOut(ctx context.Context, active *execution.ActivePlan) error {
	if err := l.records.Write(ctx, active.Record); err != nil {
		if !active.Record.PlacedElsewhere() {
			l.dropExecution(active.Record)
		}
		return err
	}
	if active.Record.PlacedElsewhere() {
		l.drain = active
	} else {
		l.placing = active
	}
	l.plugin.Hold.End()
	return nil
}

// activatePlan checks the plan on the live state and opens its places, if this scheduler places its pods. If a pod is bound
// to one of the plan's nodes between the two, it starts over. Pods may be bound to other nodes at any time. The replacements
// of awaited moves have places although no pod of the snapshot takes them.
func (l *loop) activatePlan(ctx context.Context, session *planning.Session, left execution.Remainder) (*execution.ActivePlan, error) {
	if session.Record.PlacedElsewhere() {
		return l.runner.BeginDrain(session.Record, session.Rules), nil
	}
	// No other pod may take what a plan frees, so its room is held before anything is evicted. Every other process holds it
	// as soon as it sees that the plan is being carried out.
	l.records.Ledger.HoldPlan(session.Record)
	expected := *session.Record
	expected.Status.Steps = left.Awaited
	for range startTries {
		addedOn := l.plugin.InFlight.Watch()
		now, checked, outcome, err := session.CheckNow(ctx)
		if err != nil {
			return nil, err
		}
		exec := executor.New(checked, now.Free(), int(l.args.Limits.MaxUnavailablePerWorkload))
		exec.Expect(executor.PlacesOf(&expected, l.plugin.view.Book))
		exec.Left(left.Left)
		exec.CarryOn(left.CarriedOn...)
		exec.AllowEarly(outcome.Early...)
		if outcome.RequireAll {
			exec.RequireAll()
		}
		for _, pod := range now.Pods {
			if pod.Node == "" {
				exec.Note(pod.Object)
			}
		}
		l.plugin.Execution.Store(exec)
		l.records.Ledger.CarryPlan(session.Record.UID(), exec)
		if !addedOn(checked.Nodes()) {
			after := checked.NodesAfter()
			for uid, state := range exec.States() {
				if state == packingplan.NotNeeded {
					delete(after, uid)
				}
			}
			for _, step := range left.Awaited {
				after[types.UID(step.PodUID)] = step.To
			}
			active := l.runner.BeginPlacing(session.Record, session.Rules, now, checked, exec, after, left)
			active.NextChange = session.NextChange
			if session.Record.Status.Optimal {
				active.Proof = session.Expected(after)
			}
			return active, nil
		}
		l.dropExecution(session.Record)
	}
	return nil, errors.New("pods were being bound to its nodes while the plan was about to begin")
}
