package records

import (
	"context"
	"errors"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/reservation"
)

// Write writes the record's status.
func (r *Plans) Write(ctx context.Context, record *packingplan.Record) error {
	if err := r.Lead.Check(ctx); err != nil {
		return err
	}
	record.Status.Writer = r.Nonce
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	return r.Store.WriteStatus(ctx, record)
}

// Finish ends a plan, finally unless it is a proposal, and releases the pods that waited for it.
func (r *Plans) Finish(ctx context.Context, record *packingplan.Record, phase packingplan.Phase, message string) {
	r.Ended()
	if !r.Lead.Held.Load() {
		return
	}
	now := metav1.NewTime(r.Clock.Now())
	message = packingplan.Shortened(message) // it may be the optimiser's
	record.Status.Phase, record.Status.Message, record.Status.CompletionTime = phase, message, &now
	metrics.PlansTotal.WithLabelValues(string(phase)).Inc()
	r.Logger(record).Info("Plan finished", "phase", phase, "optimal", record.Status.Optimal, "message", message)
	if r.Recorder != nil {
		kind := v1.EventTypeNormal
		if phase == packingplan.Aborted || phase == packingplan.Failed {
			kind = v1.EventTypeWarning
		}
		r.Recorder.Eventf(record.Reference(), nil, kind, string(phase), "Plan", "%s", message)
	}
	r.Unwritten = append(r.Unwritten, record)
	r.WriteFinalStatuses(ctx)
}

// WriteFinalStatuses writes how plans ended. While the API server does not accept a status, it is written again and
// again, and no other plan starts: a plan that has ended must neither look active nor hold room.
func (r *Plans) WriteFinalStatuses(ctx context.Context) {
	for len(r.Unwritten) > 0 {
		record := r.Unwritten[0]
		err := r.writeFinalStatus(ctx, record)
		if !r.Lead.Held.Load() {
			return
		}
		if err != nil && IsTransient(err) {
			if text := err.Error(); text != r.writeError {
				r.writeError = text
				r.Logger(record).Error(err, "The plan's final status cannot be written yet")
			}
			return
		}
		if err != nil {
			r.Logger(record).Error(err, "The plan's final status could not be written")
		}
		r.Unwritten, r.writeError = r.Unwritten[1:], ""
		r.prune(ctx, record)
	}
}

// writeFinalStatus writes the status and then releases the plan's room, as all other processes do when they see that the
// plan has ended. If another process has taken the plan over, the room is left to that process.
func (r *Plans) writeFinalStatus(ctx context.Context, record *packingplan.Record) error {
	err := r.Write(ctx, record)
	if isTooLarge(err) {
		// Better a status without details than a plan that looks active.
		record.Status = packingplan.Status{Phase: record.Status.Phase, Message: packingplan.Shortened(record.Status.Message),
			SnapshotID: record.Status.SnapshotID, StartTime: record.Status.StartTime, CompletionTime: record.Status.CompletionTime}
		err = r.Write(ctx, record)
	}
	var overtaken *packingplan.OvertakenError
	if err == nil || !IsTransient(err) && !errors.As(err, &overtaken) {
		r.releaseRoom(record)
	}
	return err
}

// isTooLarge says that the API server, or etcd behind it, will never accept the object. Errors of etcd are passed on as
// text only.
func isTooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || err != nil && strings.Contains(err.Error(), "request is too large")
}

// IsTransient says that a later try may succeed. A server that has just started forbids for a while what it allows
// afterwards.
func IsTransient(err error) bool {
	var overtaken *packingplan.OvertakenError
	return !errors.As(err, &overtaken) && !apierrors.IsNotFound(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsBadRequest(err) && !isTooLarge(err)
}

// Unanswered says that the server did not decide about the request: it timed out or was unavailable.
func Unanswered(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsServiceUnavailable(err)
}

// HoldRoom reserves the room of every arrival of the plan before anything is evicted: no other pod may take what a plan
// frees. Every other process reserves it as soon as it sees that the plan is being carried out.
func (r *Plans) HoldRoom(record *packingplan.Record) {
	if ledger := r.Ledger.Load(); ledger != nil {
		ledger.HoldPlan(record.UID(), record.Name(), reservation.PlacesOf(record))
	}
}

// CarryRoom has the places of the plan's execution held in place of those in its object.
func (r *Plans) CarryRoom(record *packingplan.Record, places *reservation.Places) {
	if ledger := r.Ledger.Load(); ledger != nil {
		ledger.CarryPlan(record.UID(), places)
	}
}

// releaseRoom releases the room of a plan whose final status has been written, or cannot be. A proposal has not ended:
// it may still be carried out.
func (r *Plans) releaseRoom(record *packingplan.Record) {
	if ledger := r.Ledger.Load(); ledger != nil && record.Status.Phase.Final() {
		ledger.EndPlan(record.UID())
	}
}

// prune deletes the oldest finished plans beyond the limit. Plans that have disrupted pods are counted apart, and none is
// deleted before the workloads that it disrupted have cooled down, and are whole again where they lost a pod: what must
// not be moved again, or back, is known from them alone, and plans without an effect must not make it forgotten.
func (r *Plans) prune(ctx context.Context, last *packingplan.Record) {
	var disruptive, others []*packingplan.Record
	add := func(record *packingplan.Record) {
		switch {
		case r.remembersLoss(record):
		case len(movedBy(record)) > 0:
			disruptive = append(disruptive, record)
		default:
			others = append(others, record)
		}
	}
	add(last)
	for _, record := range r.All() {
		if record.UID() != last.UID() {
			add(record)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	cooled := slices.DeleteFunc(packingplan.Outdated(disruptive, r.HistoryLimit), func(record *packingplan.Record) bool {
		return r.Clock.Since(record.Completed()) < max(r.CoolDown, CoolDownOf(record))
	})
	for _, record := range append(cooled, packingplan.Outdated(others, r.HistoryLimit)...) {
		if err := r.Store.Delete(ctx, record.Name()); err != nil {
			r.Logger(record).Error(err, "An old plan could not be deleted")
			return
		}
	}
}
