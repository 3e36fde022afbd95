package priorityoptimizer

import (
	"context"
	"errors"
	"time"

	"github.com/stowage/stowage/scheduler/leadership"
)

// checkLead must pass before anything is evicted or written: a process that was stopped for longer than its lease
// continues in the middle of a plan that another process has taken over.
func (l *loop) checkLead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return l.noteLead(l.lease.Load().Check(ctx))
}

// checkLeadCached is checkLead for frequent actions: it reads the lease only as often as its duration demands.
func (l *loop) checkLeadCached(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return l.noteLead(l.lease.Load().CheckCached(ctx))
}

func (l *loop) noteLead(err error) error {
	var lost *leadership.LostError
	if errors.As(err, &lost) && l.leads.Swap(false) {
		l.logger.Error(err, "Plans are left to the leader")
	}
	return err
}

// standBy drops the plans of a process that has lost the lead, and reports whether it is still lost. The scheduler may
// have got the lease back before it noticed the loss: then the process starts leading anew.
func (l *loop) standBy(ctx context.Context) bool {
	if l.leads.Load() || l.leadingSince.IsZero() {
		return false
	}
	l.active, l.unwritten = nil, nil
	l.execution.Store(nil)
	if l.checkLead(ctx) != nil {
		return true
	}
	l.logger.Info("Leading again")
	l.leadingSince, l.records = time.Time{}, newRecords()
	l.Lead()
	return false
}
