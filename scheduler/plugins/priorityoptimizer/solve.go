package priorityoptimizer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
)

// solveAutomatic asks the optimiser about the marked pods, unless the state is known to allow no improvement.
func (l *loop) solveAutomatic(ctx context.Context) {
	l.plugin.Trigger.Started()
	l.hasRead = false
	if l.planner.isKnown() {
		solvesTotal.WithLabelValues("KNOWN_STATE").Inc()
		return
	}
	if err := l.planner.ready(ctx); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		l.plugin.logger.Error(err, "Scheduling continues without the optimiser")
		l.plugin.Trigger.Failed()
		l.plugin.WithoutPlan("the optimiser is away", anyPod)
		return
	}
	if err := l.plugin.lead.check(ctx); err != nil {
		l.plugin.Trigger.Failed()
		return
	}
	create, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	record, err := l.records.store.Create(create, packingplan.Spec{ExecutionMode: packingplan.Execute, Trigger: string(l.args.Trigger)})
	if err != nil {
		l.plugin.logger.Error(err, "Nothing is solved that cannot be recorded; is the PackingPlan CRD installed?")
		l.plugin.Trigger.Failed()
		l.plugin.WithoutPlan("plans cannot be recorded", anyPod)
		return
	}
	l.records.handled.Insert(record.UID())
	l.solve(ctx, record)
}

// solveManual answers a user's plan.
func (l *loop) solveManual(ctx context.Context, record *packingplan.Record) {
	l.records.handled.Insert(record.UID())
	if record.Spec.ExecutionMode == packingplan.Execute && !record.Consolidates() {
		l.plugin.Trigger.Started() // it is about the pods that wait
	}
	if err := l.planner.ready(ctx); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		l.records.finish(ctx, record, packingplan.Failed, err.Error())
		return
	}
	l.solve(ctx, record)
}

// solve takes a recorded plan from Solving to Executing or to its end. A dry run holds no pods.
func (l *loop) solve(ctx context.Context, record *packingplan.Record) {
	now := metav1.NewTime(l.clock.Now())
	record.Status = packingplan.Status{Phase: packingplan.Solving, StartTime: &now, Strategy: l.args.Strategy}
	if err := l.records.write(ctx, record); err != nil {
		l.plugin.Trigger.Failed()
		l.records.finish(ctx, record, packingplan.Failed, "nothing is solved that cannot be recorded: "+err.Error())
		l.plugin.WithoutPlan("plans cannot be recorded", anyPod)
		return
	}
	record = asStored(record)
	l.enter(solving)
	session := l.planner.newSession(record)
	if record.Spec.ExecutionMode == packingplan.Execute && session.policy() != plan.Unsteered {
		if !l.plugin.Hold.Begin(session.limit + gate.HoldMargin) {
			l.plugin.Release()
		}
		if record.Ours() {
			defer l.plugin.BeginSolve(l.plugin.Trigger.All())()
		}
	}
	checked, end := session.findPlan(ctx)
	defer func() { l.plugin.Trigger.Pause(pauseFactor * session.ownTime) }()
	if record.Spec.ExecutionMode == packingplan.Execute && !record.Consolidates() {
		defer l.scheduleRefused(session)
	}
	switch {
	case end != nil:
		failed := end.phase == packingplan.Failed && record.Ours()
		if failed {
			l.plugin.Trigger.Failed()
		}
		l.records.finish(ctx, record, end.phase, end.message)
		if failed {
			l.plugin.WithoutPlan("the optimiser failed", anyPod)
		}
	case record.Spec.ExecutionMode == packingplan.DryRun:
		l.records.finish(ctx, record, packingplan.Proposed, messageProposed)
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
	l.records.approved.Insert(record.UID())
	record.Status.CompletionTime = nil
	l.enter(solving)
	session := l.planner.newSession(record)
	session.steps = record.Status.Steps
	l.plugin.Hold.Begin(gate.HoldMargin)
	var err error
	if session.snapshot, err = session.now(record.Status.SnapshotID); err != nil {
		l.records.finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	session.applyConstraints()
	checked, err := plan.Check(session.steps, session.snapshot, session.policy())
	if err == nil {
		err = session.checkDisruptions(checked)
	}
	if err == nil && session.policy() == plan.Unsteered {
		checked, err = session.rehearseAgain(ctx, checked)
	}
	if err == nil {
		err = session.askReplacements(ctx, checked)
	}
	if err != nil {
		countRefusal(err)
		l.records.finish(ctx, record, packingplan.Aborted, "the cluster has changed since: "+err.Error())
		return
	}
	l.startPlan(ctx, session, checked)
}

// scheduleRefused lets the pods of a batch go that the optimiser leaves to the scheduler.
func (l *loop) scheduleRefused(session *solveSession) {
	if session.snapshot == nil || session.answer == nil {
		return
	}
	refused := sets.New[string]()
	for _, refusal := range session.answer.Refusals {
		refused.Insert(refusal.Subject)
	}
	l.plugin.WithoutPlan("the optimiser leaves them to the scheduler", func(pod *v1.Pod) bool {
		asked := session.snapshot.Pods[pod.UID]
		return asked != nil && isRefused(asked, refused)
	})
}
