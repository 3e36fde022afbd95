package priorityoptimizer

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

const (
	// apiTimeout bounds each call to the API server, so that the loop never hangs on one.
	apiTimeout = 5 * time.Second
	// waitingPlans is how many plans of users may wait. Each takes the optimiser up to its time limit.
	waitingPlans = 16
	// refusedAtOnce bounds how many further ones are refused in one step.
	refusedAtOnce = 4
	// plansRemembered is how many handled plans are remembered: until the informer shows how they ended.
	plansRemembered = 10_000
)

const (
	messageProposed = "nothing was done yet; set spec.executionMode to Execute to have the plan carried out"
	messageAborted  = "aborted at a user's request"
	// messageQueueFull is the message of a user's plan that is refused because too many others wait.
	messageQueueFull = "too many plans wait for the optimiser; create it again when some of them are done"
)

// planRecords reads and writes the PackingPlan objects. The loop alone uses it.
type planRecords struct {
	plugin   *Plugin
	clock    clock.PassiveClock
	store    *packingplan.Store
	informer cache.SharedIndexInformer
	recorder events.EventRecorderLogger
	// nonce distinguishes the snapshots and the writes of two processes.
	nonce        string
	historyLimit int
	// coolDown is how long a plan that has disrupted pods is kept at least.
	coolDown time.Duration

	// handled are the plans that this process has handled.
	handled latest
	// approved and aborted are those whose users' requests have been handled, which the informer may not show yet.
	approved, aborted latest
	// staleMarks: a node may keep pods off for a plan that is no longer carried out.
	staleMarks bool
	// unwritten are the plans that have ended and whose final status has not been written yet.
	unwritten []*packingplan.Record
	// writeError is why not; each error is logged once.
	writeError string
}

func newPlanRecords(p *Plugin, args *PriorityOptimizerArgs, recorder events.EventRecorderLogger, with parts) *planRecords {
	r := &planRecords{plugin: p, clock: with.clock, store: packingplan.NewStore(with.dynamic), informer: with.plans,
		recorder: recorder, nonce: rand.String(6), historyLimit: int(args.HistoryLimit), coolDown: seconds(args.CoolDownSeconds)}
	r.forget()
	return r
}

// forget lets plans be handled anew.
func (r *planRecords) forget() {
	r.handled, r.approved, r.aborted = newLatest(), newLatest(), newLatest()
}

// latest are the plans that were added last: far more than can be open at a time.
type latest struct{ cache *lru.Cache }

func newLatest() latest { return latest{lru.New(plansRemembered)} }

func (l latest) Insert(plan types.UID) { l.cache.Add(plan, nil) }

func (l latest) Has(plan types.UID) bool {
	_, here := l.cache.Get(plan)
	return here
}

// watch calls the function with each plan that changes.
func (r *planRecords) watch(changed func(object any)) {
	// Adding a handler fails only on an informer that was stopped.
	_, _ = r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }})
}

// logger adds the plan's name to every line.
func (r *planRecords) logger(record *packingplan.Record) klog.Logger {
	return r.plugin.logger.WithValues("plan", record.Name())
}

// all are the plans as the informer shows them now. They must not be changed: fresh makes a copy to work on.
func (r *planRecords) all() []*packingplan.Record {
	var all []*packingplan.Record
	for _, object := range r.informer.GetStore().List() {
		if record, ok := object.(*packingplan.Record); ok {
			all = append(all, record)
		}
	}
	return all
}

// unhandled are the open plans that this process has not handled, oldest first.
func (r *planRecords) unhandled(all []*packingplan.Record) []*packingplan.Record {
	var open []*packingplan.Record
	for _, record := range all {
		rests := record.AwaitsApproval() || record.Approved()
		if !record.Status.Phase.Final() && !rests && !r.handled.Has(record.UID()) {
			open = append(open, record)
		}
	}
	slices.SortFunc(open, customobject.OldestFirst)
	return open
}

