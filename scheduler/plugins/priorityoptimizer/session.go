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
	// answerGrace is how long the optimiser may exceed its time limit before the best plan so far is taken, and
	// readingGrace the same for each byte of the request: the limit begins when the optimiser has read the snapshot
	// (optimizer.proto, SolveOptions.time_limit_s).
	answerGrace  = 1700 * time.Millisecond
	readingGrace = 650 * time.Nanosecond
	// minRoundTime is the least remaining time in which another round after an objection is worthwhile.
	minRoundTime = 50 * time.Millisecond
	// pauseFactor is the pause after a solve, in multiples of the time that this process itself spent on it: a large
	// cluster must not spend its scheduler's time on snapshots.
	pauseFactor = 10
)

// solveSession is one solve, which may take several rounds.
type solveSession struct {
	record *packingplan.Record
	limit  time.Duration
	// until is when the time limit ends; zero before the first snapshot has been taken.
	until    time.Time
	snapshot *snapshot.Snapshot
	answer   *optimizerclient.Answer
	// fromRecord says that the plan was read from its record, so that its proof is not about this snapshot.
	fromRecord bool
	// history is what earlier plans have done to running pods.
	history []plan.Moved
	// constraints are applied to each further snapshot: they say what the rounds so far have ruled out.
	constraints []func(*snapshot.Snapshot)
	// verifiedAt is when the last plan was verified, verifyTook how long that took.
	verifiedAt time.Time
	verifyTook time.Duration
	// ownTime is the time that this process has spent on the solve, not counting the optimiser's.
	ownTime time.Duration
	// nextChange is when the first of the rules that protect running pods only for now may end; zero if none does.
	nextChange time.Time
	// moveLimit bounds the moves so that the plan fits into its object; nil does not.
	moveLimit *int32
	// partial says that pods were left to another plan.
	partial bool
}

func (l *loop) newSession(record *packingplan.Record) *solveSession {
	return &solveSession{record: record, limit: l.limitOf(record), history: l.history()}
}

// noteChange keeps the earliest time at which a temporary rule ends.
func (session *solveSession) noteChange(at time.Time) {
	if session.nextChange.IsZero() || at.Before(session.nextChange) {
		session.nextChange = at
	}
}

// expected is the fingerprint of the state in which the given pods have the given nodes and all else is as in the
// snapshot that the plan was made for; empty if that snapshot is not known.
func (session *solveSession) expected(nodes map[types.UID]string) string {
	if session.fromRecord {
		return ""
	}
	return session.snapshot.FingerprintAfter(nodes)
}

// noPlan says why a solve ends without a plan to carry out.
type noPlan struct {
	phase   packingplan.Phase
	message string
}

// findPlan asks the optimiser until a plan passes all checks. It returns either a plan that changes something, or the
// reason why there is none.
func (l *loop) findPlan(ctx context.Context, session *solveSession) (*plan.Plan, *noPlan) {
	if l.rehearser.Load() == nil {
		return nil, &noPlan{packingplan.Failed, "the scheduler was not built to rehearse plans: " +
			"it must attach the plugins before it runs"}
	}
	for {
		if end := l.takeSnapshot(session); end != nil {
			return nil, end
		}
		if l.abortRequested(session.record) {
			return nil, &noPlan{packingplan.Aborted, messageAborted}
		}
		checked, err := l.solveOnce(ctx, session)
		var raised *objection
		var stale *rehearsal.StaleError
		var refused *plan.RefusedError
		switch {
		case errors.As(err, &raised):
			l.addConstraints(session, raised)
			if l.clock.Now().Add(minRoundTime).After(session.until) {
				return nil, &noPlan{packingplan.Failed, raised.Error() + "; no time was left to look for another plan"}
			}
		case errors.Is(err, errAborted):
			return nil, &noPlan{packingplan.Aborted, messageAborted}
		case errors.As(err, &refused) && refused.Reason == plan.TooLarge && l.shrink(session, plan.MaxSteps/2):
		case errors.As(err, &stale):
			return nil, &noPlan{packingplan.Aborted, stale.Error()}
		case err != nil:
			return nil, &noPlan{packingplan.Failed, err.Error()}
		case checked.Empty():
			return nil, l.noPlanFound(session)
		default:
			describePlan(&session.record.Status, checked)
			size := sizeOf(&session.record.Status)
			if size <= l.statusBytes {
				return checked, nil
			}
			steps := len(checked.Placements) + len(checked.Moves) + len(checked.Evictions)
			// Half of what fits, since other pods may have longer names.
			if !l.shrink(session, steps*(l.statusBytes/2)/size) {
				return nil, &noPlan{packingplan.Failed, fmt.Sprintf("the plan takes %d bytes, and at most %d fit into one object",
					size, l.statusBytes)}
			}
		}
	}
}

// shrink limits the next plan to that many steps: the pods of the lowest priorities wait for another plan, and fewer
// pods are moved. It reports false if there is no time left for another round.
func (l *loop) shrink(session *solveSession, most int) bool {
	placed := session.snapshot.Waiting(session.answer.Plan)
	slices.SortStableFunc(placed, func(a, b *snapshot.Pod) int { return cmp.Compare(b.Priority, a.Priority) })
	if kept := max(1, most/2); len(placed) > kept {
		for _, pod := range placed[kept:] {
			session.constraints = append(session.constraints, func(s *snapshot.Snapshot) { s.Drop(pod.Object.UID) })
		}
	}
	moves := int32(max(1, most/2))
	session.moveLimit, session.partial = &moves, true
	return l.clock.Now().Add(minRoundTime).Before(session.until)
}

