package priorityoptimizer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

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
	minRoundTime        = 50 * time.Millisecond
	messageNothingWaits = "no pod waits for a node"
)

// ending is how a plan ends: the final phase, or the one in which a solve leaves it without a plan to carry out.
type ending struct {
	phase   packingplan.Phase
	message string
}

// solveSession is one solve, which may take several rounds.
type solveSession struct {
	*planner
	record *packingplan.Record
	limit  time.Duration
	// until is when the time limit ends; zero before the first snapshot has been taken.
	until    time.Time
	snapshot *snapshot.Snapshot
	// answer is nil where the plan was read from its record, so that its proof is not about this snapshot.
	answer *optimizerclient.Answer
	// steps are those of the plan.
	steps []*packingplan.Step
	// rules say which pods may be disrupted.
	rules snapshot.Rules
	// history is what earlier plans have done to running pods.
	history []plan.Moved
	// constraints are applied to each further snapshot: they say what the rounds so far have ruled out.
	constraints []func(*snapshot.Snapshot)
	// dryRun are the workloads about whose replacements the API server was asked.
	dryRun sets.Set[types.UID]
	// verifiedAt is when the last plan was verified, verifyTook how long that took.
	verifiedAt time.Time
	verifyTook time.Duration
	// ownTime is the time that this process has spent on the solve, not counting the optimiser's.
	ownTime time.Duration
	// nextChange is when the first of the rules that protect running pods only for now may end; zero if none does.
	nextChange time.Time
	// moveLimit bounds the moves so that the plan fits into its object; nil does not.
	moveLimit *int32
}

func (p *planner) newSession(record *packingplan.Record) *solveSession {
	return &solveSession{planner: p, record: record, limit: p.limitOf(record), history: p.records.history(),
		rules: p.plugin.view.rulesFor(record), dryRun: sets.New[types.UID]()}
}

// noteChange keeps the earliest time at which a temporary rule ends.
func (s *solveSession) noteChange(at time.Time) {
	if s.nextChange.IsZero() || at.Before(s.nextChange) {
		s.nextChange = at
	}
}

// expected is the fingerprint of the state in which the given pods have the given nodes and all else is as in the
// snapshot that the plan was made for; empty if that snapshot is not known, or the plan is not for waiting pods.
func (s *solveSession) expected(nodes map[types.UID]string) string {
	if s.answer == nil || s.record.Consolidates() {
		return ""
	}
	return s.snapshot.FingerprintAfter(nodes)
}

// findPlan asks the optimiser until a plan passes all checks. It returns either a plan that changes something, or the
// reason why there is none.
func (s *solveSession) findPlan(ctx context.Context) (*plan.Plan, *ending) {
	if s.plugin.rehearser.Load() == nil {
		return nil, &ending{packingplan.Failed, "the scheduler was not built to rehearse plans: " +
			"it must attach the plugins before it runs"}
	}
	for {
		if end := s.takeSnapshot(); end != nil {
			return nil, end
		}
		if s.records.abortRequested(s.record) {
			return nil, &ending{packingplan.Aborted, messageAborted}
		}
		checked, err := s.solveOnce(ctx)
		var raised *objection
		var stale *rehearsal.StaleError
		var refused *plan.RefusedError
		switch {
		case errors.As(err, &raised):
			s.addConstraints(raised)
			if s.clock.Now().Add(minRoundTime).After(s.until) {
				return nil, &ending{packingplan.Failed, raised.Error() + "; no time was left to look for another plan"}
			}
		case errors.Is(err, errAborted):
			return nil, &ending{packingplan.Aborted, messageAborted}
		case errors.As(err, &refused) && refused.Reason == plan.TooLarge && s.shrink(plan.MaxSteps/2):
		case errors.As(err, &stale):
			return nil, &ending{packingplan.Aborted, stale.Error()}
		case err != nil:
			return nil, &ending{packingplan.Failed, err.Error()}
		case checked.Empty():
			return nil, s.noPlanFound()
		default:
			describePlan(&s.record.Status, checked)
			size := sizeOf(&s.record.Status)
			if size <= s.statusBytes {
				return checked, nil
			}
			// Half of what fits, since other pods may have longer names.
			if !s.shrink(len(checked.Steps()) * (s.statusBytes / 2) / size) {
				return nil, &ending{packingplan.Failed, fmt.Sprintf("the plan takes %d bytes, and at most %d fit into one object",
					size, s.statusBytes)}
			}
		}
	}
}

// shrink limits the next plan to that many steps: the units of the lowest priorities wait for another plan, and fewer
// pods are moved. It reports false if there is no time left for another round.
func (s *solveSession) shrink(most int) bool {
	var placed [][]*snapshot.Pod
	for _, unit := range packingplan.Units(s.steps) {
		if pods := s.snapshot.Waiting(unit); len(pods) > 0 {
			placed = append(placed, pods)
		}
	}
	slices.SortStableFunc(placed, func(a, b []*snapshot.Pod) int { return cmp.Compare(b[0].Priority, a[0].Priority) })
	left := max(1, most/2)
	for i, pods := range placed {
		if left -= len(pods); left < 0 && i > 0 {
			for _, pod := range pods {
				s.constraints = append(s.constraints, func(of *snapshot.Snapshot) { of.Drop(pod.Object.UID) })
			}
		}
	}
	moves := int32(max(1, most/2))
	s.moveLimit = &moves
	return s.clock.Now().Add(minRoundTime).Before(s.until)
}

