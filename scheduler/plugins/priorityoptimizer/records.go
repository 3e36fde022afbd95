package priorityoptimizer

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// apiTimeout bounds each call to the API server, so that the loop never hangs on one.
const apiTimeout = 5 * time.Second

// waitingPlans is how many plans of users may wait. Each takes the optimiser up to its time limit.
const waitingPlans = 16

// refusedAtOnce bounds how many further ones are refused in one step.
const refusedAtOnce = 4

// records are the PackingPlan objects that this process has handled.
type records struct {
	handled sets.Set[types.UID]
	// approved and aborted are those whose users' requests have been handled, which the informer may not show yet.
	approved, aborted sets.Set[types.UID]
}

func newRecords() records {
	return records{handled: sets.New[types.UID](), approved: sets.New[types.UID](), aborted: sets.New[types.UID]()}
}

func newNonce() string { return rand.String(6) }

// watchPlans wakes up the loop. While the loop waits for the optimiser it handles no events, so the handler itself cancels
// the solve of a plan that its user aborts.
func (l *loop) watchPlans() {
	changed := func(object any) {
		if now := l.activeSolve.Load(); now != nil && isAborted(object, now.plan) {
			now.cancel(errAborted)
		}
		l.wakeUp()
	}
	// Adding a handler fails only on an informer that was stopped.
	_, _ = l.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) }})
}

// isAborted says whether the object is the plan, and its user aborts it.
func isAborted(object any, plan types.UID) bool {
	shown, ok := object.(*packingplan.Record)
	return ok && shown.UID() == plan && shown.Spec.Abort
}

// unhandled are the open plans that this process has not handled, oldest first.
func (l *loop) unhandled(all []*packingplan.Record) []*packingplan.Record {
	var open []*packingplan.Record
	for _, record := range all {
		rests := record.AwaitsApproval() || record.Approved()
		if !record.Status.Phase.Final() && !rests && !l.records.handled.Has(record.UID()) {
			open = append(open, record)
		}
	}
	slices.SortFunc(open, customobject.OldestFirst)
	return open
}

// allRecords are the plans as the informer shows them now. They must not be changed: fresh makes a copy to work on.
func (l *loop) allRecords() []*packingplan.Record {
	var all []*packingplan.Record
	for _, object := range l.informer.GetStore().List() {
		if record, ok := object.(*packingplan.Record); ok {
			all = append(all, record)
		}
	}
	return all
}

// fresh is a copy of the plan as the informer shows it now; nil if the informer no longer has it.
func (l *loop) fresh(record *packingplan.Record) *packingplan.Record {
	shown := l.shown(record)
	if shown == nil {
		return nil
	}
	read, err := packingplan.Read(shown)
	if err != nil {
		l.logger.Error(err, "Ignoring a PackingPlan that cannot be read")
		return nil
	}
	return read
}

// shown is the plan in the informer, or nil.
func (l *loop) shown(record *packingplan.Record) *packingplan.Record {
	// PackingPlans have no namespace, so their name is their key.
	object, known, err := l.informer.GetStore().GetByKey(record.Name())
	if err != nil || !known {
		return nil
	}
	if shown, ok := object.(*packingplan.Record); ok && shown.UID() == record.UID() {
		return shown
	}
	return nil
}

// isManual says that a user created the record and no process has started on it.
func isManual(record *packingplan.Record) bool {
	return !record.Ours() && (record.Status.Phase == "" || record.Status.Phase == packingplan.Pending)
}

// nextManual is the oldest plan with which a user asks for a solve. Plans beyond the number that may wait are refused,
// the newest first.
func (l *loop) nextManual(ctx context.Context, all []*packingplan.Record) *packingplan.Record {
	var waiting []*packingplan.Record
	for _, record := range l.unhandled(all) {
		if isManual(record) {
			waiting = append(waiting, record)
		}
	}
	for refused := 0; len(waiting) > waitingPlans && refused < refusedAtOnce; refused++ {
		last := len(waiting) - 1
		if record := l.fresh(waiting[last]); record != nil {
			l.records.handled.Insert(record.UID())
			l.finish(ctx, record, packingplan.Failed, messageQueueFull)
		}
		waiting = waiting[:last]
	}
	if len(waiting) == 0 {
		return nil
	}
	return l.fresh(waiting[0])
}

// write writes the record's status.
func (l *loop) write(ctx context.Context, record *packingplan.Record) error {
	if err := l.checkLead(ctx); err != nil {
		return err
	}
	record.Status.Writer = l.nonce
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return l.store.WriteStatus(ctx, record)
}

// finish ends a plan, finally unless it is a proposal, and releases the pods that waited for it.
func (l *loop) finish(ctx context.Context, record *packingplan.Record, phase packingplan.Phase, message string) {
	l.hold.end()
	if !l.leads.Load() {
		return
	}
	now := metav1.NewTime(l.clock.Now())
	record.Status.Phase, record.Status.Message, record.Status.CompletionTime = phase, packingplan.Shortened(message), &now
	plansTotal.WithLabelValues(string(phase)).Inc()
	logger := l.planLogger(record)
	logger.Info("Plan finished", "phase", phase, "optimal", record.Status.Optimal, "message", message)
	l.announce(record, phase, message)
	l.unwritten = append(l.unwritten, record)
	l.writeFinalStatuses(ctx)
}
