// Package records reads and writes the PackingPlan objects, which are all that a later process knows of a plan.
package records

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/reservation"
)

const (
	// APITimeout bounds each call to the API server, so that the loop never hangs on one.
	APITimeout = 5 * time.Second
	// waitingPlans is how many plans of users may wait. Each takes the optimiser up to its time limit.
	waitingPlans = 16
	// refusedAtOnce bounds how many further ones are refused in one step.
	refusedAtOnce = 4
	// plansRemembered is how many handled plans are remembered: until the informer shows how they ended.
	plansRemembered = 10_000
)

const (
	MessageProposed = "nothing was done yet; set spec.executionMode to Execute to have the plan carried out"
	MessageAborted  = "aborted at a user's request"
	// MessageQueueFull is the message of a user's plan that is refused because too many others wait.
	MessageQueueFull = "too many plans wait for the optimiser; create it again when some of them are done"
)

// Ending is how a plan ends: the final phase, or the one in which a solve leaves it without a plan to carry out.
type Ending struct {
	Phase   packingplan.Phase
	Message string
}

// End says how a plan ends.
func End(phase packingplan.Phase, message string) *Ending { return &Ending{phase, message} }

// Plans reads and writes the PackingPlan objects. The loop alone uses it.
type Plans struct {
	Log      klog.Logger
	Clock    clock.PassiveClock
	Store    *packingplan.Store
	Informer cache.SharedIndexInformer
	Recorder events.EventRecorderLogger
	// Leadership says whether this process may write.
	Leadership *Leadership
	View       *clusterview.View
	// Ledger holds the room of plans.
	Ledger *reservation.Ledger
	// ReleaseHeld releases the pods that waited for a plan.
	ReleaseHeld func()
	// Nonce distinguishes the snapshots and the writes of two processes.
	Nonce        string
	HistoryLimit int
	// CoolDown is how long a plan that has disrupted pods is kept at least.
	CoolDown time.Duration

	// Handled are the plans that this process has handled, Answered those whose approval or abortion by a user it has
	// handled, which the informer may not show yet.
	Handled, Answered latest
	// StaleMarks: a node may keep pods off for a plan that is no longer carried out.
	StaleMarks bool
	// Unwritten are the plans that have ended and whose final status has not been written yet.
	Unwritten []*packingplan.Record
	// writeError is why not; each error is logged once.
	writeError string
}

// Forget lets plans be handled anew.
func (r *Plans) Forget() {
	r.Handled, r.Answered = newLatest(), newLatest()
}

// latest are the plans that were added last: far more than can be open at a time.
type latest struct{ cache *lru.Cache }

func newLatest() latest { return latest{lru.New(plansRemembered)} }

func (l latest) Insert(plan types.UID) { l.cache.Add(plan, nil) }

func (l latest) Has(plan types.UID) bool {
	_, here := l.cache.Get(plan)
	return here
}

// Watch calls the function with each plan that changes.
func (r *Plans) Watch(changed func(object any)) {
	// Adding a handler fails only on an informer that was stopped.
	_, _ = r.Informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }})
}

// Logger adds the plan's name to every line.
func (r *Plans) Logger(record *packingplan.Record) klog.Logger {
	return r.Log.WithValues("plan", record.Name())
}

// All are the plans as the informer shows them now, the oldest first. They must not be changed: fresh makes a copy to work on.
func (r *Plans) All() []*packingplan.Record {
	return customobject.Records[*packingplan.Record](r.Informer.GetStore())
}

// Unhandled are the open plans that this process has not handled, oldest first.
func (r *Plans) Unhandled(all []*packingplan.Record) []*packingplan.Record {
	var open []*packingplan.Record
	for _, record := range all {
		rests := record.AwaitsApproval() || record.Approved()
		if !record.Status.Phase.Final() && !rests && !r.Handled.Has(record.UID()) {
			open = append(open, record)
		}
	}
	return open
}

// Fresh is a copy of the plan as the informer shows it now; nil if the informer no longer has it.
func (r *Plans) Fresh(record *packingplan.Record) *packingplan.Record {
	shown := r.Shown(record)
	if shown == nil {
		return nil
	}
	read, err := packingplan.Read(shown)
	if err != nil {
		r.Log.Error(err, "Ignoring a PackingPlan that cannot be read")
		return nil
	}
	return read
}

