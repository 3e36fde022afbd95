package priorityoptimizer

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
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
	if !session.Record.IsRehearsed() {
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
func (l *loop) carryOut(ctx context.Context, active *execution.Execution) error {
	if err := l.records.Write(ctx, active.Record); err != nil {
		if l.execution == nil {
			l.plugin.Execution.Store(nil)
		}
		return err
	}
	if active.Record.IsRehearsed() {
		l.drain = active
	} else {
		l.execution = active
	}
	l.plugin.Hold.End()
	return nil
}

// activatePlan checks the plan on the live state and opens its places, if this scheduler places its pods. If a pod is bound
// to one of the plan's nodes between the two, it starts over. Pods may be bound to other nodes at any time. The replacements
// of awaited moves have places although no pod of the snapshot takes them.
func (l *loop) activatePlan(ctx context.Context, session *planning.Session, left execution.Remainder) (*execution.Execution, error) {
	if session.Record.IsRehearsed() {
		return l.runner.Empty(session.Record, session.Rules), nil
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
		execution := executor.New(checked, now.Free(), int(l.args.Limits.MaxUnavailablePerWorkload))
		execution.Expect(executor.PlacesOf(&expected))
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
		l.records.Ledger.CarryPlan(session.Record.UID(), execution)
		if !addedOn(checked.Nodes()) {
			after := checked.NodesAfter()
			for uid, state := range execution.States() {
				if state == packingplan.NotNeeded {
					delete(after, uid)
				}
			}
			for _, step := range left.Awaited {
				after[types.UID(step.PodUID)] = step.To
			}
			active := l.runner.Place(session.Record, session.Rules, now, checked, execution, after, left)
			active.NextChange = session.NextChange
			if session.Record.Status.Optimal {
				active.Proof = session.Expected(after)
			}
			return active, nil
		}
		l.plugin.Execution.Store(nil)
	}
	return nil, errors.New("pods were being bound to its nodes while the plan was about to begin")
}

// takeOverTimeout is how long the pods that a former process evicted may take to terminate before its plan is aborted.
const takeOverTimeout = 8 * time.Second

const messageRestarted = "the scheduler was restarted while the plan was open"

// takeOver handles the plans that a former process left open. A plan that was being carried out is resumed if the rest of
// it is still a good plan for the cluster; the others are closed. It reports whether the loop is busy with one.
func (l *loop) takeOver(ctx context.Context, all []*packingplan.Record) bool {
	var undecided *packingplan.Record
	defer func() { l.keepBack(undecided) }()
	for _, record := range l.records.Unhandled(all) {
		if records.IsManual(record) {
			continue
		}
		if record.Status.Phase != packingplan.Executing {
			l.records.Close(ctx, record, packingplan.Aborted, messageRestarted)
			continue
		}
		if record = l.records.Fresh(record); record == nil {
			continue
		}
		if again := l.resume(ctx, record); again {
			undecided = record
			return true
		}
		l.records.Handled.Insert(record.UID())
	}
	return l.execution != nil
}

// keepBack has the pods of the plan's owners wait until it is called with nil: whether the plan can be resumed cannot be
// decided yet, and they would take each other's room.
func (l *loop) keepBack(record *packingplan.Record) {
	switch {
	case record == nil && l.letGo != nil:
		l.letGo()
		l.letGo = nil
	case record != nil && l.letGo == nil:
		owners := sets.New[types.UID]()
		for _, step := range record.Status.Steps {
			owners.Insert(snapshot.KindOf(step).Owner)
		}
		l.letGo = l.plugin.BeginSolve(func(pod *v1.Pod) bool { return owners.Has(snapshot.OwnerOf(pod)) })
	}
}

// resume continues the plan or closes it. It reports true if that cannot be decided yet.
func (l *loop) resume(ctx context.Context, record *packingplan.Record) (again bool) {
	session, left := l.planner.NewSession(record), execution.Remainder{}
	if !record.IsRehearsed() {
		session.Snapshot = session.Now(record.Status.SnapshotID)
		left = execution.RemainderOf(record, session.Snapshot)
		session.Steps = left.Steps
	}
	active, err := l.activatePlan(ctx, session, left)
	if err != nil {
		var raised *planning.Objection
		roomToCome := left.Leaving || errors.As(err, &raised) && raised.NoRoom
		if roomToCome && l.clock.Since(l.leadingSince) < takeOverTimeout {
			return true
		}
		planning.CountRefusal(err)
		l.plugin.Trigger.Failed()
		l.runner.CloseNodes(ctx, record, messageRestarted)
		l.records.Finish(ctx, record, packingplan.Aborted, messageRestarted+", and cannot be resumed: "+err.Error())
		return false
	}
	// If another process has continued the plan in the meantime, its status says so and this write fails.
	if err := l.carryOut(ctx, active); err != nil {
		l.records.Logger(record).Error(err, "The plan is not resumed")
		return records.IsTransient(err)
	}
	l.records.Logger(record).Info("Resuming the plan of a former process", "steps", len(left.Steps))
	return false
}
