package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// answerGrace is what the optimiser gets beyond its limit before the best plan so far is
	// taken. The rest of the hold's margin is for checking and writing the plan.
	answerGrace = 600 * time.Millisecond
	// shortestRound is the least time in which it is worth to ask again after an objection.
	shortestRound = 50 * time.Millisecond
)

// question is one solve.
type question struct {
	record *packingplan.Record
	limit  time.Duration
	// until is when the limit is used up.
	until  time.Time
	asked  *snapshot.Snapshot
	answer *optimizerclient.Answer
	// recalled says that the answer is of a former time, so that its proof is not of the state asked.
	recalled bool
	// history is what earlier plans have done to running pods.
	history []plan.Moved
	// amend is what the rounds so far have taught.
	amend []func(*snapshot.Snapshot)
	// judged is when the last plan had been judged, judging how long that took.
	judged  time.Time
	judging time.Duration
}

func (l *loop) newQuestion(record *packingplan.Record) *question {
	limit := l.limitOf(record)
	return &question{record: record, limit: limit, until: l.clock.Now().Add(limit), history: l.history()}
}

// expected is the fingerprint of the state in which the given pods have the given nodes and all else is as
// the optimiser was told; empty if nobody knows what that was.
func (q *question) expected(nodes map[types.UID]string) string {
	if q.recalled {
		return ""
	}
	return q.asked.FingerprintAfter(nodes)
}

// ending is why a solve ends without a plan to carry out.
type ending struct {
	phase   packingplan.Phase
	message string
}

// ask gets an answer to which there is no objection. Either a plan that changes something is
// returned, or the reason why there is none.
func (l *loop) ask(ctx context.Context, q *question) (*plan.Plan, *ending) {
	if l.stage.Load() == nil {
		return nil, &ending{packingplan.Failed, "the scheduler was not built to rehearse plans: " +
			"it must attach the plugins before it runs"}
	}
	for {
		if end := l.look(q); end != nil {
			return nil, end
		}
		checked, err := l.askOnce(ctx, q)
		var raised *objection
		var stale *rehearsal.StaleError
		switch {
		case errors.As(err, &raised):
			l.heed(q, raised)
			if l.clock.Now().Add(shortestRound).After(q.until) {
				return nil, &ending{packingplan.Failed, raised.Error() + "; no time was left to look for another plan"}
			}
		case errors.As(err, &stale):
			return nil, &ending{packingplan.Aborted, stale.Error()}
		case err != nil:
			return nil, &ending{packingplan.Failed, err.Error()}
		case checked.Empty():
			return nil, l.nothingFound(q)
		default:
			describePlan(&q.record.Status, checked)
			return checked, nil
		}
	}
}

// look takes the snapshot that is asked about, a new one for each round: the state may be what
// the last plan failed on.
func (l *loop) look(q *question) *ending {
	l.solves++
	var err error
	if q.asked, err = l.view.snapshot(fmt.Sprintf("%s-%d", l.nonce, l.solves)); err != nil {
		return &ending{packingplan.Failed, err.Error()}
	}
	q.record.Status.SnapshotID = q.asked.ID
	if q.asked.Pending() == 0 {
		q.record.Status.Optimal = true
		return &ending{packingplan.NoImprovement, messageNothingWaits}
	}
	l.amend(q)
	return nil
}

// askOnce gets one answer and judges it.
func (l *loop) askOnce(ctx context.Context, q *question) (*plan.Plan, error) {
	if err := l.call(ctx, q); err != nil {
		var raised *objection
		if !errors.As(err, &raised) {
			solvesTotal.WithLabelValues(failureLabel(err)).Inc()
			q.record.Status.Set(packingplan.Solved, false, conditionReason(failureLabel(err)), err.Error(), l.clock.Now())
		}
		return nil, err
	}
	solvesTotal.WithLabelValues(endReason(q.answer)).Inc()
	status, now := &q.record.Status, l.clock.Now()
	describeAnswer(status, q.answer)
	status.Set(packingplan.Solved, true, conditionReason(endReason(q.answer)), q.answer.Message, now)
	checked, err := l.judge(ctx, q, q.answer.Plan)
	switch {
	case err != nil:
		countRefusal(err)
		status.Set(packingplan.Verified, false, "Refused", err.Error(), now)
	case !checked.Empty():
		status.Set(packingplan.Verified, true, "Rehearsed", "the profile's own plugins agree with every placement", now)
	}
	return checked, err
}

// nothingFound tells a proved answer, and one that ran out of time, from a failure.
func (l *loop) nothingFound(q *question) *ending {
	switch q.answer.EndReason {
	case contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_NO_IMPROVEMENT,
		contract.EndReason_END_REASON_TIME_LIMIT:
		if q.answer.Plan == nil {
			// Not even the present state was looked at: that says nothing of it, and is worth another try.
			return &ending{packingplan.Failed, "the optimiser had no answer in time: " + q.answer.Message}
		}
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

// call asks the optimiser within the time that is left. It is cut off by the injected clock.
func (l *loop) call(ctx context.Context, q *question) error {
	began := l.clock.Now()
	left := q.until.Sub(began)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := l.clock.AfterFunc(left+answerGrace, cancel)
	defer timer.Stop()
	answer, err := l.solver.Solve(ctx, &contract.SolveRequest{
		Snapshot: q.asked.Message,
		Options: &contract.SolveOptions{
			Strategy:               l.args.Strategy,
			TimeLimitS:             left.Seconds(),
			Policy:                 policyMessage(l.args.Policy),
			Seed:                   *l.args.Seed,
			Deterministic:          *l.args.Deterministic,
			Workers:                *l.args.Workers,
			MaxMoves:               l.args.Limits.maxMoves(),
			MaxEvictions:           l.args.Limits.maxEvictions(),
			MaxDisruptionsPerOwner: l.args.Limits.maxPerWorkload(),
		},
	}, func(better *contract.Plan) error { return l.judgeOnTheWay(ctx, q, better) })
	spent := l.clock.Since(began).Seconds()
	q.record.Status.SolveSeconds += spent
	solveSeconds.Observe(spent)
	q.answer = answer
	return err
}
