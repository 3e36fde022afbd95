package priorityoptimizer

import (
	"context"
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

const (
	// readyTimeout bounds the check whether the optimiser is reachable.
	readyTimeout        = 500 * time.Millisecond
	messageNothingWaits = "no pod waits for a node"
)

// solveAutomatic asks the optimiser about the marked pods, unless the state is known to allow no improvement.
func (l *loop) solveAutomatic(ctx context.Context) {
	l.trigger.started()
	l.hasRead = false
	if l.isKnown() {
		solvesTotal.WithLabelValues("KNOWN_STATE").Inc()
		return
	}
	if err := l.ready(ctx); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		l.logger.Error(err, "Scheduling continues without the optimiser")
		l.trigger.failed()
		l.scheduleWithoutPlan("the optimiser is away", anyPod)
		return
	}
	if err := l.checkLead(ctx); err != nil {
		l.trigger.failed()
		return
	}
	create, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	record, err := l.store.Create(create, packingplan.Spec{Mode: packingplan.Execute, Trigger: string(l.args.Mode)})
	if err != nil {
		l.logger.Error(err, "Nothing is solved that cannot be recorded; is the PackingPlan CRD installed?")
		l.trigger.failed()
		l.scheduleWithoutPlan("plans cannot be recorded", anyPod)
		return
	}
	l.records.handled.Insert(record.UID())
	l.solve(ctx, record)
}

// isKnown says whether no pod waits for a node, or the state is remembered as one that allows no improvement. The solve
// does not use its snapshot: pods are bound until the hold begins, and the plan would be for an outdated state.
func (l *loop) isKnown() bool {
	if l.solvedStates.isEmpty(l.clock.Now()) && l.trigger.size() > 0 {
		return false
	}
	began := l.clock.Now()
	defer func() { l.trigger.pause(pauseFactor * l.clock.Since(began)) }()
	state, err := l.view.snapshotOf("", l.isMarked())
	if err != nil {
		l.logger.Error(err, "No snapshot")
		l.trigger.failed()
		return true
	}
	l.trigger.keepOnly(func(uid types.UID) bool { return state.Pods[uid] != nil })
	if state.Pending() == 0 {
		return true
	}
	// What is proved for a state without temporarily protected pods also holds for the same state with them.
	known := l.solvedStates.has(state.Fingerprint(), began)
	session := &solveSession{snapshot: state, history: l.history()}
	l.applyConstraints(session)
	if !known && !l.solvedStates.has(state.Fingerprint(), began) {
		return false
	}
	if !session.nextChange.IsZero() {
		l.trigger.retryAt(session.nextChange)
	}
	return true
}

// solveManual answers a user's plan.
func (l *loop) solveManual(ctx context.Context, record *packingplan.Record) {
	l.records.handled.Insert(record.UID())
	if record.Spec.Mode == packingplan.Execute {
		l.trigger.started()
	}
	if err := l.ready(ctx); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		l.finish(ctx, record, packingplan.Failed, err.Error())
		return
	}
	l.solve(ctx, record)
}

func (l *loop) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return l.solver.Ready(ctx)
}

// solve takes a recorded plan from Solving to Executing or to its end. A dry run holds no pods.
func (l *loop) solve(ctx context.Context, record *packingplan.Record) {
	now := metav1.NewTime(l.clock.Now())
	record.Status = packingplan.Status{Phase: packingplan.Solving, StartTime: &now, Strategy: l.args.Strategy}
	if err := l.write(ctx, record); err != nil {
		l.trigger.failed()
		l.finish(ctx, record, packingplan.Failed, "nothing is solved that cannot be recorded: "+err.Error())
		l.scheduleWithoutPlan("plans cannot be recorded", anyPod)
		return
	}
	session := l.newSession(record)
	if record.Spec.Mode == packingplan.Execute {
		if !l.hold.begin(session.limit + holdMargin) {
			l.releaseAwaiting()
		}
		defer l.hold.end()
		if record.Ours() {
			defer l.markInSolve(l.trigger.all())()
		}
	}
	checked, end := l.findPlan(ctx, session)
	defer func() { l.trigger.pause(pauseFactor * session.ownTime) }()
	if record.Spec.Mode == packingplan.Execute {
		defer l.scheduleRefused(session)
	}
	switch {
	case end != nil:
		failed := end.phase == packingplan.Failed && !isManualRecord(record)
		if failed {
			l.trigger.failed()
		}
		l.finish(ctx, record, end.phase, end.message)
		if failed {
			l.scheduleWithoutPlan("the optimiser failed", anyPod)
		}
	case record.Spec.Mode == packingplan.DryRun:
		l.finish(ctx, record, packingplan.Proposed, messageProposed)
	default:
		l.startPlan(ctx, session, checked)
	}
}

func isManualRecord(record *packingplan.Record) bool { return !record.Ours() }

// limitOf is the time limit that the plan asks for, up to the profile's maximum.
func (l *loop) limitOf(record *packingplan.Record) time.Duration {
	if record.Spec.TimeLimitSeconds != nil {
		return seconds(min(*record.Spec.TimeLimitSeconds, *l.args.MaxTimeLimitSeconds))
	}
	return seconds(*l.args.TimeLimitSeconds)
}

func (l *loop) policy() plan.Policy {
	if l.args.Policy == PolicyPaper {
		return plan.Paper
	}
	return plan.Strict
}

func policyMessage(policy Policy) contract.Policy {
	if policy == PolicyPaper {
		return contract.Policy_POLICY_PAPER
	}
	return contract.Policy_POLICY_STRICT
}

func failureLabel(err error) string {
	var unreachable *optimizerclient.UnreachableError
	var late *optimizerclient.LateError
	switch {
	case errors.As(err, &unreachable):
		return "UNREACHABLE"
	case errors.As(err, &late):
		return "LATE"
	}
	return "BROKEN"
}

func countRefusal(err error) {
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		refusedPlansTotal.WithLabelValues(string(refused.Reason)).Inc()
	}
}
