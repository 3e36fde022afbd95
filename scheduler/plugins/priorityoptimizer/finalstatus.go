package priorityoptimizer

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// writeFinalStatuses writes how plans ended, and reports whether that is done for all of them. While the API server does
// not accept a status, it is written again and again, and no other plan starts: a plan that has ended must neither look
// active nor hold room.
func (l *loop) writeFinalStatuses(ctx context.Context) bool {
	for len(l.unwritten) > 0 {
		record := l.unwritten[0]
		err := l.writeFinalStatus(ctx, record)
		if !l.leads.Load() {
			return false
		}
		if err != nil && isTransient(err) {
			if text := err.Error(); text != l.writeError {
				l.writeError = text
				l.planLogger(record).Error(err, "The plan's final status cannot be written yet")
			}
			return false
		}
		if err != nil {
			l.planLogger(record).Error(err, "The plan's final status could not be written")
		}
		l.unwritten, l.writeError = l.unwritten[1:], ""
		l.prune(ctx, record)
	}
	return true
}

// writeFinalStatus writes the status and then releases the plan's room, as all other processes do when they see that the
// plan has ended. If another process has taken the plan over, the room is left to that process.
func (l *loop) writeFinalStatus(ctx context.Context, record *packingplan.Record) error {
	err := l.write(ctx, record)
	if isTooLarge(err) {
		// Better a status without details than a plan that looks active.
		record.Status = packingplan.Status{Phase: record.Status.Phase, Message: packingplan.Shortened(record.Status.Message),
			SnapshotID: record.Status.SnapshotID, StartTime: record.Status.StartTime, CompletionTime: record.Status.CompletionTime}
		err = l.write(ctx, record)
	}
	var overtaken *packingplan.OvertakenError
	if err == nil || !isTransient(err) && !errors.As(err, &overtaken) {
		l.releaseRoom(record)
	}
	return err
}

// isTooLarge says that the API server, or etcd behind it, will never accept the object. Errors of etcd are passed on as
// text only.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && strings.Contains(err.Error(), "request is too large")
}

// isTransient says that a later try may succeed. A server that has just started forbids for a while what it allows
// afterwards.
func isTransient(err error) bool {
	var overtaken *packingplan.OvertakenError
	return !errors.As(err, &overtaken) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsBadRequest(err) && !isTooLarge(err)
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