// takeSnapshot takes the snapshot of a round. Each round gets a new one: an outdated state may be why the last plan
// failed.
func (l *loop) takeSnapshot(session *solveSession) *noPlan {
	l.solves++
	began := l.clock.Now()
	defer func() {
		now := l.clock.Now()
		session.ownTime += now.Sub(began)
		if session.until.IsZero() {
			session.until = now.Add(session.limit)
		}
	}()
	var err error
	id := fmt.Sprintf("%s-%d", l.nonce, l.solves)
	if session.snapshot, err = l.view.snapshotOf(id, l.solveFilter(session.record)); err != nil {
		return &noPlan{packingplan.Failed, err.Error()}
	}
	session.record.Status.SnapshotID = session.snapshot.ID
	if session.snapshot.Pending() == 0 {
		session.record.Status.Optimal = true
		return &noPlan{packingplan.NoImprovement, messageNothingWaits}
	}
	l.applyConstraints(session)
	return nil
}

// solveFilter selects the pods of a solve. A solve that the scheduler started itself leaves unmarked pods to the
// scheduler: in a plan they would have to wait, while they may find room at once without it.
func (l *loop) solveFilter(record *packingplan.Record) func(*v1.Pod) bool {
	if !record.Ours() {
		return anyPod
	}
	return l.isMarked()
}

func (l *loop) isMarked() func(*v1.Pod) bool {
	marked := l.trigger.all()
	return func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" || marked.Has(pod.UID) }
}

// solveOnce gets one answer and verifies it.
func (l *loop) solveOnce(ctx context.Context, session *solveSession) (*plan.Plan, error) {
	if err := l.callOptimizer(ctx, session); err != nil {
		var raised *objection
		if !errors.As(err, &raised) {
			solvesTotal.WithLabelValues(failureLabel(err)).Inc()
			session.record.Status.Set(packingplan.Solved, false, conditionReason(failureLabel(err)), err.Error(), l.clock.Now())
		}
		return nil, err
	}
	solvesTotal.WithLabelValues(endReason(session.answer)).Inc()
	status, now := &session.record.Status, l.clock.Now()
	describeAnswer(status, session.answer)
	describeProtected(status, session.snapshot, session.answer.Plan)
	status.Set(packingplan.Solved, true, conditionReason(endReason(session.answer)), session.answer.Message, now)
	verifying := l.clock.Now()
	checked, err := l.verify(ctx, session, session.answer.Plan)
	session.ownTime += l.clock.Since(verifying)
	switch {
	case err != nil:
		countRefusal(err)
		status.Set(packingplan.Verified, false, "Refused", err.Error(), now)
	case !checked.Empty():
		status.Set(packingplan.Verified, true, "Rehearsed", "the profile's own plugins agree with every placement", now)
	}
	return checked, err
}

// noPlanFound distinguishes a proved answer, and one that ran out of time, from a failure.
func (l *loop) noPlanFound(session *solveSession) *noPlan {
	switch session.answer.EndReason {
	case contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_NO_IMPROVEMENT,
		contract.EndReason_END_REASON_TIME_LIMIT:
		if session.answer.Plan == nil {
			// The optimiser did not even evaluate the present state, so the answer says nothing about it: try again.
			return &noPlan{packingplan.Failed, "the optimiser had no answer in time: " + session.answer.Message}
		}
		message, until := "the optimiser found nothing better in time", l.clock.Now().Add(unprovedFor)
		if session.record.Status.Optimal {
			message, until = "nothing better exists", l.clock.Now().Add(provedFor)
		}
		l.solvedStates.add(session.snapshot.Fingerprint(), until)
		l.trigger.foundNothing()
		if !session.nextChange.IsZero() {
			l.trigger.retryAt(session.nextChange)
		}
		return &noPlan{packingplan.NoImprovement, message}
	}
	return &noPlan{packingplan.Failed,
		fmt.Sprintf("the optimiser ended with %s: %s", endReason(session.answer), session.answer.Message)}
}

// callOptimizer sends one request, bounded by the time that is left. The injected clock cuts it off.
func (l *loop) callOptimizer(ctx context.Context, session *solveSession) error {
	began := l.clock.Now()
	left := max(session.until.Sub(began), minRoundTime)
	request := &contract.SolveRequest{
		Snapshot: session.snapshot.Message,
		Options: &contract.SolveOptions{
			Strategy:               l.args.Strategy,
			TimeLimitS:             left.Seconds(),
			Policy:                 policyMessage(l.args.Policy),
			Seed:                   *l.args.Seed,
			Deterministic:          *l.args.Deterministic,
			Workers:                *l.args.Workers,
			MaxMoves:               session.maxMoves(l.args.Limits.maxMoves()),
			MaxEvictions:           l.args.Limits.maxEvictions(),
			MaxDisruptionsPerOwner: l.args.Limits.maxPerWorkload(),
		},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	grace := answerGrace + time.Duration(proto.Size(request))*readingGrace
	timer := l.clock.AfterFunc(left+grace, func() { cancel(nil) })
	defer timer.Stop()
	l.activeSolve.Store(&activeSolve{session.record.UID(), cancel})
	defer l.activeSolve.Store(nil)
	answer, err := l.solver.Solve(ctx, request, func(better *contract.Plan) error {
		return l.verifyIntermediate(ctx, session, better)
	})
	spent := l.clock.Since(began).Seconds()
	session.record.Status.SolveSeconds += spent
	solveSeconds.Observe(spent)
	session.answer = answer
	if errors.Is(context.Cause(ctx), errAborted) {
		return errAborted
	}
	return err
}

func (session *solveSession) maxMoves(limit *int32) *int32 {
	if session.moveLimit != nil && (limit == nil || *session.moveLimit < *limit) {
		return session.moveLimit
	}
	return limit
}
