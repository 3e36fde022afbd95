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
	messageAborted  = "aborted at a user's request"
	// messageQueueFull is the message of a user's plan that is refused because too many others wait.
	messageQueueFull = "too many plans wait for the optimiser; create it again when some of them are done"
)

// nextApproved is a proposal that a user has approved.
func (l *loop) nextApproved(all []*packingplan.Record) *packingplan.Record {
	for _, record := range all {
		if record.Approved() && !record.Spec.Abort && !l.records.approved.Has(record.UID()) {
			return l.fresh(record)
		}
	}
	return nil
}

// executeApproved carries out a proposal unchanged, if it is still a good plan for the cluster and its disruptions are
// still within the limits.
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

// abortWaiting closes the plans that a user aborts before anything was carried out.
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

// errAborted ends the solve of a plan that its user aborts.
var errAborted = errors.New(messageAborted)

// activeSolve is the solve under way.
type activeSolve struct {
	plan   types.UID
	cancel context.CancelCauseFunc
}

// abortRequested says whether a user has asked to abort the plan.
func (l *loop) abortRequested(record *packingplan.Record) bool {
	shown := l.shown(record)
	return shown != nil && shown.Spec.Abort
}