// takeSnapshot takes the snapshot of a round. Each round gets a new one: an outdated state may be why the last plan
// failed.
func (s *solveSession) takeSnapshot() *ending {
	s.snapshots++
	began := s.clock.Now()
	defer func() {
		now := s.clock.Now()
		s.ownTime += now.Sub(began)
		if s.until.IsZero() {
			s.until = now.Add(s.limit)
		}
	}()
	var err error
	id := fmt.Sprintf("%s-%d", s.records.nonce, s.snapshots)
	if s.snapshot, err = s.plugin.view.snapshotUnder(s.rules, id, s.solveFilter(s.record)); err != nil {
		return &ending{packingplan.Failed, err.Error()}
	}
	s.record.Status.SnapshotID = s.snapshot.ID
	if s.snapshot.Pending() == 0 && !s.record.Consolidates() {
		made := s.claim()
		s.describe(made, s.clock.Now())
		return &ending{packingplan.NoImprovement, made.message(messageNothingWaits)}
	}
	s.applyConstraints()
	return nil
}

// solveOnce gets one answer and verifies it.
func (s *solveSession) solveOnce(ctx context.Context) (*plan.Plan, error) {
	if err := s.callOptimizer(ctx); err != nil {
		var raised *objection
		if !errors.As(err, &raised) {
			solvesTotal.WithLabelValues(failureLabel(err)).Inc()
			s.record.Status.Set(packingplan.Solved, false, conditionReason(failureLabel(err)), err.Error(), s.clock.Now())
		}
		return nil, err
	}
	solvesTotal.WithLabelValues(endReason(s.answer)).Inc()
	status, now := &s.record.Status, s.clock.Now()
	verifying := s.clock.Now()
	s.steps = plan.StepsOf(s.answer.Plan)
	describeAnswer(status, s.answer)
	describeProtected(status, s.snapshot, s.answer.Plan)
	status.Set(packingplan.Solved, true, conditionReason(endReason(s.answer)), s.answer.Message, now)
	var checked *plan.Plan
	var err error
	if s.record.Consolidates() {
		checked, err = s.answerConsolidation(ctx)
		s.describe(s.consolidationClaim(), now)
	} else {
		s.describe(s.claim(), now)
		checked, err = s.verify(ctx, s.answer.Plan)
	}
	if err == nil {
		err = s.askReplacements(ctx, checked)
	}
	s.ownTime += s.clock.Since(verifying)
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
func (s *solveSession) noPlanFound() *ending {
	switch s.answer.EndReason {
	case contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_NO_IMPROVEMENT,
		contract.EndReason_END_REASON_TIME_LIMIT:
		if s.answer.Plan == nil {
			// The optimiser did not even evaluate the present state, so the answer says nothing about it: try again.
			return &ending{packingplan.Failed, "the optimiser had no answer in time: " + s.answer.Message}
		}
		if s.record.Consolidates() {
			return s.nothingToEmpty()
		}
		made, lasts := s.claim(), unprovedFor
		if made.proved() {
			lasts = provedFor
		}
		if s.moveLimit == nil { // of which a fingerprint knows nothing
			s.solvedStates.Add(s.snapshot.Fingerprint(), nil, lasts)
		}
		s.plugin.Trigger.FoundNothing()
		if !s.nextChange.IsZero() {
			s.plugin.Trigger.RetryAt(s.nextChange)
		}
		return &ending{packingplan.NoImprovement, made.message("nothing better exists")}
	}
	return &ending{packingplan.Failed,
		fmt.Sprintf("the optimiser ended with %s: %s", endReason(s.answer), s.answer.Message)}
}

// callOptimizer sends one request, bounded by the time that is left. The injected clock cuts it off.
func (s *solveSession) callOptimizer(ctx context.Context) error {
	began := s.clock.Now()
	left := max(s.until.Sub(began), minRoundTime)
	request := &contract.SolveRequest{
		Snapshot: s.snapshot.Message,
		Options: &contract.SolveOptions{
			Strategy:               s.args.Strategy,
			TimeLimitS:             left.Seconds(),
			Policy:                 policyMessage(s.args.Policy),
			Seed:                   s.args.Seed,
			Deterministic:          s.args.Deterministic,
			Workers:                s.args.Workers,
			Objective:              s.objective(),
			MaxMoves:               s.maxMoves(unlessZero(int32(s.limits().Moves))),
			MaxEvictions:           unlessZero(s.args.Limits.MaxEvictions),
			MaxDisruptionsPerOwner: unlessZero(s.args.Limits.MaxPerWorkload),
		},
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	grace := answerGrace + time.Duration(proto.Size(request))*readingGrace
	timer := s.clock.AfterFunc(left+grace, func() { cancel(nil) })
	defer timer.Stop()
	s.active.Store(&activeSolve{s.record.UID(), cancel})
	defer s.active.Store(nil)
	answer, err := s.solver.Solve(ctx, request, func(better *contract.Plan) error {
		return s.verifyIntermediate(ctx, better)
	})
	spent := s.clock.Since(began).Seconds()
	s.record.Status.SolveSeconds += spent
	solveSeconds.Observe(spent)
	s.answer = answer
	if errors.Is(context.Cause(ctx), errAborted) {
		return errAborted
	}
	return err
}

func (s *solveSession) objective() contract.Objective {
	if s.record.Consolidates() {
		return contract.Objective_OBJECTIVE_CONSOLIDATE
	}
	return contract.Objective_OBJECTIVE_PLACE
}

func (s *solveSession) maxMoves(limit *int32) *int32 {
	if s.moveLimit != nil && (limit == nil || *s.moveLimit < *limit) {
		return s.moveLimit
	}
	return limit
}
