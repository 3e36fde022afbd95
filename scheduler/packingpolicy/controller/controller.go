// Package controller opens the windows of PackingPolicies: it has plans made while one is open, and ends them with it.
//
// A window is known by when it began, and its plans by the window and their number, so that a process that is killed
// anywhere can be followed by another one: no window is lost while it is open, and none is run twice.
package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

const (
	// resyncInterval is how often all policies are synced although nothing happened: windows begin by the clock.
	resyncInterval = time.Second
	// informerTimeout is how long an informer may take to show what was written.
	informerTimeout = 30 * time.Second
	// apiTimeout bounds each call to the API server.
	apiTimeout = 5 * time.Second
)

// Plans are the PackingPlan objects as the controller writes them.
type Plans interface {
	CreateNamed(ctx context.Context, metadata metav1.ObjectMeta, spec packingplan.Spec) (*packingplan.Record, error)
	Abort(ctx context.Context, name string) error
}

// Parts are a controller's dependencies.
type Parts struct {
	Clock    clock.WithTicker
	Policies packingpolicy.Store
	Plans    Plans
	// Watched and Planned show policies and plans.
	Watched, Planned cache.SharedIndexInformer
	Recorder         events.EventRecorder
	// Leads says whether this process still leads: one that was stopped for a while may have been followed by another.
	Leads func(context.Context) error
}

// Controller manages all policies. Only the leader may run it.
type Controller struct {
	Parts
	wake chan struct{}
	// written is what was written last of each policy, until the informer shows it.
	written map[types.UID]write
	// created is when this process made a plan, until the informer shows it.
	created map[string]time.Time
}

// write is the object that was replaced, and when.
type write struct {
	replaced *packingpolicy.Record
	at       time.Time
}

// New returns a controller that does not run yet. It syncs when one of its objects changes.
func New(parts Parts) (*Controller, error) {
	packingpolicy.RegisterMetrics()
	c := &Controller{Parts: parts, wake: make(chan struct{}, 1), written: map[types.UID]write{}, created: map[string]time.Time{}}
	changed := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.wakeUp() }, UpdateFunc: func(any, any) { c.wakeUp() }, DeleteFunc: func(any) { c.wakeUp() }}
	for _, informer := range []cache.SharedIndexInformer{parts.Watched, parts.Planned} {
		if _, err := informer.AddEventHandler(changed); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// wakeUp never blocks.
func (c *Controller) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		c.Step(ctx)
		timer := c.Clock.NewTimer(resyncInterval)
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// Step does what is due. Run calls it again and again; a program whose time passes as it says calls it instead.
func (c *Controller) Step(ctx context.Context) {
	// Before both are known, a plan that is there might be made again.
	if c.Watched.HasSynced() && c.Planned.HasSynced() {
		c.syncAll(ctx)
	}
}

// TakeWake says whether any object has changed since the last call.
func (c *Controller) TakeWake() bool {
	select {
	case <-c.wake:
		return true
	default:
		return false
	}
}

// syncAll advances every policy, the oldest first.
func (c *Controller) syncAll(ctx context.Context) {
	all := customobject.Records[*packingpolicy.Record](c.Watched.GetStore())
	for _, seen := range all {
		last := c.written[seen.UID()]
		if last.replaced == seen && c.Clock.Since(last.at) < informerTimeout {
			continue
		}
		if err := c.sync(ctx, seen); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			klog.FromContext(ctx).Error(err, "A policy waits", "policy", seen.Name())
		}
	}
	c.abortOrphans(ctx, all)
	maps.DeleteFunc(c.written, func(uid types.UID, _ write) bool {
		return !slices.ContainsFunc(all, func(record *packingpolicy.Record) bool { return record.UID() == uid })
	})
	maps.DeleteFunc(c.created, func(_ string, at time.Time) bool { return c.Clock.Since(at) >= informerTimeout })
}

// abortOrphans ends the plans of policies that are gone.
func (c *Controller) abortOrphans(ctx context.Context, present []*packingpolicy.Record) {
	for _, plan := range customobject.Records[*packingplan.Record](c.Planned.GetStore()) {
		if plan.Status.Phase.Final() || plan.Spec.Abort {
			continue
		}
		policy, of := plan.Labels()[packingpolicy.PolicyLabel]
		if !of || slices.ContainsFunc(present, func(one *packingpolicy.Record) bool { return one.Name() == policy }) {
			continue
		}
		if err := c.abort(ctx, plan.Name()); err != nil {
			klog.FromContext(ctx).Error(err, "A plan goes on without its policy", "plan", plan.Name(), "policy", policy)
		}
	}
}

// abort asks for the end of a plan, whoever carries it out.
func (c *Controller) abort(ctx context.Context, plan string) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	if err := c.Leads(ctx); err != nil {
		return err
	}
	return c.Plans.Abort(ctx, plan)
}

// sync brings one policy up to date. It does not change the informer's object.
func (c *Controller) sync(ctx context.Context, seen *packingpolicy.Record) error {
	record, err := packingpolicy.Read(seen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	turn := &turn{Controller: c, ctx: ctx, policy: record, now: c.Clock.Now()}
	acted := turn.advance()
	packingpolicy.Show(record.Name(), &record.Status)
	// What was done is written down in any case: the error may be that of the last of several steps.
	if equality.Semantic.DeepEqual(record.Status, seen.Status) {
		return acted
	}
	if err := c.Leads(ctx); err != nil {
		return err
	}
	if err := c.Policies.WriteStatus(ctx, &record.Object); err != nil {
		return errors.Join(acted, err)
	}
	c.written[seen.UID()] = write{seen, c.Clock.Now()}
	for _, say := range turn.said {
		say()
	}
	return acted
}

// plansOf are the plans of one window of a policy that the informer shows, by name.
func (c *Controller) plansOf(policy *packingpolicy.Record, window metav1.Time) map[string]*packingplan.Record {
	found := map[string]*packingplan.Record{}
	for _, plan := range customobject.Records[*packingplan.Record](c.Planned.GetStore()) {
		if plan.Labels()[packingpolicy.PolicyLabel] == policy.Name() &&
			plan.Annotations()[packingpolicy.WindowAnnotation] == stamp(window) {
			found[plan.Name()] = plan
			delete(c.created, plan.Name())
		}
	}
	return found
}

// stamp is how a window is written down on its plans.
func stamp(window metav1.Time) string { return window.UTC().Format(time.RFC3339) }
