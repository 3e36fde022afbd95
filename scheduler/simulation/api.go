package simulation

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

var (
	podResource       = v1.SchemeGroupVersion.WithResource("pods")
	nodeResource      = v1.SchemeGroupVersion.WithResource("nodes")
	namespaceResource = v1.SchemeGroupVersion.WithResource("namespaces")
)

// api replaces the API server: an object tracker that numbers its versions, counts its events and binds pods.
type api struct {
	clienttesting.ObjectTracker
	client *fake.Clientset
	pods   *eventCounter
	nodes  *eventCounter
	// counters are those two, and in virtual time those of all other kinds.
	counters map[schema.GroupVersionResource]*eventCounter
	version  atomic.Int64
	// preempted are the pods that the scheduler has removed.
	preempted victims
	// bound is called with each pod that has been bound.
	bound func(pod *v1.Pod)
	now   func() time.Time
	// runs has pods run and be ready as soon as they are bound.
	runs bool
	// evict does what the Eviction API does; nil where nobody evicts.
	evict func(eviction *policyv1.Eviction) error
	// marked is told of nodes that were patched, unless it is nil.
	marked func(node *v1.Node)
}

func newAPI(now func() time.Time, bound func(*v1.Pod)) *api {
	a := &api{
		ObjectTracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder()),
		client:        &fake.Clientset{},
		bound:         bound,
		now:           now,
	}
	a.counters = map[schema.GroupVersionResource]*eventCounter{}
	a.client.AddReactor("create", "pods", a.bind)
	a.client.AddReactor("create", "pods", a.evictOrTry)
	a.client.AddReactor("*", "*", clienttesting.ObjectReaction(a))
	a.client.AddWatchReactor("*", a.watch)
	return a
}

func (a *api) watch(action clienttesting.Action) (bool, watch.Interface, error) {
	var options metav1.ListOptions
	if impl, ok := action.(clienttesting.WatchActionImpl); ok {
		options = impl.ListOptions
	}
	w, err := a.Watch(action.GetResource(), action.GetNamespace(), options)
	return true, w, err
}

// bind does what the API server does on the binding subresource.
func (a *api) bind(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok || action.GetSubresource() != "binding" {
		return false, nil, nil
	}
	binding, ok := create.GetObject().(*v1.Binding)
	if !ok {
		return true, nil, fmt.Errorf("binding with a %T", create.GetObject())
	}
	object, err := a.Get(podResource, action.GetNamespace(), binding.Name)
	if err != nil {
		return true, nil, err
	}
	pod := object.(*v1.Pod)
	pod.Spec.NodeName = binding.Target.Name
	a.start(pod)
	if err := a.Update(podResource, pod, pod.Namespace); err != nil {
		return true, nil, err
	}
	a.bound(pod)
	return true, binding, nil
}

// evictOrTry does what the API server does on the eviction subresource, and with a pod that is only tried.
func (a *api) evictOrTry(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateActionImpl)
	if !ok {
		return false, nil, nil
	}
	if eviction, ok := create.Object.(*policyv1.Eviction); ok && a.evict != nil {
		return true, eviction, a.evict(eviction)
	}
	return len(create.CreateOptions.DryRun) > 0, create.Object, nil
}

// start sets a pod's start time as its kubelet would, and has it run where pods do. Preemption compares start times when all else is equal; without
// one it uses the wall clock, whose time differs with every call.
func (a *api) start(pod *v1.Pod) {
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &metav1.Time{Time: a.now()}
	}
	if a.runs {
		a.run(pod)
	}
}

// run has a pod run and be ready.
func (a *api) run(pod *v1.Pod) {
	pod.Status.Phase, pod.Status.Conditions = v1.PodRunning, nil
	for _, condition := range []v1.PodConditionType{v1.PodScheduled, v1.ContainersReady, v1.PodReady} {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{
			Type: condition, Status: v1.ConditionTrue, LastTransitionTime: metav1.Time{Time: a.now()}})
	}
}

// Create stores a new object and counts its event.
func (a *api) Create(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	return a.counted(gvr, object, func() error {
		return a.ObjectTracker.Create(gvr, object, namespace, options...)
	})
}

// Update replaces an object and counts its event.
func (a *api) Update(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	return a.counted(gvr, object, func() error {
		return a.ObjectTracker.Update(gvr, object, namespace, options...)
	})
}

// put has the object take the place of the one of its name, whose UID it gets, if there is one.
func (a *api) put(gvr schema.GroupVersionResource, object runtime.Object) error {
	now, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	before, err := a.Get(gvr, now.GetNamespace(), now.GetName())
	if apierrors.IsNotFound(err) {
		return a.Create(gvr, object, now.GetNamespace())
	}
	if err != nil {
		return err
	}
	if was, err := meta.Accessor(before); err == nil && was.GetUID() != "" {
		now.SetUID(was.GetUID())
	}
	return a.Update(gvr, object, now.GetNamespace())
}

// Patch replaces an object by its patched form and counts its event.
func (a *api) Patch(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions,
) error {
	err := a.counted(gvr, object, func() error {
		return a.ObjectTracker.Patch(gvr, object, namespace, options...)
	})
	if node, ok := object.(*v1.Node); ok && err == nil && a.marked != nil {
		a.marked(node)
	}
	return err
}

