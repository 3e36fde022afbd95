package priorityoptimizer

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

const (
	messageProposed = "nothing was done yet; set spec.mode to Execute to have the plan carried out"
	messageAborted  = "given up at a user's request"
	// messageQueueFull is said to whoever asks for one plan too many.
	messageQueueFull = "too many plans wait for the optimiser; create it again when some of them are done"
)

// nextApproved is a proposal that a user wants to have carried out.
func (l *loop) nextApproved(all []*packingplan.Record) *packingplan.Record {
	for _, record := range all {
		if record.Approved() && !record.Spec.Abort && !l.records.approved.Has(record.UID()) {
			return l.fresh(record)
		}
	}
	return nil
}

// executeApproved carries a proposal out as it is, if it still is a good plan for the cluster, and what it disturbs
// still is within the limits.
func (l *loop) executeApproved(ctx context.Context, record *packingplan.Record) {
	l.records.approved.Insert(record.UID())
	record.Status.CompletionTime = nil
	session := &solveSession{record: record, fromRecord: true, history: l.history(),
		answer: &optimizerclient.Answer{Plan: messageOf(&record.Status)}}
	l.hold.begin(holdMargin)
	var err error
	if session.snapshot, err = l.view.snapshot(record.Status.SnapshotID); err != nil {
		l.finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	l.applyConstraints(session)
	checked, err := plan.Check(session.answer.Plan, session.snapshot, l.policy())
	if err == nil {
		err = l.checkDisruptions(session, checked)
	}
	if err != nil {
		countRefusal(err)
		l.finish(ctx, record, packingplan.Aborted, "the cluster has changed since: "+err.Error())
		return
	}
	l.startPlan(ctx, session, checked)
}

// abortWaiting closes the plans that a user gives up before anything of them was done.
func (l *loop) abortWaiting(ctx context.Context, all []*packingplan.Record) {
	for _, record := range all {
		waits := isManual(record) || record.Status.Phase == packingplan.Proposed
		if !record.Spec.Abort || !waits || l.records.aborted.Has(record.UID()) {
			continue
		}
		l.records.aborted.Insert(record.UID())
		l.records.handled.Insert(record.UID())
		if record := l.fresh(record); record != nil {
			l.finish(ctx, record, packingplan.Aborted, messageAborted)
		}
	}
}

// errAborted ends the solve of a plan that its user gives up.
var errAborted = errors.New(messageAborted)

// activeSolve is the solve under way.
type activeSolve struct {
	plan   types.UID
	cancel context.CancelCauseFunc
}

// abortRequested says whether a user wants the plan to be given up.
func (l *loop) abortRequested(record *packingplan.Record) bool {
	shown := l.shown(record)
	return shown != nil && shown.Spec.Abort
}
