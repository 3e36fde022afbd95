// Package controller asks for the PackingPlans of PackingPolicies: one at a time for each policy, while a window of the
// policy is open and its budget lasts. What a plan does is for the scheduler's plugin, as with any plan that is asked for.
package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

const (
	// syncInterval is how often all policies are synced although nothing happened: windows open and end by the clock.
	syncInterval = time.Second
	// minSyncInterval is the least time between two syncs.
	minSyncInterval = 100 * time.Millisecond
	// apiTimeout bounds each call to the API server.
	apiTimeout = 5 * time.Second
	// informerTimeout is how long the informer may take to show a plan that was created.
	informerTimeout = 5 * time.Second
	// failedPause is the least time after a plan could not be created.
	failedPause = 30 * time.Second
)

// Reasons of the condition Planning.
const (
	reasonPlanning       = "PlanUnderWay"
	reasonApproval       = "AwaitsApproval"
	reasonInvalid        = "Invalid"
	reasonSuspended      = "Suspended"
	reasonClosed         = "WindowClosed"
	reasonBudget         = "BudgetSpent"
	reasonInterval       = "Interval"
	reasonFailed         = "PlanNotCreated"
	reasonOpen           = "Open"
	reasonRead           = "Read"
	messageSuspended     = "spec.suspend is set"
	messageClosed        = "no window is open; see status.nextWindow"
	messageNeverOpens    = "no window ever opens again"
	messageAfterInterval = "the last plan, %s, has ended as %s; the next one comes at %s"
)

// Parts are a controller's dependencies.
type Parts struct {
	Clock    clock.WithTicker
	Client   dynamic.Interface
	Policies cache.SharedIndexInformer
	Plans    cache.SharedIndexInformer
	Recorder events.EventRecorderLogger
	// Lease says whether this process still leads; nil where no other process can.
	Lease *leadership.Lease
}

// Controller looks after all policies. Only the leader may run it.
type Controller struct {
	Parts
	policies customobject.Store[packingpolicy.Spec, packingpolicy.Status]
	plans    *packingplan.Store
	wake     chan struct{}
	// notBefore is when a policy whose plan could not be created is tried again, and why it could not.
	notBefore map[types.UID]failure
	// missingSince is since when the informer has lacked a policy's plan that has not ended.
	missingSince map[types.UID]time.Time
}

type failure struct {
	until time.Time
	why   string
}

// New returns a controller that does not run yet.
func New(parts Parts) (*Controller, error) {
	c := &Controller{Parts: parts, policies: packingpolicy.NewStore(parts.Client), plans: packingplan.NewStore(parts.Client),
		wake: make(chan struct{}, 1), notBefore: map[types.UID]failure{}, missingSince: map[types.UID]time.Time{}}
	changed := func(any) { c.wakeUp() }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(_, object any) { changed(object) }}
	for _, informer := range []cache.SharedIndexInformer{parts.Policies, parts.Plans} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watching for packing policies: %w", err)
		}
	}
	return c, nil
}

