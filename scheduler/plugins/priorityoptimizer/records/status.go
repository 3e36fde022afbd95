package records

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
)

const (
	// MaxRefusals and MaxTiers keep the status of a plan readable.
	MaxRefusals = 100
	MaxTiers    = 1000
	// MaxStatusBytes is the largest status of a plan: etcd accepts requests of 1.5 MiB, and the object also contains
	// what the API server records about it.
	MaxStatusBytes = 1 << 20
)

// SizeOf is the size of a status in bytes, as it is stored.
func SizeOf(status *packingplan.Status) int {
	encoded, err := json.Marshal(status.Stored())
	if err != nil {
		return MaxStatusBytes + 1 // plain structs always marshal
	}
	return len(encoded)
}

// DescribePlan puts the plan's steps into the status, and what the pods need that arrive.
func DescribePlan(status *packingplan.Status, of *plan.Plan) {
	status.Steps, status.Classes = nil, nil // of an earlier round
	classes := sets.New[string]()
	for _, step := range of.Steps() {
		pod := step.Pod
		made := &packingplan.Step{Unit: step.Unit, Pod: klog.KObj(pod.Object).String(), PodUID: string(pod.Object.UID),
			OwnerUID: string(pod.Owner), Class: pod.Class, From: step.From, To: step.To, Turn: step.Turn, Devices: step.Devices}
		if step.From != "" {
			made.State = packingplan.Waiting
		}
		status.Steps = append(status.Steps, made)
		if step.To != "" && !classes.Has(pod.Class) {
			classes.Insert(pod.Class)
			status.Classes = append(status.Classes, packingplan.Class{ID: pod.Class,
				Priority: corev1helpers.PodPriority(pod.Object), Requests: pod.Requests.List()})
		}
	}
}

// Write writes the record's status.
func (r *Plans) Write(ctx context.Context, record *packingplan.Record) error {
	if err := r.Leadership.Check(ctx); err != nil {
		return err
	}
	record.Status.Writer = r.Nonce
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	return r.Store.WriteStatus(ctx, record)
}

// Finish ends a plan, finally unless it is a proposal, and releases the pods that waited for it.
func (r *Plans) Finish(ctx context.Context, record *packingplan.Record, phase packingplan.Phase, message string) {
	r.ReleaseHeld()
	if !r.Leadership.Held.Load() {
		return
	}
	now := metav1.NewTime(r.Clock.Now())
	message = packingplan.Shortened(message) // it may be the optimiser's
	record.Status.Phase, record.Status.Message, record.Status.CompletionTime = phase, message, &now
	metrics.PlansTotal.WithLabelValues(string(phase)).Inc()
	r.Logger(record).Info("Plan finished", "phase", phase, "optimal", record.Status.Optimal, "message", message)
	if r.Recorder != nil {
		eventType := v1.EventTypeNormal
		if phase == packingplan.Aborted || phase == packingplan.Failed {
			eventType = v1.EventTypeWarning
		}
		r.Recorder.Eventf(record.Reference(), nil, eventType, string(phase), "Plan", "%s", message)
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
		if !r.Leadership.Held.Load() {
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
	settled := err == nil || !IsTransient(err) && !errors.As(err, &overtaken)
	if settled && record.Status.Phase.Final() { // a proposal has not ended: it may still be carried out
		r.Ledger.EndPlan(record.UID())
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
