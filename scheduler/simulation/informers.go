package simulation

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// eventQueue holds the events that informers have still to handle, in their order. The run delivers them between two steps.
type eventQueue struct {
	mu     sync.Mutex
	events []func()
}

func (q *eventQueue) add(event func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, event)
}

// deliver returns when all events have been handled, also those that their handlers cause.
func (q *eventQueue) deliver() {
	for {
		handle := q.next()
		if handle == nil {
			return
		}
		handle()
	}
}

// next takes the first event; nil if there is none.
func (q *eventQueue) next() (first func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) > 0 {
		first, q.events = q.events[0], q.events[1:]
	}
	return first
}

// tracker keeps objects, numbers their versions and tells a process's informers of each change.
type tracker struct {
	clienttesting.ObjectTracker
	informers map[schema.GroupVersionResource]*informer
	mu        sync.Mutex
	version   int64
}

func newTracker(objects clienttesting.ObjectTracker) tracker {
	return tracker{ObjectTracker: objects, informers: map[schema.GroupVersionResource]*informer{}}
}

// find returns a copy of an object, if it is there.
func find[Kept any](in *tracker, of schema.GroupVersionResource, namespace, name string) (Kept, bool) {
	object, err := in.Get(of, namespace, name)
	kept, is := object.(Kept)
	return kept, err == nil && is
}

// write gives the object its next version and tells of the change. The scheduler drops an update without a new version as
// a repetition.
func (t *tracker) write(of schema.GroupVersionResource, object runtime.Object, store func() error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	t.version++
	accessor.SetResourceVersion(strconv.FormatInt(t.version, 10))
	if err := store(); err != nil {
		return err
	}
	if informer, changed := t.informers[of], object.DeepCopyObject(); informer != nil {
		informer.tell(func() { informer.put(changed) })
	}
	return nil
}

func (t *tracker) Create(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	return t.write(of, object, func() error { return t.ObjectTracker.Create(of, object, namespace, options...) })
}

func (t *tracker) Update(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	return t.write(of, object, func() error { return t.ObjectTracker.Update(of, object, namespace, options...) })
}

func (t *tracker) Patch(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions,
) error {
	return t.write(of, object, func() error { return t.ObjectTracker.Patch(of, object, namespace, options...) })
}

func (t *tracker) Delete(of schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.ObjectTracker.Delete(of, namespace, name, options...)
	if informer := t.informers[of]; err == nil && informer != nil {
		informer.tell(func() { informer.remove(cache.ObjectName{Namespace: namespace, Name: name}.String()) })
	}
	return err
}

// informer is told of changes by the tracker, and does not watch.
type informer struct {
	cache.SharedIndexInformer // keeps the objects, and never runs
	events                    *eventQueue
	transform                 cache.TransformFunc
	handlers                  []cache.ResourceEventHandler
	// atOnce has handlers told while the object is written, and not between two steps. The scheduler waits for a claim that
	// it writes while it binds, and looks for it once a second. Such handlers write nothing.
	atOnce bool
}

// newInformer returns an informer for a new process, that knows what the one of the process before knew.
func (t *tracker) newInformer(
	of schema.GroupVersionResource, events *eventQueue, transform cache.TransformFunc,
) cache.SharedIndexInformer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	made := &informer{events: events, transform: transform,
		SharedIndexInformer: cache.NewSharedIndexInformer(&cache.ListWatch{}, nil, 0, indexers)}
	if before := t.informers[of]; before != nil {
		_ = made.GetStore().Replace(before.GetStore().List(), "") // whatever is stored has a key
	}
	t.informers[of] = made
	return made
}

// tell has an event handled in its turn.
func (i *informer) tell(event func()) {
	if i.atOnce {
		event()
		return
	}
	i.events.add(event)
}

func (i *informer) put(object any) {
	now := object
	if i.transform != nil {
		now, _ = i.transform(object) // it keeps what it cannot read
	}
	before, known, _ := i.GetStore().Get(now)
	_ = i.GetStore().Update(now)
	for _, handler := range i.handlers {
		if known {
			handler.OnUpdate(before, now)
		} else {
			handler.OnAdd(now, false)
		}
	}
}

func (i *informer) remove(key string) {
	object, known, _ := i.GetStore().GetByKey(key)
	if !known {
		return
	}
	_ = i.GetStore().Delete(object)
	for _, handler := range i.handlers {
		handler.OnDelete(object)
	}
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

// AddEventHandlerWithOptions has the handler told first of what is there.
func (i *informer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	i.events.add(func() {
		for _, key := range slices.Sorted(slices.Values(i.GetStore().ListKeys())) {
			object, _, _ := i.GetStore().GetByKey(key)
			handler.OnAdd(object, true)
		}
		i.handlers = append(i.handlers, handler)
	})
	return synced{}, nil
}

func (i *informer) RunWithContext(context.Context) {}

func (i *informer) HasSynced() bool { return true }

func (i *informer) HasSyncedChecker() cache.DoneChecker { return synced{} }

// synced says that what there was is known.
type synced struct{}

func (synced) HasSynced() bool { return true }

func (s synced) HasSyncedChecker() cache.DoneChecker { return s }

func (synced) Name() string { return "simulated informer" }

func (synced) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
