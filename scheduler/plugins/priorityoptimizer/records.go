package priorityoptimizer

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// apiTimeout bounds each call to the API server, so that the loop never hangs on one.
const apiTimeout = 5 * time.Second

// records are the PackingPlan objects this process has dealt with.
type records struct {
	handled sets.Set[types.UID]
	// approved and aborted are those whose users' wishes have been heard, which the informer
	// may not show yet.
	approved, aborted sets.Set[types.UID]
}

func newRecords() records {
	return records{handled: sets.New[types.UID](), approved: sets.New[types.UID](), aborted: sets.New[types.UID]()}
}

func newNonce() string { return rand.String(6) }

// newPlanInformer watches the PackingPlans for those that users create.
func newPlanInformer(client dynamic.Interface, wake func()) cache.SharedIndexInformer {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(packingplan.Resource).Informer()
	// Adding a handler fails only on an informer that was stopped.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { wake() }, UpdateFunc: func(any, any) { wake() }})
	return informer
}

// unhandled are those of the plans that are open and that this process has not dealt with, oldest first.
func (l *loop) unhandled(all []*packingplan.Record) []*packingplan.Record {
	var open []*packingplan.Record
	for _, record := range all {
		rests := record.Rests() || record.Approved()
		if !record.Status.Phase.Final() && !rests && !l.records.handled.Has(record.UID()) {
			open = append(open, record)
		}
	}
	slices.SortFunc(open, customobject.OldestFirst)
	return open
}

// allRecords are the plans as the informer shows them now.
func (l *loop) allRecords() []*packingplan.Record {
	var all []*packingplan.Record
	for _, object := range l.informer.GetStore().List() {
		if record := l.read(object); record != nil {
			all = append(all, record)
		}
	}
	return all
}

// latest is the plan as the informer shows it now, or nil if it does not.
func (l *loop) latest(record *packingplan.Record) *packingplan.Record {
	// PackingPlans have no namespace, so that their name is their key.
	object, known, err := l.informer.GetStore().GetByKey(record.Name())
	if err != nil || !known {
		return nil
	}
	if latest := l.read(object); latest != nil && latest.UID() == record.UID() {
		return latest
	}
	return nil
}

func (l *loop) read(object any) *packingplan.Record {
	record, err := packingplan.Read(object)
	if err != nil {
		l.logger.Error(err, "Ignoring a PackingPlan that cannot be read")
		return nil
	}
	return record
}

// isManual says that a user created the record and nobody has begun with it.
func isManual(record *packingplan.Record) bool {
	return !record.Ours() && (record.Status.Phase == "" || record.Status.Phase == packingplan.Pending)
}

// nextManual is the oldest of the plans with which a user asks for a solve.
func (l *loop) nextManual(all []*packingplan.Record) *packingplan.Record {
	for _, record := range l.unhandled(all) {
		if isManual(record) {
			return record
		}
	}
	return nil
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

// finish ends a plan, for good unless it is a proposal, and lets everybody go who waited for it.
func (l *loop) finish(ctx context.Context, record *packingplan.Record, phase packingplan.Phase, message string) {
	l.hold.end()
	if !l.leads.Load() {
		return
	}
	now := metav1.NewTime(l.clock.Now())
	record.Status.Phase, record.Status.Message, record.Status.CompletionTime = phase, message, &now
	plansTotal.WithLabelValues(string(phase)).Inc()
	logger := l.planLogger(record)
	logger.Info("Plan finished", "phase", phase, "optimal", record.Status.Optimal, "message", message)
	l.announce(record, phase, message)
	l.ends = append(l.ends, record)
	l.settleEnds(ctx)
}
