// Package controller takes Reservations through their phases: it finds them a node, makes them
// available once there is room, and ends them when they expire or lose their node.
package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// resyncInterval is how often all reservations are synced although nothing happened.
	resyncInterval = time.Second
	// minSyncInterval is the least time between two syncs.
	minSyncInterval = 100 * time.Millisecond
	// accountInterval is the least time between two writes of what pods have taken from a reservation.
	accountInterval = 500 * time.Millisecond
	// informerTimeout is how long the informer may take to show a written status.
	informerTimeout = 2 * time.Second
	// apiTimeout bounds each call to the API server.
	apiTimeout = 5 * time.Second
)

// Placer finds nodes for reservations.
type Placer interface {
	Place(ctx context.Context, pod *v1.Pod, wanted string) (string, error)
	Free(ctx context.Context) (map[string]resources.Vector, error)
}

// Parts are a controller's dependencies.
type Parts struct {
	Clock    clock.WithTicker
	Store    reservation.Store
	Ledger   *reservation.Ledger
	Placer   Placer
	Informer cache.SharedIndexInformer
	Recorder events.EventRecorderLogger
	// Retention is how long a failed reservation is kept.
	Retention time.Duration
}

// Controller manages all reservations. Only the leader may run it.
type Controller struct {
	Parts
	wake chan struct{}
	// lastSyncs is what was seen and done last, by reservation.
	lastSyncs map[types.UID]*lastSync
}

// New returns a controller that does not run yet.
func New(parts Parts) *Controller {
	return &Controller{Parts: parts, wake: make(chan struct{}, 1), lastSyncs: map[types.UID]*lastSync{}}
}

// Wake makes the controller sync again. It never blocks.
func (c *Controller) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) {
	for {
		c.syncAll(ctx)
		if !c.sleep(ctx, minSyncInterval, nil) || !c.sleep(ctx, resyncInterval-minSyncInterval, c.wake) {
			return
		}
	}
}

// sleep reports false if the context ends first.
func (c *Controller) sleep(ctx context.Context, pause time.Duration, until <-chan struct{}) bool {
	timer := c.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-until:
	case <-timer.C():
	}
	return true
}

// syncAll advances every reservation as far as possible, the oldest first.
func (c *Controller) syncAll(ctx context.Context) {
	all := customobject.Records[*reservation.Record](c.Informer.GetStore())
	before := c.lastSyncs
	c.lastSyncs = make(map[types.UID]*lastSync, len(all))
	for _, record := range all {
		c.lastSyncs[record.UID()] = cmp.Or(before[record.UID()], &lastSync{})
	}
	if len(all) == 0 {
		return
	}
	free, err := c.Placer.Free(ctx)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Reservations wait: the room on the nodes is not known")
		return
	}
	for _, record := range all {
		err := c.sync(ctx, record, free)
		if overtaken := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !overtaken {
			klog.FromContext(ctx).Error(err, "A reservation stays as it is", "reservation", record.Name())
		}
	}
}

// sync takes one reservation to its next phase, if it is time. It does not change the informer's object.
func (c *Controller) sync(ctx context.Context, seen *reservation.Record, free map[string]resources.Vector) error {
	now := c.Clock.Now()
	last, version := c.lastSyncs[seen.UID()], c.Ledger.AccountVersion(seen.UID())
	if last.awaitsInformer(seen, now) || last.isUpToDate(seen, version, free, now) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	record, err := reservation.Read(seen)
	_, present := free[seen.Status.NodeName]
	switch {
	case err != nil:
		return err
	case record.Status.Phase == reservation.Failed:
		return c.collect(ctx, record, now)
	case record.Expired(now):
		fail(record, reservation.ReasonExpired, "its time is over", now)
	case record.Status.Phase == reservation.Pending:
		if err := c.place(ctx, record, now); err != nil {
			return err
		}
	case !present:
		fail(record, reservation.ReasonNodeGone, "node "+record.Status.NodeName+" is gone", now)
	case record.Status.Phase == reservation.Waiting:
		c.makeAvailable(record, free, now)
	}
	writeAccount(record, c.Ledger.Account(record.UID()))
	if equality.Semantic.DeepEqual(record.Status, seen.Status) {
		last.seen, last.version = seen, version
		return nil
	}
	if record.Status.Phase == seen.Status.Phase && now.Sub(last.at) < accountInterval {
		return nil // the next sync comes soon
	}
	if err := c.Store.WriteStatus(ctx, &record.Object); err != nil {
		return err
	}
	last.written, last.at = seen, now
	c.Ledger.Put(record)
	c.announce(record, seen.Status.Phase)
	return nil
}

// place has the profile's plugins choose a node. It enters the reservation in the ledger before it reads the free room again: that room accounts
// for pods that were bound meanwhile, and no pods can take the room afterwards.
func (c *Controller) place(ctx context.Context, record *reservation.Record, now time.Time) error {
	pod := record.Pod()
	if record.Spec.PreAllocation {
		withoutRequests(pod)
	}
	node, err := c.Placer.Place(ctx, pod, record.Spec.Template.Spec.NodeName)
	var lacking *framework.FitError
	switch {
	case errors.As(err, &lacking):
		record.Status.Set(reservation.ConditionScheduled, false, reservation.ReasonUnschedulable, lacking.Error(), now)
		return nil
	case err != nil:
		return err
	}
	record.Status.NodeName, record.Status.Phase = node, reservation.Waiting
	record.Status.Allocatable = c.Ledger.Requests(record).List()
	c.Ledger.Put(record)
	free, err := c.Placer.Free(ctx)
	if err != nil || !c.Ledger.HasRoom(record, free[node]) && !record.Spec.PreAllocation {
		record.Status.NodeName, record.Status.Phase, record.Status.Allocatable = "", reservation.Pending, nil
		c.Ledger.Put(record)
		return err // where other pods took the room first, it is tried again
	}
	record.Status.Set(reservation.ConditionScheduled, true, reservation.ReasonScheduled, "", now)
	c.makeAvailable(record, free, now)
	return nil
}

// makeAvailable makes the reservation available once its room is free.
func (c *Controller) makeAvailable(record *reservation.Record, free map[string]resources.Vector, now time.Time) {
	if !c.Ledger.HasRoom(record, free[record.Status.NodeName]) {
		record.Status.Set(reservation.ConditionReady, false, reservation.ReasonWaiting,
			"waits for room on node "+record.Status.NodeName, now)
		return
	}
	record.Status.Phase = reservation.Available
	record.Status.Set(reservation.ConditionReady, true, reservation.ReasonAvailable, "", now)
}

// collect deletes a failed reservation after the retention time.
func (c *Controller) collect(ctx context.Context, record *reservation.Record, now time.Time) error {
	ready := record.Status.Condition(reservation.ConditionReady)
	if ready != nil && now.Sub(ready.LastTransitionTime.Time) < c.Retention {
		return nil
	}
	return c.Store.Delete(ctx, &record.Object)
}

func (c *Controller) announce(record *reservation.Record, before reservation.Phase) {
	if c.Recorder == nil || record.Status.Phase == before {
		return
	}
	eventType, message := v1.EventTypeNormal, "on node "+record.Status.NodeName
	if record.Status.Phase == reservation.Failed {
		eventType = v1.EventTypeWarning
		message = record.Status.Condition(reservation.ConditionReady).Message
	}
	c.Recorder.Eventf(record.Reference(), nil, eventType, string(record.Status.Phase), "Reserve", "%s", message)
}
