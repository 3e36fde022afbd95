package planning

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
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
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

// Session is one solve, which may take several rounds.
type Session struct {
	*Planner
	Record *packingplan.Record
	Limit  time.Duration
	// until is when the time limit ends; zero before the first snapshot has been taken.
	until    time.Time
	Snapshot *snapshot.Snapshot
	// answer is nil where the plan was read from its record, so that its proof is not about this snapshot.
	answer *contract.SolveUpdate
	// Steps are those of the plan, and CarriedOn the units of it that a former process has begun.
	Steps     []*packingplan.Step
	CarriedOn []string
	// Rules say which pods may be disrupted.
	Rules snapshot.Rules
	// history is what earlier plans have done to running pods.
	history []plan.Moved
	// constraints are applied to each further snapshot: they say what the rounds so far have ruled out.
	constraints []func(*snapshot.Snapshot)
	// dryRun are the workloads about whose replacements the API server was asked.
	dryRun sets.Set[types.UID]
	// verifiedAt is when the last plan was verified, verifyTook how long that took.
	verifiedAt time.Time
	verifyTook time.Duration
	// OwnTime is the time that this process has spent on the solve, not counting the optimiser's.
	OwnTime time.Duration
	// NextChange is when the first of the rules that protect running pods only for now may end; zero if none does.
	NextChange time.Time
	// moveLimit bounds the moves so that the plan fits into its object; nil does not.
	moveLimit *int32
}

func (p *Planner) NewSession(record *packingplan.Record) *Session {
	return &Session{Planner: p, Record: record, Limit: p.limitOf(record), history: p.Records.History(),
		Rules: config.RulesFor(record, p.View.Rules), dryRun: sets.New[types.UID]()}
}

// noteChange keeps the earliest time at which a temporary rule ends.
func (s *Session) noteChange(at time.Time) {
	if s.NextChange.IsZero() || at.Before(s.NextChange) {
		s.NextChange = at
	}
}

// Expected is the fingerprint of the state in which the given pods have the given nodes and all else is as in the
// snapshot that the plan was made for; empty if that snapshot is not known, or the plan is not for waiting pods.
func (s *Session) Expected(nodes map[types.UID]string) string {
	if s.answer == nil || s.Record.Consolidates() {
		return ""
	}
	return s.Snapshot.FingerprintAfter(nodes)
}

// FindPlan asks the optimiser until a plan passes all checks. It returns either a plan that changes something, or the
// reason why there is none.
func (s *Session) FindPlan(ctx context.Context) (*plan.Plan, *records.Ending) {
	if s.Rehearser.Load() == nil {
		return nil, records.End(packingplan.Failed, "the scheduler was not built to rehearse plans: "+
			"it must attach the plugins before it runs")
	}
	for {
		if end := s.takeSnapshot(); end != nil {
			return nil, end
		}
		if s.Records.AbortRequested(s.Record) {
			return nil, records.End(packingplan.Aborted, records.MessageAborted)
		}
		checked, err := s.solveOnce(ctx)
		var raised *Objection
		var stale *rehearsal.StaleError
		var refused *plan.RefusedError
		switch {
		case errors.As(err, &raised):
			s.addConstraints(raised)
			if s.Clock.Now().Add(minRoundTime).After(s.until) {
				return nil, records.End(packingplan.Failed, raised.Error()+"; no time was left to look for another plan")
			}
		case errors.Is(err, errAborted):
			return nil, records.End(packingplan.Aborted, records.MessageAborted)
		case errors.As(err, &refused) && refused.Reason == plan.TooLarge && s.shrink(plan.MaxSteps/2):
		case errors.As(err, &stale):
			return nil, records.End(packingplan.Aborted, stale.Error())
		case err != nil:
			return nil, records.End(packingplan.Failed, err.Error())
		case checked.Empty():
			return nil, s.noPlanFound()
		default:
			records.DescribePlan(&s.Record.Status, checked)
			size := records.SizeOf(&s.Record.Status)
			if size <= s.StatusBytes {
				return checked, nil
			}
			// Half of what fits, since other pods may have longer names.
			if !s.shrink(len(checked.Steps()) * (s.StatusBytes / 2) / size) {
				return nil, records.End(packingplan.Failed, fmt.Sprintf("the plan takes %d bytes, and at most %d fit into one object",
					size, s.StatusBytes))
			}
		}
	}
}