func (c *Controller) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) {
	for {
		c.syncAll(ctx)
		if !c.sleep(ctx, minSyncInterval, nil) || !c.sleep(ctx, syncInterval-minSyncInterval, c.wake) {
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

// syncAll brings every policy up to date. Until both informers are complete, a plan that there is might be missed.
func (c *Controller) syncAll(ctx context.Context) {
	if !c.Policies.HasSynced() || !c.Plans.HasSynced() {
		return
	}
	for _, object := range c.Policies.GetStore().List() {
		seen, ok := object.(*packingpolicy.Record)
		if !ok {
			continue
		}
		err := c.sync(ctx, seen)
		if overtaken := apierrors.IsNotFound(err) || apierrors.IsConflict(err); err != nil && !overtaken {
			klog.FromContext(ctx).Error(err, "A packing policy stays as it is", "policy", seen.Name())
		}
	}
}

// sync does what is due for one policy, and writes its status if that has changed.
func (c *Controller) sync(ctx context.Context, seen *packingpolicy.Record) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	record, err := packingpolicy.Read(seen)
	if err != nil {
		return err
	}
	now := c.Clock.Now()
	status := &record.Status
	status.ObservedGeneration = record.Generation()
	c.followPlan(record, now)
	windows, err := packingpolicy.NewWindows(&record.Spec)
	set := func(condition string, holds bool, reason, message string) {
		status.Set(condition, holds, reason, message, record.Generation(), now)
	}
	if err != nil {
		set(packingpolicy.Valid, false, reasonInvalid, err.Error())
		windows = &packingpolicy.Windows{}
	} else {
		set(packingpolicy.Valid, true, reasonRead, "")
	}
	open, isOpen := windows.Open(now)
	enterWindow(status, open, isOpen)
	status.NextWindow = nil
	if next, is := windows.Next(now); is {
		status.NextWindow = &packingpolicy.NextWindow{Opens: metav1.NewTime(next.At), Ends: metav1.NewTime(next.Ends)}
	}
	set(packingpolicy.WindowOpen, isOpen, map[bool]string{true: reasonOpen, false: reasonClosed}[isOpen], "")
	reason, message := c.obstacle(record, now)
	if err != nil {
		reason, message = reasonInvalid, err.Error()
	}
	if reason == "" {
		reason, message = c.ask(ctx, record, now)
	}
	set(packingpolicy.Planning, reason == reasonPlanning || reason == reasonApproval, reason, message)
	if equality.Semantic.DeepEqual(record.Status, seen.Status) {
		return nil
	}
	if err := c.Lease.CheckCached(ctx); err != nil {
		return err
	}
	if err := c.policies.WriteStatus(ctx, &record.Object); err != nil {
		return err
	}
	c.announce(record, seen)
	return nil
}

// obstacle is why no plan is made now, or that one is under way; "" if one is to be made.
func (c *Controller) obstacle(record *packingpolicy.Record, now time.Time) (reason, message string) {
	spec, status := &record.Spec, &record.Status
	last := status.LastPlan
	failed := c.notBefore[record.UID()]
	switch {
	case last.Open() && last.Phase == packingplan.Proposed && spec.Approval != packingpolicy.Automatic:
		return reasonApproval, fmt.Sprintf("plan %s waits for approval: set its spec.executionMode to Execute", last.Name)
	case last.Open():
		return reasonPlanning, "plan " + last.Name
	case status.Window == nil && status.NextWindow == nil:
		return reasonClosed, messageNeverOpens
	case status.Window == nil:
		return reasonClosed, messageClosed
	case spec.Suspend:
		return reasonSuspended, messageSuspended
	case status.Window.Moves >= spec.Budget.MaxMovesPerWindow:
		return reasonBudget, fmt.Sprintf("%d pods were moved in this window, of %d that may be",
			status.Window.Moves, spec.Budget.MaxMovesPerWindow)
	case now.Before(failed.until):
		return reasonFailed, failed.why
	case last != nil && last.Ended != nil && last.Window.Equal(&status.Window.Opened):
		if at := last.Ended.Add(time.Duration(spec.IntervalSeconds) * time.Second); now.Before(at) {
			return reasonInterval, fmt.Sprintf(messageAfterInterval, last.Name, last.Phase, at.UTC().Format(time.RFC3339))
		}
	}
	return "", ""
}

// ask creates the policy's next plan. Its name is made of the window and a number, so that a process that ends between
// this and the write of the status does not leave a plan behind that nobody counts.
func (c *Controller) ask(ctx context.Context, record *packingpolicy.Record, now time.Time) (reason, message string) {
	window := record.Status.Window
	name := fmt.Sprintf("%s-%s-%d", record.Name(), window.Opened.UTC().Format("20060102t150405"), window.Plans+1)
	spec := planSpec(record)
	made, err := c.create(ctx, record, name, spec)
	if errors.Is(err, errNotShown) {
		return reasonPlanning, "plan " + name
	}
	if err != nil {
		why := err.Error()
		if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			why += "; is the CRD of PackingPlans of this release installed? Helm does not upgrade it"
		}
		c.notBefore[record.UID()] = failure{now.Add(failedPause), why}
		return reasonFailed, why
	}
	delete(c.notBefore, record.UID())
	window.Plans++
	record.Status.LastPlan = &packingpolicy.LastPlan{Name: name, UID: made.UID(), Window: window.Opened,
		Phase: packingplan.Pending, Moves: *spec.MaxMoves}
	return reasonPlanning, "plan " + name
}

// create creates the plan, unless a process before this one has.
func (c *Controller) create(
	ctx context.Context, record *packingpolicy.Record, name string, spec packingplan.Spec,
) (*packingplan.Record, error) {
	if err := c.Lease.Check(ctx); err != nil {
		return nil, err
	}
	controls := true
	made, err := c.plans.CreateAs(ctx, metav1.ObjectMeta{Name: name,
		Labels: map[string]string{packingplan.PolicyLabel: record.Name()},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: packingpolicy.Resource.GroupVersion().String(),
			Kind: packingpolicy.Kind, Name: record.Name(), UID: record.UID(), Controller: &controls}}}, spec)
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	known := c.planNamed(name)
	if known == nil {
		return nil, errNotShown
	}
	if known.Labels()[packingplan.PolicyLabel] != record.Name() {
		return nil, fmt.Errorf("%w; it is not of this policy: delete it", err)
	}
	return known, nil
}

// planSpec is what the policy's next plan is asked for.
func planSpec(record *packingpolicy.Record) packingplan.Spec {
	spec, window := &record.Spec, record.Status.Window
	most, none := min(spec.Budget.MaxMovesPerPlan, spec.Budget.MaxMovesPerWindow-window.Moves), int32(0)
	mode := packingplan.DryRun
	if spec.Approval == packingpolicy.Automatic {
		mode = packingplan.Execute
	}
	notAfter := window.Ends
	return packingplan.Spec{ExecutionMode: mode, Trigger: packingplan.TriggerPolicy, Objective: spec.Objective,
		TimeLimitSeconds: spec.TimeLimitSeconds, MaxMoves: &most, MaxEvictions: &none,
		MinGainPerMove: &spec.MinGainPerMove, CoolDownSeconds: &spec.CoolDownSeconds,
		NamespaceSelector: spec.NamespaceSelector, NotAfter: &notAfter}
}

// planNamed is the plan of that name, or nil.
func (c *Controller) planNamed(name string) *packingplan.Record {
	object, known, err := c.Plans.GetStore().GetByKey(name)
	if err != nil || !known {
		return nil
	}
	plan, ok := object.(*packingplan.Record)
	if !ok {
		return nil
	}
	return plan
}

// announce records what has happened as events of the policy.
func (c *Controller) announce(record, seen *packingpolicy.Record) {
	if c.Recorder == nil {
		return
	}
	for _, one := range eventsOf(&record.Status, &seen.Status) {
		kind := v1.EventTypeNormal
		if one.warning {
			kind = v1.EventTypeWarning
		}
		c.Recorder.Eventf(record.Reference(), nil, kind, one.reason, "Plan", "%s", packingplan.Shortened(one.note))
	}
}

// errNotShown says that the plan was created before, but the informer does not show it yet.
var errNotShown = errors.New("the plan is not known yet")
