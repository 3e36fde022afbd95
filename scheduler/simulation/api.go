package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
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

// api replaces the API server: a tracker that binds and evicts pods.
type api struct {
	tracker
	client *fake.Clientset
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
		tracker: tracker{ObjectTracker: clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())},
		client:  &fake.Clientset{},
		bound:   bound,
		now:     now,
	}
	a.client.AddReactor("create", "pods", a.bind)
	a.client.AddReactor("create", "pods", a.evictOrTry)
	a.client.AddReactor("*", "*", clienttesting.ObjectReaction(a))
	a.client.AddWatchReactor("*", a.watch)
	return a
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

// Patch replaces an object by its patched form.
func (a *api) Patch(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions,
) error {
	err := a.tracker.Patch(gvr, object, namespace, options...)
	if node, ok := object.(*v1.Node); ok && err == nil && a.marked != nil {
		a.marked(node)
	}
	return err
}

// Delete is called by the scheduler, through its client: the pod is preempted. What deletes other objects, or pods for
// another reason, calls the tracker.
func (a *api) Delete(
	gvr schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions,
) error {
	object, err := a.Get(gvr, namespace, name)
	if err != nil {
		return err
	}
	if err := a.tracker.Delete(gvr, namespace, name, options...); err != nil {
		return err
	}
	if pod, ok := object.(*v1.Pod); ok {
		a.preempted.add(pod)
	}
	return nil
}

// newInformers returns the scheduler's own informer factory. Its informers of pods and nodes count the events that have
// been handled, and those of all other kinds if their objects come and go while pods arrive.
func (a *api) newInformers(ofAllKinds bool) (informers.SharedInformerFactory, error) {
	kinds := []schema.GroupVersionKind{v1.SchemeGroupVersion.WithKind("Pod"), v1.SchemeGroupVersion.WithKind("Node")}
	if ofAllKinds {
		kinds = slices.AppendSeq(kinds, maps.Keys(Kinds))
	}
	uncounted := minor.NewInformerFactory(a.client, 0)
	factory := informers.NewSharedInformerFactory(a.client, 0)
	for _, kind := range kinds {
		example, err := scheme.Scheme.New(kind)
		if err != nil {
			return nil, err
		}
		informer, err := uncounted.ForResource(resourceOf(kind))
		if err != nil {
			return nil, err
		}
		counting, err := a.count(kind, informer.Informer())
		if err != nil {
			return nil, err
		}
		factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return counting })
	}
	return factory, nil
}