// Recheck says whether a recorded plan is still a good one for the cluster, and its disruptions still within the limits.
func (s *Session) Recheck(ctx context.Context) (*plan.Plan, error) {
	s.Snapshot = s.LiveSnapshot(s.Record.Status.SnapshotID)
	s.applyConstraints()
	s.Steps = s.Record.Status.Steps
	checked, err := plan.Check(s.Steps, s.Snapshot, s.Policy())
	if err == nil {
		err = s.checkDisruptions(checked)
	}
	if err == nil && s.Policy() == plan.Drain {
		checked, err = s.rehearseAgain(ctx, checked)
	}
	if err == nil {
		err = s.askReplacements(ctx, checked)
	}
	if err != nil {
		err = fmt.Errorf("the cluster has changed since: %w", err)
	}
	return checked, err
}

// CheckNow checks the plan on the cluster as it is now.
func (s *Session) CheckNow(ctx context.Context) (*snapshot.Snapshot, *plan.Plan, rehearsal.Outcome, error) {
	now := s.LiveSnapshot(s.Snapshot.ID)
	checked, err := plan.Check(s.Steps, now, s.Policy(), s.CarriedOn...)
	if err == nil {
		err = plan.CheckNodesUnchanged(checked, s.Snapshot, now)
	}
	if err != nil {
		return nil, nil, rehearsal.Outcome{}, err
	}
	outcome, err := s.rehearse(ctx, checked)
	return now, checked, outcome, err
}

