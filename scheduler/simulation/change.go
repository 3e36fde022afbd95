package simulation

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
)

// Change is something that happens to the cluster while pods arrive: exactly one of Node, NodeGone and
// PodGone.
type Change struct {
	// After is how many of the instance's pods are in the list before those that come after the change.
	After int `json:"after"`
	// Node takes the place of the node of its name, or joins the others.
	Node *v1.Node `json:"node,omitempty"`
	// NodeGone is the name of a node that is removed. Its pods stay behind, as they do in a cluster.
	NodeGone string `json:"nodeGone,omitempty"`
	// PodGone is namespace/name of a pod that is removed, if it is still there.
	PodGone string `json:"podGone,omitempty"`
}

func (change *Change) validate(path string, instance *Instance) []error {
	var errs []error
	kinds := 0
	for _, given := range []bool{change.Node != nil, change.NodeGone != "", change.PodGone != ""} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		errs = append(errs, fmt.Errorf("%s: must have one of node, nodeGone and podGone", path))
	}
	if change.After < 0 || change.After > len(instance.Pods) {
		errs = append(errs, fmt.Errorf("%s.after: %d is not a number of the instance's pods", path, change.After))
	}
	if change.Node != nil {
		if change.Node.Name == "" {
			errs = append(errs, fmt.Errorf("%s.node.metadata.name: missing", path))
		}
		errs = append(errs, validateQuantities(path+".node.status.allocatable", change.Node.Status.Allocatable)...)
		errs = append(errs, validateQuantities(path+".node.status.capacity", change.Node.Status.Capacity)...)
	}
	return errs
}

// change makes the changes that are due before the pod of that number arrives, and lets the scheduler settle.
func (r *run) change(changes []Change, after int) error {
	for i := range changes {
		if changes[i].After != after {
			continue
		}
		if err := r.apply(&changes[i]); err != nil {
			return fmt.Errorf("changes[%d]: %w", i, err)
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) apply(change *Change) error {
	switch {
	case change.Node != nil:
		return r.putNode(change.Node.DeepCopy())
	case change.NodeGone != "":
		return r.api.tracker.Delete(nodeResource, "", change.NodeGone)
	default:
		namespace, name := splitKey(change.PodGone)
		return r.remove(podResource, namespace, name) // it may have been preempted meanwhile
	}
}

// putNode has the node take the place of the node of its name, or join the others.
func (r *run) putNode(node *v1.Node) error {
	corev1.SetObjectDefaults_Node(node)
	return r.put(nodeResource, node)
}

// put has the object take the place of the one of its name, or join the others, and returns when that is known.
func (r *run) put(resource schema.GroupVersionResource, object runtime.Object) error {
	if err := r.api.put(resource, object); err != nil {
		return err
	}
	return r.wait()
}

// remove removes an object, which may be gone already, and returns when that is known.
func (r *run) remove(resource schema.GroupVersionResource, namespace, name string) error {
	if err := r.api.tracker.Delete(resource, namespace, name); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return r.wait()
}

// wait returns when every handler has handled every event so far.
func (r *run) wait() error { return r.events.wait(r.ctx) }

// victims are the pods that preemption has removed, in that order, until they are taken.
type victims struct {
	mu   sync.Mutex
	pods []*v1.Pod
}

func (v *victims) add(pod *v1.Pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pods = append(v.pods, pod)
}

func (v *victims) take() []*v1.Pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	taken := v.pods
	v.pods = nil
	return taken
}

// replace replaces the preempted pods, as their controllers would, and reports whether there were any.
func (r *run) replace() (replaced bool, err error) {
	for _, victim := range r.api.preempted.take() {
		pod := r.lives.replace(victim, howPreempted)
		if pod == nil {
			continue
		}
		replaced = true
		if err := r.storeWaiting(pod); err != nil {
			return false, fmt.Errorf("replacing pod %s: %w", key(victim), err)
		}
	}
	return replaced, nil
}
