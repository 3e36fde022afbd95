package priorityoptimizer

import (
	"context"

	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

const (
	messageProposed = "nothing was done yet; set spec.mode to Execute to have the plan carried out"
	messageAborted  = "given up at a user's request"
)

// nextApproved is a proposal that a user wants to have carried out.
func (l *loop) nextApproved(all []*packingplan.Record) *packingplan.Record {
	for _, record := range all {
		if record.Approved() && !record.Spec.Abort && !l.records.approved.Has(record.UID()) {
			return record
		}
	}
	return nil
}

// carryOutApproved carries a proposal out as it is, if it still is a good plan for the cluster.
func (l *loop) carryOutApproved(ctx context.Context, record *packingplan.Record) {
	l.records.approved.Insert(record.UID())
	record.Status.CompletionTime = nil
	now, err := l.view.snapshot(record.Status.SnapshotID)
	if err != nil {
		l.finish(ctx, record, packingplan.Aborted, err.Error())
		return
	}
	q := &question{record: record, asked: now, recalled: true, answer: &optimizerclient.Answer{Plan: messageOf(&record.Status)}}
	checked, err := plan.Check(q.answer.Plan, now, l.policy())
	if err != nil {
		countRefusal(err)
		l.finish(ctx, record, packingplan.Aborted, "the cluster has changed since: "+err.Error())
		return
	}
	l.begin(ctx, q, checked)
}

// abortWaiting closes the plans that a user gives up before anything of them was done.
func (l *loop) abortWaiting(ctx context.Context, all []*packingplan.Record) {
	for _, record := range all {
		waits := isManual(record) || record.Status.Phase == packingplan.Proposed
		if record.Spec.Abort && waits && !l.records.aborted.Has(record.UID()) {
			l.records.aborted.Insert(record.UID())
			l.records.handled.Insert(record.UID())
			l.finish(ctx, record, packingplan.Aborted, messageAborted)
		}
	}
}

// abortAsked says whether a user wants the plan to be given up.
func (l *loop) abortAsked(record *packingplan.Record) bool {
	latest := l.latest(record)
	return latest != nil && latest.Spec.Abort
}
