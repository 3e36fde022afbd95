// Package keeper leads Reservations through their phases: it finds them a node, makes them
// available once there is room, and ends them when they expire or lose their node.
package keeper

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// lookAgain is how often reservations are looked at although nothing happened.
	lookAgain = time.Second
	// apiTimeout bounds each call to the API server.
	apiTimeout = 5 * time.Second
)

// Stage is where a node is found for a reservation.
type Stage interface {
	Place(ctx context.Context, pod *v1.Pod, wanted string) (string, error)
	Free(ctx context.Context) (map[string]resources.Vector, error)
}

// Parts are what a keeper works with.
type Parts struct {
	Clock    clock.WithTicker
	Store    *reservation.Store
	Ledger   *reservation.Ledger
	Stage    Stage
	Informer cache.SharedIndexInformer
	Recorder events.EventRecorderLogger
	// Retention is how long a failed reservation is kept.
	Retention time.Duration
	// Changed is called after what is reserved has changed.
	Changed func()
}

// Keeper is the controller of all reservations. Only the process that leads may run it.
type Keeper struct {
	Parts
	wake chan struct{}
}

// New returns a keeper that sleeps.
func New(parts Parts) *Keeper { return &Keeper{Parts: parts, wake: make(chan struct{}, 1)} }

// Wake makes the keeper look again. It never blocks.
func (k *Keeper) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		k.look(ctx)
		timer := k.Clock.NewTimer(lookAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-k.wake:
			timer.Stop()
		case <-timer.C():
		}
	}
}

// look takes every reservation as far as it goes now, the oldest first.
func (k *Keeper) look(ctx context.Context) {
	free, err := k.Stage.Free(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Reservations wait: the room on the nodes is not known")
		return
	}
	accounts := k.Ledger.Accounts()
	for _, record := range records(ctx, k.Informer.GetStore().List()) {
		err := k.advance(ctx, record, free, accounts[record.UID()])
		if overtaken := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !overtaken {
			klog.FromContext(ctx).Error(err, "A reservation stays as it is", "reservation", record.Name())
		}
	}
}

// advance takes one reservation to its next phase, if it is time.
func (k *Keeper) advance(ctx context.Context, record *reservation.Record, free map[string]resources.Vector, account reservation.Account) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	before := record.Status.DeepCopy()
	now := k.Clock.Now()
	switch {
	case record.Status.Phase == reservation.Failed:
		return k.collect(ctx, record, now)
	case expired(record, now):
		fail(record, reservation.ReasonExpired, "its time is over", now)
	case record.Status.Phase == reservation.Pending:
		if err := k.place(ctx, record, now); err != nil {
			return err
		}
	case !present(free, record.Status.NodeName):
		fail(record, reservation.ReasonNodeGone, "node "+record.Status.NodeName+" is gone", now)
	case record.Status.Phase == reservation.Waiting:
		k.settle(record, free, now)
	}
	book(record, account)
	if record.Status.Equal(before) {
		return nil
	}
	if err := k.Store.WriteStatus(ctx, record); err != nil {
		return err
	}
	k.Ledger.Put(record)
	k.announce(record, before)
	k.Changed()
	return nil
}

// place finds a node. The books know of it before the room is looked at again: who was let in
// meanwhile is noticed, and nobody is let in afterwards.
func (k *Keeper) place(ctx context.Context, record *reservation.Record, now time.Time) error {
	node, err := k.choose(ctx, record)
	var lacking *rehearsal.UnplaceableError
	switch {
	case errors.As(err, &lacking):
		record.Status.Set(reservation.ConditionScheduled, false, reservation.ReasonUnschedulable, lacking.Error(), now)
		return nil
	case err != nil:
		return err
	}
	record.Status.NodeName, record.Status.Phase = node, reservation.Waiting
	record.Status.Allocatable = record.Requests().List()
	k.Ledger.Put(record)
	free, err := k.Stage.Free(ctx)
	if err != nil {
		k.Ledger.Withdraw(record.UID())
		return err
	}
	if !k.Ledger.HasRoom(record, free[node]) && !record.Spec.PreAllocation {
		k.Ledger.Withdraw(record.UID())
		record.Status.NodeName, record.Status.Phase, record.Status.Allocatable = "", reservation.Pending, nil
		return nil // somebody was quicker; it is tried again
	}
	record.Status.Set(reservation.ConditionScheduled, true, reservation.ReasonScheduled, "", now)
	k.settle(record, free, now)
	return nil
}

// choose asks the profile's plugins for a node. The rooms of a plan were rehearsed with it.
func (k *Keeper) choose(ctx context.Context, record *reservation.Record) (string, error) {
	if record.Plan() != "" {
		return record.Wanted(), nil
	}
	pod := record.Pod()
	if record.Spec.PreAllocation {
		withoutRequests(pod)
	}
	return k.Stage.Place(ctx, pod, record.Wanted())
}

// settle makes the reservation available once its room is free.
func (k *Keeper) settle(record *reservation.Record, free map[string]resources.Vector, now time.Time) {
	if !k.Ledger.HasRoom(record, free[record.Status.NodeName]) {
		record.Status.Set(reservation.ConditionReady, false, reservation.ReasonWaiting,
			"waits for room on node "+record.Status.NodeName, now)
		return
	}
	record.Status.Phase = reservation.Available
	record.Status.Set(reservation.ConditionReady, true, reservation.ReasonAvailable, "", now)
}

// collect deletes a failed reservation when its time has come.
func (k *Keeper) collect(ctx context.Context, record *reservation.Record, now time.Time) error {
	ready := record.Status.Condition(reservation.ConditionReady)
	if ready != nil && now.Sub(ready.LastTransitionTime.Time) < k.Retention {
		return nil
	}
	return k.Store.Delete(ctx, record)
}

func (k *Keeper) announce(record *reservation.Record, before *reservation.Status) {
	if k.Recorder == nil || record.Status.Phase == before.Phase || record.Plan() != "" {
		return
	}
	kind, message := v1.EventTypeNormal, "on node "+record.Status.NodeName
	if record.Status.Phase == reservation.Failed {
		kind = v1.EventTypeWarning
		message = record.Status.Condition(reservation.ConditionReady).Message
	}
	k.Recorder.Eventf(record.Reference(), nil, kind, string(record.Status.Phase), "Reserve", "%s", message)
}
