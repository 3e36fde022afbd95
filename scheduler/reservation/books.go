package reservation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// NewInformer watches the reservations.
func NewInformer(client dynamic.Interface) cache.SharedIndexInformer {
	return dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(Resource).Informer()
}

// Keep keeps the ledger in step with what the informers show, in every process: one that begins
// to lead knows already what is reserved. changed is called after each change, without any lock.
func (l *Ledger) Keep(logger klog.Logger, reservations, pods cache.SharedIndexInformer, changed func()) error {
	enter := func(object any) {
		record, err := Read(object)
		if err != nil {
			logger.Error(err, "Ignoring a Reservation that cannot be read")
			return
		}
		l.Put(record)
		changed()
	}
	if _, err := reservations.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enter,
		UpdateFunc: func(_, object any) { enter(object) },
		DeleteFunc: func(object any) {
			if record, err := Read(lastKnown(object)); err == nil {
				l.Remove(record.UID())
				changed()
			}
		},
	}); err != nil {
		return fmt.Errorf("watching reservations: %w", err)
	}
	see := func(object any) {
		if pod, ok := object.(*v1.Pod); ok {
			l.See(pod)
		}
	}
	if _, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, object any) { see(object) },
		DeleteFunc: func(object any) {
			if pod, ok := lastKnown(object).(*v1.Pod); ok && l.Release(pod.UID) {
				changed()
			}
		},
	}); err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

func lastKnown(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}
