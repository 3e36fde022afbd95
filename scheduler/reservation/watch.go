package reservation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

// Informers are the sources of the ledger.
type Informers struct {
	Reservations, Plans, Pods cache.SharedIndexInformer
	Book                      *resources.Book
}

// Watch updates the ledger from the informers, in every process, so that one that begins to lead already knows what is
// reserved. changed is called without any lock after each change of a reservation, and when a pod that took from one is
// gone. The returned function says whether the ledger contains all objects that existed at the start.
func (l *Ledger) Watch(logger klog.Logger, from Informers, changed func()) (synced func() bool, err error) {
	l.book = from.Book
	reservations, err := from.Reservations.AddEventHandler(eachRecord(logger, func(record *Record) {
		l.Put(record)
		changed()
	}, func(record *Record) {
		l.Remove(record.UID())
		changed()
	}))
	if err != nil {
		return nil, fmt.Errorf("watching reservations: %w", err)
	}
	plans, err := from.Plans.AddEventHandler(eachRecord(logger, l.putPlan, func(record *packingplan.Record) {
		l.EndPlan(record.UID())
	}))
	if err != nil {
		return nil, fmt.Errorf("watching plans: %w", err)
	}
	pods, err := from.Pods.AddEventHandler(eachRecord(logger, l.Observe, func(pod *v1.Pod) {
		if l.Release(pod.UID) {
			changed()
		}
	}))
	if err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	return func() bool { return reservations.HasSynced() && plans.HasSynced() && pods.HasSynced() }, nil
}

// putPlan holds the room of a plan for as long as it is being carried out. Before that, a plan holds none.
func (l *Ledger) putPlan(record *packingplan.Record) {
	switch phase := record.Status.Phase; {
	case phase == packingplan.Executing:
		l.HoldPlan(record)
	case phase.Final():
		l.EndPlan(record.UID())
	}
}

// eachRecord handles what an informer shows of objects that could be read.
func eachRecord[Record any](logger klog.Logger, put, remove func(Record)) cache.ResourceEventHandler {
	with := func(handle func(Record), object any) {
		if record, ok := object.(Record); ok {
			handle(record)
			return
		}
		var wanted Record
		err := fmt.Errorf("want a %T, got a %T", wanted, object)
		if metadata, _ := meta.Accessor(object); metadata != nil {
			logger.Error(err, "Ignoring an object that cannot be read", "name", metadata.GetName())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { with(put, object) },
		UpdateFunc: func(_, object any) { with(put, object) },
		DeleteFunc: func(object any) { with(remove, customobject.LastKnown(object)) },
	}
}
