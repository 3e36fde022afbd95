package priorityoptimizer

import (
	"errors"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clienttesting "k8s.io/client-go/testing"
)

var podsResource = v1.SchemeGroupVersion.WithResource("pods")

// react handles bindings and evictions as the API server does.
func (c *cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok {
		return false, nil, nil
	}
	switch object := create.GetObject().(type) {
	case *v1.Binding:
		return true, object, c.bind(object)
	case *policyv1.Eviction:
		return true, object, c.evict(object)
	}
	return false, nil, nil
}

func (c *cluster) bind(binding *v1.Binding) error {
	found, err := c.client.Tracker().Get(podsResource, binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName, pod.Status.Phase = binding.Target.Name, v1.PodRunning
	pod.Status.StartTime = &metav1.Time{Time: c.clock.Now()}
	pod.Annotations = maps.Clone(binding.Annotations)
	c.mu.Lock()
	c.boundAt[pod.UID] = c.clock.Now()
	c.mu.Unlock()
	return c.client.Tracker().Update(podsResource, pod, pod.Namespace)
}

func (c *cluster) evict(eviction *policyv1.Eviction) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse {
		return apierrors.NewTooManyRequests("the budget is spent", 1)
	}
	found, err := c.client.Tracker().Get(podsResource, eviction.Namespace, eviction.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod)
	if uid := eviction.DeleteOptions.Preconditions.UID; uid == nil || *uid != pod.UID {
		return apierrors.NewConflict(v1.Resource("pods"), pod.Name, fmt.Errorf("precondition failed"))
	}
	c.evicted = append(c.evicted, pod.Name)
	if c.slowTermination {
		now := metav1.Now()
		terminating := pod.DeepCopy()
		terminating.DeletionTimestamp = &now
		terminating.Finalizers = []string{"test/slow-termination"}
		err = c.client.Tracker().Update(podsResource, terminating, pod.Namespace)
	} else {
		err = c.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name)
	}
	if err != nil {
		return err
	}
	if c.withoutControllers {
		return nil
	}
	return c.client.Tracker().Add(c.replacement(pod))
}

// replacement is the pod that the controller creates in place of the given one.
func (c *cluster) replacement(of *v1.Pod) *v1.Pod {
	c.names++
	pod := of.DeepCopy()
	pod.Name = fmt.Sprintf("%s-again-%d", of.OwnerReferences[0].Name, c.names)
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Spec.NodeName, pod.DeletionTimestamp, pod.Finalizers = "", nil, nil
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
	return pod
}

// endPods removes the terminating pods.
func (c *cluster) endPods() {
	c.mu.Lock()
	c.slowTermination = false
	c.mu.Unlock()
	for _, pod := range c.pods() {
		if pod.DeletionTimestamp != nil {
			c.must(c.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name))
		}
	}
}

// unlessDown answers with an error while the API server is down.
func (c *cluster) unlessDown(clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apiDown, nil, errors.New("connection refused")
}

// named gives a new object a UID of its own.
func (c *cluster) named(action clienttesting.Action) (bool, runtime.Object, error) {
	object, err := meta.Accessor(action.(clienttesting.CreateAction).GetObject())
	if err != nil {
		return true, nil, err
	}
	if object.GetUID() == "" {
		object.SetUID(uuid.NewUUID())
	}
	return false, nil, nil
}