// shrink limits the next plan to that many steps: the units of the lowest priorities wait for another plan, and fewer
// pods are moved. It reports false if there is no time left for another round.
func (s *Session) shrink(most int) bool {
	var placed [][]*snapshot.Pod
	for _, unit := range packingplan.Units(s.Steps) {
		if pods := s.Snapshot.Waiting(unit); len(pods) > 0 {
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
	return s.Clock.Now().Add(minRoundTime).Before(s.until)
}

// takeSnapshot takes the snapshot of a round. Each round gets a new one: an outdated state may be why the last plan
// failed.
func (s *Session) takeSnapshot() *records.Ending {
	s.snapshots++
	began := s.Clock.Now()
	defer func() {
		now := s.Clock.Now()
		s.OwnTime += now.Sub(began)
		if s.until.IsZero() {
			s.until = now.Add(s.Limit)
		}
	}()
	include := clusterview.AnyPod
	if s.Record.Ours() {
		// Unmarked pods are left to the scheduler: in a plan they would have to wait, while they may find room at once
		// without it.
		include = s.Trigger.IsMarked()
	}
	s.Snapshot = s.View.SnapshotUnder(s.Rules, fmt.Sprintf("%s-%d", s.Records.Nonce, s.snapshots), include)
	s.Record.Status.SnapshotID = s.Snapshot.ID
	if s.Snapshot.Pending() == 0 && !s.Record.Consolidates() {
		made := s.optimality()
		s.describe(made, s.Clock.Now())
		return records.End(packingplan.NoImprovement, made.message(messageNothingWaits))
	}
	s.applyConstraints()
	return nil
}

// solveOnce gets one answer and verifies it.
func (s *Session) solveOnce(ctx context.Context) (*plan.Plan, error) {
	if err := s.callOptimizer(ctx); err != nil {
		var raised *Objection
		if !errors.As(err, &raised) {
			metrics.SolvesTotal.WithLabelValues(FailureLabel(err)).Inc()
			s.Record.Status.Set(packingplan.Solved, false, conditionReason(FailureLabel(err)), err.Error(), s.Clock.Now())
		}
		return nil, err
	}
	metrics.SolvesTotal.WithLabelValues(endReason(s.answer)).Inc()
	status, now := &s.Record.Status, s.Clock.Now()
	s.Steps = plan.StepsOf(s.answer.Plan, s.Snapshot)
	describeAnswer(status, s.answer, s.Snapshot)
	describeProtected(status, s.Snapshot, s.answer.Plan)
	status.Set(packingplan.Solved, true, conditionReason(endReason(s.answer)), s.answer.Message, now)
	checked, err := s.verify(ctx, s.answer.Plan)
	s.describe(s.optimality(), now)
	if err == nil {
		err = s.askReplacements(ctx, checked)
	}
	s.OwnTime += s.Clock.Since(now)
	switch {
	case err != nil:
		CountRefusal(err)
		status.Set(packingplan.Verified, false, "Refused", err.Error(), now)
	case !checked.Empty():
		status.Set(packingplan.Verified, true, "Rehearsed", "the profile's own plugins agree with every placement", now)
	}
	return checked, err
}

// noPlanFound distinguishes a proved answer, and one that ran out of time, from a failure.
func (s *Session) noPlanFound() *records.Ending {
	switch s.answer.EndReason {
	case contract.EndReason_END_REASON_OPTIMAL, contract.EndReason_END_REASON_NO_IMPROVEMENT,
		contract.EndReason_END_REASON_TIME_LIMIT:
		if s.answer.Plan == nil {
			// The optimiser did not even evaluate the present state, so the answer says nothing about it: try again.
			return records.End(packingplan.Failed, "the optimiser had no answer in time: "+s.answer.Message)
		}
		made, lasts := s.optimality(), UnprovedFor
		if s.Record.Consolidates() {
			return records.End(packingplan.NoImprovement, made.message("no node can be emptied"))
		}
		if made.proved() {
			lasts = provedFor
		}
		if s.moveLimit == nil { // of which a fingerprint knows nothing
			s.solvedStates.Add(s.Snapshot.Fingerprint(), nil, lasts)
		}
		s.Trigger.FoundNothing()
		if !s.NextChange.IsZero() {
			s.Trigger.RetryAt(s.NextChange)
		}
		return records.End(packingplan.NoImprovement, made.message("nothing better exists"))
	}
	return records.End(packingplan.Failed,
		fmt.Sprintf("the optimiser ended with %s: %s", endReason(s.answer), s.answer.Message))
}

// callOptimizer sends one request, bounded by the time that is left. The injected clock cuts it off.
func (s *Session) callOptimizer(ctx context.Context) error {
	began := s.Clock.Now()
	left := max(s.until.Sub(began), minRoundTime)
	request := &contract.SolveRequest{
		Snapshot: s.Snapshot.Message,
		Options: &contract.SolveOptions{
			Strategy:               s.Args.Strategy,
			TimeLimitS:             left.Seconds(),
			Policy:                 contract.Policy_POLICY_STRICT,
			Seed:                   s.Args.Seed,
			Deterministic:          s.Args.Deterministic,
			Workers:                s.Args.Workers,
			Objective:              contract.Objective_OBJECTIVE_PLACE,
			MaxMoves:               unlessZero(int32(s.limits().Moves)),
			MaxEvictions:           unlessZero(s.Args.Limits.MaxEvictions),
			MaxDisruptionsPerOwner: unlessZero(s.Args.Limits.MaxPerWorkload),
		},
	}
	if s.Args.Policy == config.PolicyPaper {
		request.Options.Policy = contract.Policy_POLICY_PAPER
	}
	if s.Record.Consolidates() {
		request.Options.Objective = contract.Objective_OBJECTIVE_CONSOLIDATE
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	grace := answerGrace + time.Duration(proto.Size(request))*readingGrace
	timer := s.Clock.AfterFunc(left+grace, func() { cancel(nil) })
	defer timer.Stop()
	s.active.Store(&activeSolve{s.Record.UID(), cancel})
	defer s.active.Store(nil)
	answer, err := s.Solver.Solve(ctx, request, func(better *contract.Plan) error {
		return s.verifyIntermediate(ctx, better)
	})
	spent := s.Clock.Since(began).Seconds()
	s.Record.Status.SolveSeconds += spent
	metrics.SolveSeconds.Observe(spent)
	s.answer = answer
	if errors.Is(context.Cause(ctx), errAborted) {
		return errAborted
	}
	return err
}

// unlessZero is a limit in the contract, where an absent field is no limit, and 0 allows none.
func unlessZero(limit int32) *int32 {
	if limit == 0 {
		return nil
	}
	return &limit
}

// Policy is what the session's plans may do.
func (s *Session) Policy() plan.Policy {
	switch others := s.Rules.Schedulers; {
	case !s.Record.Consolidates():
		return s.Args.Policy.Plan()
	case others == nil || others.Equal(sets.New(s.Rules.SchedulerName)):
		return plan.Consolidate
	}
	return plan.Drain
}

// limits are those of the profile, within which the plan may ask for fewer moves, and must fit into its object.
func (s *Session) limits() plan.Limits {
	limits := s.Args.Limits.OfPlan()
	for _, most := range []*int32{s.Record.Spec.MaxMoves, s.moveLimit} {
		if most != nil && (limits.Moves == 0 || int(*most) < limits.Moves) {
			limits.Moves = int(*most)
		}
	}
	return limits
}

// LiveSnapshot is the cluster as it is, under the rules of the session.
func (s *Session) LiveSnapshot(id string) *snapshot.Snapshot {
	return s.View.SnapshotUnder(s.Rules, id, clusterview.AnyPod)
}
