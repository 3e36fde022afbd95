package priorityoptimizer

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

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
	return l.placing != nil
}

// keepBack has the pods of the plan's owners wait until it is called with nil or another plan, and keeps all others out
// of the plan's room: whether it can be resumed cannot be decided yet, and they would take each other's room.
func (l *loop) keepBack(record *packingplan.Record) {
	if l.letGo != nil && (record == nil || record.UID() != l.undecided) {
		l.letGo()
		l.letGo = nil
	}
	if record == nil || l.letGo != nil {
		return
	}
	owners := sets.New[types.UID]()
	for _, step := range record.Status.Steps {
		owners.Insert(snapshot.ReplicaKeyOf(step).Owner)
	}
	l.undecided = record.UID()
	l.letGo = l.plugin.HoldBack(func(pod *v1.Pod) bool { return owners.Has(snapshot.OwnerOf(pod)) }, gate.ReasonUndecided,
		func() map[string]resources.Vector { return l.records.Ledger.Outstanding(record.UID()) })
}

// resume continues the plan or closes it. It reports true if that cannot be decided yet.
func (l *loop) resume(ctx context.Context, record *packingplan.Record) (again bool) {
	session, left := l.planner.NewSession(record), execution.Remainder{}
	if !record.PlacedElsewhere() {
		session.Snapshot = session.LiveSnapshot(record.Status.SnapshotID)
		left = execution.RemainderOf(record, session.Snapshot)
		session.Steps, session.CarriedOn = left.Steps, left.CarriedOn
	}
	active, err := l.activatePlan(ctx, session, left)
	if err != nil {
		var raised *planning.Objection
		var refused *plan.RefusedError
		roomToCome := errors.As(err, &raised) && raised.NoRoom ||
			left.Leaving && (!errors.As(err, &refused) || !refused.Reason.IsAboutNode())
		message := messageRestarted + ", and cannot be resumed: " + err.Error()
		switch {
		case l.records.AbortRequested(record):
			message = records.MessageAborted
		case roomToCome && l.clock.Since(l.leadingSince) < takeOverTimeout:
			return true
		default:
			planning.CountRefusal(err)
		}
		l.plugin.Trigger.Failed()
		l.runner.CloseNodes(ctx, record, message)
		l.records.Finish(ctx, record, packingplan.Aborted, message)
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