// fresh is a copy of the plan as the informer shows it now; nil if the informer no longer has it.
func (r *planRecords) fresh(record *packingplan.Record) *packingplan.Record {
	shown := r.shown(record)
	if shown == nil {
		return nil
	}
	read, err := packingplan.Read(shown)
	if err != nil {
		r.plugin.logger.Error(err, "Ignoring a PackingPlan that cannot be read")
		return nil
	}
	return read
}

// shown is the plan in the informer, or nil.
func (r *planRecords) shown(record *packingplan.Record) *packingplan.Record {
	// PackingPlans have no namespace, so their name is their key.
	object, known, err := r.informer.GetStore().GetByKey(record.Name())
	if err != nil || !known {
		return nil
	}
	if shown, ok := object.(*packingplan.Record); ok && shown.UID() == record.UID() {
		return shown
	}
	return nil
}

// abortRequested says whether a user has asked to abort the plan.
func (r *planRecords) abortRequested(record *packingplan.Record) bool {
	shown := r.shown(record)
	return shown != nil && shown.Spec.Abort
}

// isManual says that a user created the record and no process has started on it.
func isManual(record *packingplan.Record) bool {
	return !record.Ours() && (record.Status.Phase == "" || record.Status.Phase == packingplan.Pending)
}

// nextManual is the oldest plan with which a user asks for a solve and that need not wait. Plans beyond the number that may wait are refused,
// the newest first.
func (r *planRecords) nextManual(
	ctx context.Context, all []*packingplan.Record, mustWait func(*packingplan.Record) bool,
) *packingplan.Record {
	waiting := slices.DeleteFunc(r.unhandled(all), func(record *packingplan.Record) bool { return !isManual(record) })
	for refused := 0; len(waiting) > waitingPlans && refused < refusedAtOnce; refused++ {
		last := len(waiting) - 1
		if record := r.fresh(waiting[last]); record != nil {
			r.handled.Insert(record.UID())
			r.finish(ctx, record, packingplan.Failed, messageQueueFull)
		}
		waiting = waiting[:last]
	}
	waiting = slices.DeleteFunc(waiting, mustWait)
	if len(waiting) == 0 {
		return nil
	}
	return r.fresh(waiting[0])
}

// nextApproved is a proposal that a user has approved and that need not wait.
func (r *planRecords) nextApproved(all []*packingplan.Record, mustWait func(*packingplan.Record) bool) *packingplan.Record {
	for _, record := range all {
		if record.Approved() && !mustWait(record) && !record.Spec.Abort && !r.approved.Has(record.UID()) {
			return r.fresh(record)
		}
	}
	return nil
}

// abortWaiting closes the plans that a user aborts before anything was carried out.
func (r *planRecords) abortWaiting(ctx context.Context, all []*packingplan.Record) {
	for _, record := range all {
		waits := isManual(record) || record.Status.Phase == packingplan.Proposed
		if !record.Spec.Abort || !waits || r.aborted.Has(record.UID()) {
			continue
		}
		r.aborted.Insert(record.UID())
		r.handled.Insert(record.UID())
		if record := r.fresh(record); record != nil {
			r.finish(ctx, record, packingplan.Aborted, messageAborted)
		}
	}
}

// history lists what the recorded plans have done to running pods. It survives a restart.
func (r *planRecords) history() []plan.Moved {
	var moved []plan.Moved
	for _, record := range r.all() {
		of := movedBy(record)
		for i := range of {
			if !record.Status.Phase.Final() {
				of[i].At = r.clock.Now() // it goes on
			}
		}
		moved = append(moved, of...)
	}
	return moved
}

// movedBy lists what one plan has done to running pods.
func movedBy(record *packingplan.Record) (moved []plan.Moved) {
	began, at := record.Created(), record.Completed()
	if record.Status.StartTime != nil {
		began = record.Status.StartTime.Time
	}
	for _, step := range record.Status.Steps {
		if step.State.Disrupted() {
			moved = append(moved, plan.Moved{Owner: types.UID(step.OwnerUID), Class: step.Class,
				From: step.From, To: step.To, Began: began, At: at})
		}
	}
	return moved
}
