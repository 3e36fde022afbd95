package simulation

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// arriveOne has a pod come. If another of its name is still there, because it got its node later than it did when it was
// recorded, that one goes first.
func (v *virtualTime) arriveOne(arrival *ArrivingPod) error {
	if former := v.lives.last[arrival.Name]; former != nil {
		if err := v.takeAway(former, former.arrival.How); err != nil {
			return err
		}
	}
	template := v.timeline.templates[arrival.Of]
	if template == nil {
		v.timeline.leaveOut("Pod", arrival.Name, fmt.Sprintf("there is no template %q that makes sense", arrival.Of))
		return nil
	}
	if arrival.Node != "" {
		_, err := v.api.Get(nodeResource, "", arrival.Node)
		if apierrors.IsNotFound(err) {
			v.timeline.leaveOut("Pod", arrival.Name, fmt.Sprintf("its node %q is not there", arrival.Node))
			return nil
		}
		if err != nil {
			return err
		}
	}
	pod := v.lives.begin(arrival, template)
	pod.CreationTimestamp = metav1.NewTime(v.clock.Now())
	if err := v.ensureNamespace(pod.Namespace); err != nil {
		return err
	}
	if pod.Spec.NodeName != "" {
		v.api.start(pod)
		v.api.run(pod) // it was there before
	}
	if err := v.storePod(pod); err != nil {
		return fmt.Errorf("pod %s: %w", arrival.Name, err)
	}
	return nil
}

func (v *virtualTime) ensureNamespace(name string) error {
	if v.namespaces[name] {
		return nil
	}
	v.namespaces[name] = true
	return v.put(&Object{namespaceOf(name)}, namespaceResource)
}

// takeAway has a pod end; the scheduler may have lost it before.
func (v *virtualTime) takeAway(life *Life, how string) error {
	namespace, name := splitKey(life.Pod)
	if err := v.api.remove(podResource, namespace, name); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	v.lives.end(life, how)
	return v.api.pods.wait(v.ctx)
}

// loseNode removes a node and its pods, in the order of their names; their controllers make new ones, unless each is for
// one node.
func (v *virtualTime) loseNode(node string) error {
	if err := v.api.remove(nodeResource, "", node); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := v.api.nodes.wait(v.ctx); err != nil {
		return err
	}
	for _, pod := range slices.Sorted(maps.Keys(v.lives.there)) {
		life := v.lives.there[pod]
		if life.Node != node {
			continue
		}
		if life.sort.owner.Kind == daemonSet {
			if err := v.takeAway(life, howNodeGone); err != nil {
				return err
			}
			continue
		}
		if _, err := v.exchange(pod, howNodeGone); err != nil {
			return err
		}
	}
	return nil
}

// exchange removes a pod, and has its owner make the next one: nil if it has none.
func (v *virtualTime) exchange(pod, how string) (*v1.Pod, error) {
	namespace, name := splitKey(pod)
	object, err := v.api.Get(podResource, namespace, name)
	if err != nil {
		return nil, err
	}
	if err := v.api.remove(podResource, namespace, name); err != nil {
		return nil, err
	}
	if err := v.api.pods.wait(v.ctx); err != nil {
		return nil, err
	}
	again := v.lives.replace(object.(*v1.Pod), how)
	if again == nil {
		return nil, nil
	}
	again.CreationTimestamp = metav1.NewTime(v.clock.Now())
	return again, v.storePod(again)
}

// put stores an object in place of the one of its name, if there is one.
func (v *virtualTime) put(object *Object, resource schema.GroupVersionResource) error {
	if budget, is := object.Object.(*policyv1.PodDisruptionBudget); is {
		v.watchBudget(budget.DeepCopy())
	}
	return v.replace(resource, object.Object)
}

func (v *virtualTime) replace(resource schema.GroupVersionResource, object runtime.Object) error {
	if err := v.api.put(resource, object); err != nil {
		return err
	}
	return v.api.counters[resource].wait(v.ctx)
}

func (v *virtualTime) removeObject(name *ObjectName) error {
	resource, read := resourceNamed(name.Kind)
	if !read {
		return nil
	}
	if resource == budgetResource {
		delete(v.guards[name.Namespace], name.Name)
	}
	if err := v.api.remove(resource, name.Namespace, name.Name); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return v.api.counters[resource].wait(v.ctx)
}