// Shown is the plan in the informer, or nil.
func (r *Plans) Shown(record *packingplan.Record) *packingplan.Record {
	// PackingPlans have no namespace, so their name is their key.
	object, known, err := r.Informer.GetStore().GetByKey(record.Name())
	if err != nil || !known {
		return nil
	}
	if shown, ok := object.(*packingplan.Record); ok && shown.UID() == record.UID() {
		return shown
	}
	return nil
}

// AbortRequested says whether a user has asked to abort the plan.
func (r *Plans) AbortRequested(record *packingplan.Record) bool {
	shown := r.Shown(record)
	return shown != nil && shown.Spec.Abort
}

// IsManual says that a user created the record and no process has started on it.
func IsManual(record *packingplan.Record) bool {
	return !record.Ours() && (record.Status.Phase == "" || record.Status.Phase == packingplan.Pending)
}

// NextManual is the oldest plan with which a user asks for a solve and that need not wait. Plans beyond the number that may wait are refused,
// the newest first.
func (r *Plans) NextManual(
	ctx context.Context, all []*packingplan.Record, mustWait func(*packingplan.Record) bool,
) *packingplan.Record {
	waiting := slices.DeleteFunc(r.Unhandled(all), func(record *packingplan.Record) bool { return !IsManual(record) })
	for refused := 0; len(waiting) > waitingPlans && refused < refusedAtOnce; refused++ {
		last := len(waiting) - 1
		r.Close(ctx, waiting[last], packingplan.Failed, MessageQueueFull)
		waiting = waiting[:last]
	}
	waiting = slices.DeleteFunc(waiting, mustWait)
	if len(waiting) == 0 {
		return nil
	}
	return r.Fresh(waiting[0])
}

// NextApproved is a proposal that a user has approved and that need not wait.
func (r *Plans) NextApproved(all []*packingplan.Record, mustWait func(*packingplan.Record) bool) *packingplan.Record {
	for _, record := range all {
		if record.Approved() && !mustWait(record) && !record.Spec.Abort && !r.Answered.Has(record.UID()) {
			return r.Fresh(record)
		}
	}
	return nil
}

// Close ends a plan of the informer's of which nothing has been carried out.
func (r *Plans) Close(ctx context.Context, shown *packingplan.Record, phase packingplan.Phase, message string) {
	r.Handled.Insert(shown.UID())
	if record := r.Fresh(shown); record != nil {
		r.Finish(ctx, record, phase, message)
	}
}

// AbortWaiting closes the plans that a user aborts before anything was carried out.
func (r *Plans) AbortWaiting(ctx context.Context, all []*packingplan.Record) {
	for _, record := range all {
		waits := IsManual(record) || record.Status.Phase == packingplan.Proposed
		if !record.Spec.Abort || !waits || r.Answered.Has(record.UID()) {
			continue
		}
		r.Answered.Insert(record.UID())
		r.Close(ctx, record, packingplan.Aborted, MessageAborted)
	}
}

// Leadership says whether this process schedules: only then may it change anything.
type Leadership struct {
	Logger klog.Logger
	Held   atomic.Bool
	// Lease says whether the process still leads; nil if no other process can.
	Lease atomic.Pointer[leadership.Lease]
}

// Check must pass before anything is evicted or written: a process that was stopped for longer than its lease continues
// in the middle of a plan that another process has taken over.
func (l *Leadership) Check(ctx context.Context) error { return l.ask(ctx, (*leadership.Lease).Check) }

// CheckCached is check for frequent actions: it reads the lease only as often as its duration demands.
func (l *Leadership) CheckCached(ctx context.Context) error {
	return l.ask(ctx, (*leadership.Lease).CheckCached)
}

func (l *Leadership) ask(ctx context.Context, whether func(*leadership.Lease, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	err := whether(l.Lease.Load(), ctx)
	var lost *leadership.LostError
	if errors.As(err, &lost) && l.Held.Swap(false) {
		l.Logger.Error(err, "Plans are left to the leader")
	}
	return err
}
