package fakecluster_test

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
)

// informer is an informer that shows changes when it is told to, first in its store and then to each of its handlers.
type informer struct {
	cache.SharedIndexInformer // nil: whatever is not implemented below is not asked for
	store                     cache.Indexer
	// arriving are the changes that the store does not show yet.
	arriving []change
	handlers []*handler
}

// change is a new version of an object, or its deletion: then now is nil.
type change struct {
	at          time.Time
	before, now any
}

// handler is told of changes one after the other, independently of other handlers.
type handler struct {
	cache.ResourceEventHandler
	waiting []change
}

func newInformer() *informer {
	return &informer{store: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
}

type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSynced() bool { return true }

func (i *informer) AddEventHandler(to cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, &handler{ResourceEventHandler: to})
	return synced{}, nil
}

func (i *informer) AddIndexers(indexers cache.Indexers) error { return i.store.AddIndexers(indexers) }

func (i *informer) GetIndexer() cache.Indexer { return i.store }

func (i *informer) GetStore() cache.Store { return i.store }

func (i *informer) HasSynced() bool { return true }

func (i *informer) RunWithContext(context.Context) {}

// receive shows the next change in the store.
func (i *informer) receive() {
	next := i.arriving[0]
	i.arriving = i.arriving[1:]
	object := next.now
	if object == nil {
		object = next.before
	}
	was, known, _ := i.store.Get(object)
	switch {
	case next.now == nil && !known:
		return
	case next.now == nil:
		_ = i.store.Delete(object)
		if uid(was) != uid(object) { // as after a watch that has missed something
			was = cache.DeletedFinalStateUnknown{Obj: was}
		}
	default:
		_ = i.store.Update(object)
	}
	for _, one := range i.handlers {
		one.waiting = append(one.waiting, change{next.at, was, next.now})
	}
}

// tell tells a handler of its next change.
func (h *handler) tell() {
	next := h.waiting[0]
	h.waiting = h.waiting[1:]
	switch {
	case next.now == nil:
		h.OnDelete(next.before)
	case next.before == nil:
		h.OnAdd(next.now, false)
	default:
		h.OnUpdate(next.before, next.now)
	}
}

// catchUp shows and tells all that is older.
func (i *informer) catchUp(arrived, told time.Time) {
	for len(i.arriving) > 0 && !i.arriving[0].at.After(arrived) {
		i.receive()
	}
	for _, one := range i.handlers {
		for len(one.waiting) > 0 && !one.waiting[0].at.After(told) {
			one.tell()
		}
	}
}

func uid(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return string(accessor.GetUID())
}
