package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// readyTimeout bounds the look whether the optimiser is there at all.
	readyTimeout = 500 * time.Millisecond
	// answerGrace is what the optimiser gets beyond its limit before the best plan so far is
	// taken. The rest of the hold's margin is for checking and writing the plan.
	answerGrace = 600 * time.Millisecond

	messageNothingWaits = "no pod waits for a node"
)

// question is one solve.
type question struct {
	record *packingplan.Record
	limit  time.Duration
	asked  *snapshot.Snapshot
	answer *optimizerclient.Answer
}

// solveAutomatic asks the optimiser about the marked pods, unless the state is known to hold
// nothing to gain.
func (l *loop) solveAutomatic(ctx context.Context) {
	l.trigger.started()
	state, err := l.view.snapshot("")
	if err != nil {
		l.logger.Error(err, "No snapshot")
		l.trigger.failed()
		return
	}
	if state.Pending() == 0 {
		return
	}
	if l.memory.knows(state.Fingerprint) {
		solvesTotal.WithLabelValues("KNOWN_STATE").Inc()
		return
	}
	if err := l.ready(ctx); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		l.logger.Error(err, "Scheduling goes on without the optimiser")
		l.trigger.failed()
		return
	}
	create, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	record, err := l.store.Create(create, packingplan.Spec{Mode: packingplan.Execute, Trigger: string(l.args.Mode)})
	if err != nil {
		l.logger.Error(err, "Nothing is solved that cannot be recorded; is the PackingPlan CRD installed?")
		l.trigger.failed()
		return
	}
	l.records.handled.Insert(record.UID())
	l.solve(ctx, record)
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

// solve takes a recorded plan from Solving to Executing or to its end. A dry run holds no pod.
func (l *loop) solve(ctx context.Context, record *packingplan.Record) {
	now := metav1.NewTime(l.clock.Now())
	record.Status = packingplan.Status{Phase: packingplan.Solving, StartTime: &now, Strategy: l.args.Strategy}
	if err := l.write(ctx, record); err != nil {
		l.planLogger(record).Error(err, "Nothing is solved that cannot be recorded")
		l.trigger.failed()
		return
	}
	q := &question{record: record, limit: l.limitOf(record)}
	if record.Spec.Mode == packingplan.Execute {
		l.hold.begin(q.limit + holdMargin)
		defer l.hold.end()
	}
	checked, end := l.ask(ctx, q)
	switch {
	case end != nil:
		if end.phase == packingplan.Failed && !isManualRecord(record) {
			l.trigger.failed()
		}
		l.finish(ctx, record, end.phase, end.message)
	case record.Spec.Mode == packingplan.DryRun:
		l.propose(ctx, q, checked)
	default:
		l.begin(ctx, q, checked)
	}
}

func isManualRecord(record *packingplan.Record) bool { return !record.Ours() }

func (l *loop) limitOf(record *packingplan.Record) time.Duration {
	if record.Spec.TimeLimitSeconds != nil {
		return seconds(*record.Spec.TimeLimitSeconds)
	}
	return seconds(*l.args.TimeLimitSeconds)
}

// ending is why a solve ends without a plan to carry out.
type ending struct {
	phase   packingplan.Phase
	message string
}

// ask gets an answer and checks it. Either a plan that changes something is returned, or the
// reason why there is none.
func (l *loop) ask(ctx context.Context, q *question) (*plan.Plan, *ending) {
	var err error
	l.solves++
	if q.asked, err = l.view.snapshot(fmt.Sprintf("%s-%d", l.nonce, l.solves)); err != nil {
		return nil, &ending{packingplan.Failed, err.Error()}
	}
	q.record.Status.SnapshotID = q.asked.ID
	if q.asked.Pending() == 0 {
		q.record.Status.Optimal = true
		return nil, &ending{packingplan.NoImprovement, messageNothingWaits}
	}
	if err := l.call(ctx, q); err != nil {
		solvesTotal.WithLabelValues(failureLabel(err)).Inc()
		return nil, &ending{packingplan.Failed, err.Error()}
	}
	solvesTotal.WithLabelValues(endReason(q.answer)).Inc()
	describeAnswer(&q.record.Status, q.answer)
	checked, err := plan.Decode(q.answer.Plan, q.asked, l.policy())
	if err != nil {
		countRefusal(err)
		return nil, &ending{packingplan.Failed, err.Error()}
	}
	if checked.Empty() {
		return nil, l.nothingFound(q)
	}
	describePlan(&q.record.Status, checked)
	return checked, nil
}

// nothingFound tells a proved answer, and one that ran out of time, from a failure.
func (l *loop) nothingFound(q *question) *ending {
	switch q.answer.EndReason {
	case contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_NO_IMPROVEMENT,
		contract.EndReason_END_REASON_TIME_LIMIT:
		l.memory.remember(q.asked.Fingerprint)
		l.trigger.succeeded()
		message := "the optimiser found nothing better in time"
		if q.record.Status.Optimal {
			message = "nothing better exists"
		}
		return &ending{packingplan.NoImprovement, message}
	}
	return &ending{packingplan.Failed, fmt.Sprintf("the optimiser ended with %s: %s", endReason(q.answer), q.answer.Message)}
}

// call asks the optimiser. It is cut off by the injected clock.
func (l *loop) call(ctx context.Context, q *question) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := l.clock.AfterFunc(q.limit+answerGrace, cancel)
	defer timer.Stop()
	began := l.clock.Now()
	answer, err := l.solver.Solve(ctx, &contract.SolveRequest{
		Snapshot: q.asked.Message,
		Options: &contract.SolveOptions{
			Strategy:      l.args.Strategy,
			TimeLimitS:    q.limit.Seconds(),
			Policy:        policyMessage(l.args.Policy),
			Seed:          *l.args.Seed,
			Deterministic: *l.args.Deterministic,
			Workers:       *l.args.Workers,
		},
	})
	q.record.Status.SolveSeconds = l.clock.Since(began).Seconds()
	solveSeconds.Observe(q.record.Status.SolveSeconds)
	q.answer = answer
	return err
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

// propose ends a dry run: the plan can be read, nothing is done.
func (l *loop) propose(ctx context.Context, q *question, _ *plan.Plan) {
	q.record.Status.Phase = packingplan.Proposed
	if err := l.write(ctx, q.record); err != nil {
		l.planLogger(q.record).Error(err, "The proposal could not be written")
	}
	l.finish(ctx, q.record, packingplan.Completed, "dry run: nothing was carried out")
}
