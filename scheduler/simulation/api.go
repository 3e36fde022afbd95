package simulation

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

var (
	podResource       = v1.SchemeGroupVersion.WithResource("pods")
	nodeResource      = v1.SchemeGroupVersion.WithResource("nodes")
	namespaceResource = v1.SchemeGroupVersion.WithResource("namespaces")
	podKind           = v1.SchemeGroupVersion.WithKind("Pod")
	nodeKind          = v1.SchemeGroupVersion.WithKind("Node")
)

// apiObject is any object of the API.
type apiObject interface {
	runtime.Object
	metav1.Object
}

// api replaces the API server: a tracker that binds and evicts pods. It also does what controllers and drivers do with claims
// of devices.
type api struct {
	tracker
	client *fake.Clientset
	// preempted are the pods that the scheduler has removed, in that order, until they are replaced.
	preempted []*v1.Pod
	// bound is called with each pod that has been bound.
	bound func(pod *v1.Pod)
	now   func() time.Time
	// runs has pods run and be ready as soon as they are bound.
	runs bool
	// evict does what the Eviction API does; nil where nobody evicts.
	evict func(eviction *policyv1.Eviction) error
	// marked is told of nodes that were patched, unless it is nil.
	marked func(node *v1.Node)
	// claims counts the claims that were given a name.
	claims atomic.Int64
}

func newAPI(now func() time.Time, bound func(*v1.Pod)) *api {
	a := &api{
		tracker: newTracker(clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())),
		client:  &fake.Clientset{},
		bound:   bound,
		now:     now,
	}
	a.client.AddReactor("create", "pods", a.bind)
	a.client.AddReactor("create", "pods", a.evictOrTry)
	a.client.AddReactor("delete", "pods", a.notePreempted)
	a.client.AddReactor("*", "*", clienttesting.ObjectReaction(a))
	// The informers of kinds that never change meanwhile list once.
	a.client.AddWatchReactor("*", clienttesting.DefaultWatchReactor(watch.NewFake(), nil))
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
	pod, there := find[*v1.Pod](&a.tracker, podResource, action.GetNamespace(), binding.Name)
	if !there {
		return true, nil, apierrors.NewNotFound(podResource.GroupResource(), binding.Name)
	}
	pod.Spec.NodeName, pod.Status.NominatedNodeName = binding.Target.Name, ""
	a.start(pod)
	if err := a.Update(podResource, pod, pod.Namespace); err != nil {
		return true, nil, err
	}
	a.bound(pod)
	return true, binding, nil
}

// pod is a copy of a pod by its namespace/name, if it is there.
func (a *api) pod(key string) (*v1.Pod, bool) {
	namespace, name := splitKey(key)
	return find[*v1.Pod](&a.tracker, podResource, namespace, name)
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
func (a *api) put(gvr schema.GroupVersionResource, object apiObject) error {
	before, there := find[apiObject](&a.tracker, gvr, object.GetNamespace(), object.GetName())
	if !there {
		return a.Create(gvr, object, object.GetNamespace())
	}
	if uid := before.GetUID(); uid != "" {
		object.SetUID(uid)
	}
	return a.Update(gvr, object, object.GetNamespace())
}

// remove removes an object, which may be gone already.
func (a *api) remove(gvr schema.GroupVersionResource, namespace, name string) error {
	return utilerrors.FilterOut(a.Delete(gvr, namespace, name), apierrors.IsNotFound)
}

// Create stores a new object; a pod with the claims that are made for it.
func (a *api) Create(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	switch made := object.(type) {
	case *v1.Pod:
		if err := a.makeClaims(made); err != nil {
			return err
		}
	case *resourceapi.ResourceClaim:
		a.nameClaim(made)
	}
	a.complete(object)
	return a.tracker.Create(gvr, object, namespace, options...)
}

// Update replaces an object.
func (a *api) Update(
	gvr schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	a.complete(object)
	return a.tracker.Update(gvr, object, namespace, options...)
}

// Delete removes an object; a pod gives its devices back.
func (a *api) Delete(gvr schema.GroupVersionResource, namespace, name string, options ...metav1.DeleteOptions) error {
	var gone *v1.Pod
	if gvr == podResource {
		object, _, _ := a.informers[gvr].GetStore().GetByKey(nameOf(namespace, name)) // no copy: most pods have no claims
		gone, _ = object.(*v1.Pod)
	}
	if err := a.tracker.Delete(gvr, namespace, name, options...); err != nil || gone == nil {
		return err
	}
	return a.releaseClaims(gone)
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

// notePreempted keeps each pod that is deleted by the client, as by preemption. What else deletes pods passes it by.
func (a *api) notePreempted(action clienttesting.Action) (bool, runtime.Object, error) {
	if deletion, ok := action.(clienttesting.DeleteAction); ok {
		if pod, there := find[*v1.Pod](&a.tracker, podResource, action.GetNamespace(), deletion.GetName()); there {
			a.informers[podResource].events.add(func() { a.preempted = append(a.preempted, pod) })
		}
	}
	return false, nil, nil
}

// newInformers returns the informers of a scheduler. Those of other kinds than these are the usual ones: their objects do not
// change once it has begun.
func (a *api) newInformers(events *eventQueue) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(a.client, 0)
	for _, kind := range slices.AppendSeq([]schema.GroupVersionKind{podKind, nodeKind}, maps.Keys(Kinds)) {
		example, _ := scheme.Scheme.New(kind) // all of them are known
		factory.InformerFor(example, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
			return a.newInformer(resourceOf(kind), events, nil)
		})
	}
	factory.Resource().V1().ResourceClaims().Informer()
	a.informers[deviceClaimResource].atOnce = true
	return factory
}
