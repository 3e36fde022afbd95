package priorityoptimizer

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// settleEnds puts down how plans ended, and reports whether that is done for all of them. While the
// API server does not take it, it is tried again and again, and no other plan begins: a plan that is
// over must neither look alive nor hold room.
func (l *loop) settleEnds(ctx context.Context) bool {
	for len(l.ends) > 0 {
		record := l.ends[0]
		err := l.settleEnd(ctx, record)
		if !l.leads.Load() {
			return false
		}
		if err != nil && mayPass(err) {
			if text := err.Error(); text != l.endsWait {
				l.endsWait = text
				l.planLogger(record).Error(err, "The plan's end cannot be put down yet")
			}
			return false
		}
		if err != nil {
			l.planLogger(record).Error(err, "The plan's end could not be put down")
		}
		l.ends, l.endsWait = l.ends[1:], ""
		l.prune(ctx, record)
	}
	return true
}

// settleEnd first ends what was reserved: a process that dies in between leaves a plan that the next
// one finds, where room that nobody knows of would be held until it expires.
func (l *loop) settleEnd(ctx context.Context, record *packingplan.Record) error {
	if err := l.releaseRoom(ctx, record); err != nil {
		return err
	}
	return l.write(ctx, record)
}

// mayPass says that an error is of the moment, not of what was asked for. A server that has just been
// started forbids for a while what it allows afterwards.
func mayPass(err error) bool {
	var overtaken *packingplan.OvertakenError
	return !errors.As(err, &overtaken) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsBadRequest(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// prune deletes the oldest finished plans beyond the limit.
func (l *loop) prune(ctx context.Context, last *packingplan.Record) {
	records := []*packingplan.Record{last}
	for _, record := range l.allRecords() {
		if record.UID() != last.UID() {
			records = append(records, record)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	for _, name := range packingplan.Outdated(records, int(*l.args.HistoryLimit)) {
		if err := l.store.Delete(ctx, name); err != nil {
			l.logger.Error(err, "An old plan could not be deleted", "plan", name)
			return
		}
	}
}
