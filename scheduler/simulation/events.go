package simulation

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// eventCounter counts, for as long as a process lasts, the events that a handler has still to handle. Events come in order and
// none is dropped, so when none is outstanding, every handler has seen every event.
type eventCounter struct {
	mu          sync.Mutex
	changed     *sync.Cond
	outstanding int
	// sent and handlers are by the kind of the objects.
	sent, handlers map[schema.GroupVersionResource]int
	// unwatched are the kinds whose informers have still to begin to watch, which counts as an event.
	unwatched sets.Set[schema.GroupVersionResource]
}

func newEventCounter() *eventCounter {
	e := &eventCounter{sent: map[schema.GroupVersionResource]int{}, handlers: map[schema.GroupVersionResource]int{},
		unwatched: sets.New[schema.GroupVersionResource]()}
	e.changed = sync.NewCond(&e.mu)
	return e
}

// add adds to the events of a kind that are sent.
func (e *eventCounter) add(of schema.GroupVersionResource, sent int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent[of] += sent
	e.outstanding += sent * e.handlers[of]
}

// addHandler adds a handler, which is told first of what is there.
func (e *eventCounter) addHandler(of schema.GroupVersionResource) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers[of]++
	e.outstanding += e.sent[of]
}

// handled is called when a handler has handled an event.
func (e *eventCounter) handled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outstanding--
	e.changed.Broadcast()
}

// awaitWatch has those who wait do so until the informer of a kind watches: between its list and its watch, it would miss
// that an object is deleted.
func (e *eventCounter) awaitWatch(of schema.GroupVersionResource) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unwatched.Insert(of)
	e.outstanding++
}

// watched is called when the informer of a kind has begun to watch.
func (e *eventCounter) watched(of schema.GroupVersionResource) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unwatched.Has(of) {
		e.unwatched.Delete(of)
		e.outstanding--
		e.changed.Broadcast()
	}
}

// wait returns when every handler has handled every event sent so far, or when ctx ends.
func (e *eventCounter) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.changed.Broadcast()
	})
	defer stop()
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.outstanding > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.changed.Wait()
	}
	return nil
}

// tracker keeps objects, numbers their versions and counts their events.
type tracker struct {
	clienttesting.ObjectTracker
	events  *eventCounter
	version atomic.Int64
}

// count has a new informer of a kind count the events that its handlers have handled.
func (t *tracker) count(kind schema.GroupVersionKind, informer cache.SharedIndexInformer) (cache.SharedIndexInformer, error) {
	of := resourceOf(kind)
	there, err := t.List(of, kind, "")
	if err != nil {
		return nil, err
	}
	t.events.add(of, meta.LenList(there))
	t.events.awaitWatch(of)
	counting := countingInformer{informer, t.events, of}
	// Also of what nobody handles, the informer must know what was written.
	_, err = counting.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	return counting, err
}

func (t *tracker) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	var options metav1.ListOptions
	if impl, ok := action.(clienttesting.WatchActionImpl); ok {
		options = impl.ListOptions
	}
	watching, err := t.Watch(action.GetResource(), action.GetNamespace(), options)
	t.events.watched(action.GetResource())
	return true, watching, err
}

// change gives the object its next version and counts the event of the change. The scheduler drops an update without a
// new version as a repetition.
func (t *tracker) change(of schema.GroupVersionResource, object runtime.Object, change func() error) error {
	if object != nil {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		accessor.SetResourceVersion(strconv.FormatInt(t.version.Add(1), 10))
	}
	t.events.add(of, 1)
	err := change()
	if err != nil {
		t.events.add(of, -1)
	}
	return err
}

func (t *tracker) Create(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	return t.change(of, object, func() error { return t.ObjectTracker.Create(of, object, namespace, options...) })
}

func (t *tracker) Update(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	return t.change(of, object, func() error { return t.ObjectTracker.Update(of, object, namespace, options...) })
}

func (t *tracker) Patch(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions,
) error {
	return t.change(of, object, func() error { return t.ObjectTracker.Patch(of, object, namespace, options...) })
}

func (t *tracker) Delete(of schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions) error {
	return t.change(of, nil, func() error { return t.ObjectTracker.Delete(of, namespace, name, options...) })
}

// countingInformer counts the events that its handlers have handled.
type countingInformer struct {
	cache.SharedIndexInformer
	events *eventCounter
	of     schema.GroupVersionResource
}

func (i countingInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

func (i countingInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	i.events.addHandler(i.of)
	return i.SharedIndexInformer.AddEventHandlerWithOptions(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			handler.OnAdd(object, initial)
			i.events.handled()
		},
		UpdateFunc: func(before, after any) {
			handler.OnUpdate(before, after)
			i.events.handled()
		},
		DeleteFunc: func(object any) {
			handler.OnDelete(object)
			i.events.handled()
		},
	}, options)
}