// Delete removes an object at once and counts its event; the scheduler calls it through its client.
func (a *api) Delete(
	gvr schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions,
) error {
	object, err := a.Get(gvr, namespace, name)
	if err != nil {
		return err
	}
	if err := a.remove(gvr, namespace, name, options...); err != nil {
		return err
	}
	if pod, ok := object.(*v1.Pod); ok {
		a.preempted.add(pod)
	}
	return nil
}

// remove deletes an object that the scheduler did not delete: it is not a preemption.
func (a *api) remove(
	gvr schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions,
) error {
	err := a.ObjectTracker.Delete(gvr, namespace, name, options...)
	if err == nil {
		a.sent(gvr)
	}
	return err
}

// counted gives the object its next version before the change and counts the event after it. The scheduler drops an
// update without a new version as a repetition.
func (a *api) counted(gvr schema.GroupVersionResource, object runtime.Object, change func() error) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	accessor.SetResourceVersion(strconv.FormatInt(a.version.Add(1), 10))
	if err := change(); err != nil {
		return err
	}
	a.sent(gvr)
	return nil
}

func (a *api) sent(gvr schema.GroupVersionResource) {
	if counter := a.counters[gvr]; counter != nil {
		counter.send()
	}
}

// eventCounter compares the events of one kind of object that the API has sent with those that each event handler has
// handled. Events come in order and none is dropped, so equal counts mean that every handler has seen every event.
type eventCounter struct {
	mu      sync.Mutex
	changed *sync.Cond
	sent    int
	handled []int
}

// newEventCounter counts from the events of so many objects on, of which each handler is told at first.
func newEventCounter(there int) *eventCounter {
	c := &eventCounter{sent: there}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// addHandler adds a handler and returns the function that it calls after each event.
func (c *eventCounter) addHandler() func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	index := len(c.handled)
	c.handled = append(c.handled, 0)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.handled[index]++
		c.changed.Broadcast()
	}
}

// send counts one event that the API has sent.
func (c *eventCounter) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent++
}

// wait returns when every handler has handled every event sent so far, or when ctx ends.
func (c *eventCounter) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})
	defer stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.allHandled() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.changed.Wait()
	}
	return nil
}

func (c *eventCounter) allHandled() bool {
	for _, handled := range c.handled {
		if handled < c.sent {
			return false
		}
	}
	return true
}

// counter returns a new counter of the events of a kind.
func (a *api) counter(kind schema.GroupVersionKind) (*eventCounter, error) {
	resource := resourceOf(kind)
	there, err := a.List(resource, kind, "")
	if err != nil {
		return nil, err
	}
	a.counters[resource] = newEventCounter(meta.LenList(there))
	return a.counters[resource], nil
}

// newInformers returns the scheduler's own informer factory, with informers of pods and nodes that count the events that
// have been handled.
func (a *api) newInformers() (informers.SharedInformerFactory, error) {
	for counter, kind := range map[**eventCounter]string{&a.pods: "Pod", &a.nodes: "Node"} {
		var err error
		if *counter, err = a.counter(v1.SchemeGroupVersion.WithKind(kind)); err != nil {
			return nil, err
		}
	}
	podInformer := minor.NewInformerFactory(a.client, 0).Core().V1().Pods().Informer()
	factory := informers.NewSharedInformerFactory(a.client, 0)
	factory.InformerFor(&v1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return countingInformer{podInformer, a.pods}
	})
	factory.InformerFor(&v1.Node{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		return countingInformer{coreinformers.NewNodeInformer(client, resync, indexers), a.nodes}
	})
	return factory, nil
}

// countAll has the factory's informers of all other kinds count, too: their objects come and go while pods arrive.
func (a *api) countAll(factory informers.SharedInformerFactory) error {
	inner := informers.NewSharedInformerFactory(a.client, 0)
	for kind := range Kinds {
		example, err := scheme.Scheme.New(kind)
		if err != nil {
			return err
		}
		resource := resourceOf(kind)
		counted, err := inner.ForResource(resource)
		if err != nil {
			return err
		}
		counter, err := a.counter(kind)
		if err != nil {
			return err
		}
		informer := countingInformer{counted.Informer(), counter}
		// Also of what nobody handles, the informer must know what was written.
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err != nil {
			return err
		}
		factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return informer })
	}
	return nil
}

// countingInformer counts the events that its handlers have handled.
type countingInformer struct {
	cache.SharedIndexInformer
	counter *eventCounter
}

func (i countingInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(i.counted(handler))
}

func (i countingInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.counted(handler), resync)
}

func (i countingInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(i.counted(handler), options)
}

func (i countingInformer) counted(handler cache.ResourceEventHandler) cache.ResourceEventHandler {
	return countedHandler{handler, i.counter.addHandler()}
}

// countedHandler calls done after each event.
type countedHandler struct {
	handler cache.ResourceEventHandler
	done    func()
}

func (h countedHandler) OnAdd(object any, initial bool) {
	h.handler.OnAdd(object, initial)
	h.done()
}

func (h countedHandler) OnUpdate(before, after any) {
	h.handler.OnUpdate(before, after)
	h.done()
}

func (h countedHandler) OnDelete(object any) {
	h.handler.OnDelete(object)
	h.done()
}
