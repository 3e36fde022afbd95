package priorityoptimizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// answerGrace is what the optimiser gets beyond its limit before the best plan so far is taken, and readingGrace
	// the same for each byte of the request: its limit begins when it has read the snapshot (optimizer.proto,
	// SolveOptions.time_limit_s).
	answerGrace  = 1700 * time.Millisecond
	readingGrace = 650 * time.Nanosecond
	// shortestRound is the least time in which it is worth to ask again after an objection.
	shortestRound = 50 * time.Millisecond
	// restFactor is how many times as long as this process worked on a solve it leaves the solver alone
	// afterwards: a large cluster must not spend its scheduler's time on snapshots.
	restFactor = 10
)

// question is one solve.
type question struct {
	record *packingplan.Record
	limit  time.Duration
	// until is when the limit is used up; zero before the first snapshot has been taken.
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
	// worked is the time that this process has spent on the solve, without the optimiser's.
	worked time.Duration
	// passes is when the first of the reasons passes for which running pods are left alone for now; zero if none
	// does.
	passes time.Time
	// mostMoves bounds the moves so that the plan fits into its object; nil does not.
	mostMoves *int32
	// partial says that pods were left to another plan.
	partial bool
}

func (l *loop) newQuestion(record *packingplan.Record) *question {
	return &question{record: record, limit: l.limitOf(record), history: l.history()}
}

// passesAt takes note of when a reason passes.
func (q *question) passesAt(at time.Time) {
	if q.passes.IsZero() || at.Before(q.passes) {
		q.passes = at
	}
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
		if l.abortAsked(q.record) {
			return nil, &ending{packingplan.Aborted, messageAborted}
		}
		checked, err := l.askOnce(ctx, q)
		var raised *objection
		var stale *rehearsal.StaleError
		var refused *plan.RefusedError
		switch {
		case errors.As(err, &raised):
			l.heed(q, raised)
			if l.clock.Now().Add(shortestRound).After(q.until) {
				return nil, &ending{packingplan.Failed, raised.Error() + "; no time was left to look for another plan"}
			}
		case errors.Is(err, errAborted):
			return nil, &ending{packingplan.Aborted, messageAborted}
		case errors.As(err, &refused) && refused.Reason == plan.TooLarge && l.shrink(q, plan.MaxSteps/2):
		case errors.As(err, &stale):
			return nil, &ending{packingplan.Aborted, stale.Error()}
		case err != nil:
			return nil, &ending{packingplan.Failed, err.Error()}
		case checked.Empty():
			return nil, l.nothingFound(q)
		default:
			describePlan(&q.record.Status, checked)
			size := sizeOf(&q.record.Status)
			if size <= l.statusBytes {
				return checked, nil
			}
			steps := len(checked.Placements) + len(checked.Moves) + len(checked.Evictions)
			// Half of what fits, since other pods may have longer names.
			if !l.shrink(q, steps*(l.statusBytes/2)/size) {
				return nil, &ending{packingplan.Failed, fmt.Sprintf("the plan takes %d bytes, and at most %d fit into one object",
					size, l.statusBytes)}
			}
		}
	}
}

// shrink makes the next answer one of so many steps at most: the pods of the lowest priorities wait for another plan,
// and only so many pods are moved. It reports false if there is no time for that.
func (l *loop) shrink(q *question, most int) bool {
	placed := q.asked.Waiting(q.answer.Plan)
	slices.SortStableFunc(placed, func(a, b *snapshot.Pod) int { return cmp.Compare(b.Priority, a.Priority) })
	if kept := max(1, most/2); len(placed) > kept {
		for _, pod := range placed[kept:] {
			q.amend = append(q.amend, func(s *snapshot.Snapshot) { s.Drop(pod.Object.UID) })
		}
	}
	moves := int32(max(1, most/2))
	q.mostMoves, q.partial = &moves, true
	return l.clock.Now().Add(shortestRound).Before(q.until)
}

// look takes the snapshot that is asked about, a new one for each round: the state may be what
// the last plan failed on.
func (l *loop) look(q *question) *ending {
	l.solves++
	began := l.clock.Now()
	defer func() {
		now := l.clock.Now()
		q.worked += now.Sub(began)
		if q.until.IsZero() {
			q.until = now.Add(q.limit)
		}
	}()
	var err error
	if q.asked, err = l.view.snapshotOf(fmt.Sprintf("%s-%d", l.nonce, l.solves), l.askedAbout(q.record)); err != nil {
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

// askedAbout are the pods that a solve is about. One of the scheduler's own leaves those to it that are not marked:
// a plan would have them wait for their turn in it, where they may find room at once.
func (l *loop) askedAbout(record *packingplan.Record) func(*v1.Pod) bool {
	if !record.Ours() {
		return anyPod
	}
	return l.isMarked()
}

func (l *loop) isMarked() func(*v1.Pod) bool {
	marked := l.trigger.all()
	return func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || marked.Has(pod.UID) }
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
	describeProtected(status, q.asked, q.answer.Plan)
	status.Set(packingplan.Solved, true, conditionReason(endReason(q.answer)), q.answer.Message, now)
	judging := l.clock.Now()
	checked, err := l.judge(ctx, q, q.answer.Plan)
	q.worked += l.clock.Since(judging)
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
		message, until := "the optimiser found nothing better in time", l.clock.Now().Add(unprovedFor)
		if q.record.Status.Optimal {
			message, until = "nothing better exists", l.clock.Now().Add(provedFor)
		}
		l.memory.remember(q.asked.Fingerprint(), until)
		l.trigger.fruitless()
		if !q.passes.IsZero() {
			l.trigger.againAt(q.passes)
		}
		return &ending{packingplan.NoImprovement, message}
	}
	return &ending{packingplan.Failed, fmt.Sprintf("the optimiser ended with %s: %s", endReason(q.answer), q.answer.Message)}
}

// call asks the optimiser within the time that is left. It is cut off by the injected clock.
func (l *loop) call(ctx context.Context, q *question) error {
	began := l.clock.Now()
	left := max(q.until.Sub(began), shortestRound)
	request := &contract.SolveRequest{
		Snapshot: q.asked.Message,
		Options: &contract.SolveOptions{
			Strategy:               l.args.Strategy,
			TimeLimitS:             left.Seconds(),
			Policy:                 policyMessage(l.args.Policy),
			Seed:                   *l.args.Seed,
			Deterministic:          *l.args.Deterministic,
			Workers:                *l.args.Workers,
			MaxMoves:               q.maxMoves(l.args.Limits.maxMoves()),
			MaxEvictions:           l.args.Limits.maxEvictions(),
			MaxDisruptionsPerOwner: l.args.Limits.maxPerWorkload(),
		},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	grace := answerGrace + time.Duration(proto.Size(request))*readingGrace
	timer := l.clock.AfterFunc(left+grace, func() { cancel(nil) })
	defer timer.Stop()
	l.solving.Store(&solving{q.record.UID(), cancel})
	defer l.solving.Store(nil)
	answer, err := l.solver.Solve(ctx, request, func(better *contract.Plan) error { return l.judgeOnTheWay(ctx, q, better) })
	spent := l.clock.Since(began).Seconds()
	q.record.Status.SolveSeconds += spent
	solveSeconds.Observe(spent)
	q.answer = answer
	if errors.Is(context.Cause(ctx), errAborted) {
		return errAborted
	}
	return err
}

func (q *question) maxMoves(limit *int32) *int32 {
	if q.mostMoves != nil && (limit == nil || *q.mostMoves < *limit) {
		return q.mostMoves
	}
	return limit
}
