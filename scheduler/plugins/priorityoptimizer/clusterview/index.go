package clusterview

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// OfController are the pods of a controller, whatever their state. The index never fails.
func (v *View) OfController(uid types.UID) (pods []*v1.Pod) {
	objects, _ := v.indexed.ByIndex(controllerIndex, string(uid))
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// controllerIndex finds the pods of a controller by its UID, nodeIndex those of a node by its name, and those
// that have none by the empty one.
const (
	controllerIndex = "stowage.dev/controller"
	nodeIndex       = "stowage.dev/node"
)

// IndexPods makes the pods' informer find them by controller and node, unless another profile has done so.
func (v *View) IndexPods(pods cache.SharedIndexInformer) error {
	v.indexed = pods.GetIndexer()
	if _, done := pods.GetIndexer().GetIndexers()[controllerIndex]; done {
		return nil
	}
	return pods.AddIndexers(cache.Indexers{nodeIndex: func(object any) ([]string, error) {
		if pod, ok := object.(*v1.Pod); ok {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}, controllerIndex: func(object any) ([]string, error) {
		if pod, ok := object.(*v1.Pod); ok {
			if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
				return []string{string(controller.UID)}, nil
			}
		}
		return nil, nil
	}})
}

// Lasting are the pods on a node that would not go with it. The index never fails.
func (v *View) Lasting(node string) (pods []*v1.Pod) {
	objects, _ := v.indexed.ByIndex(nodeIndex, node)
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok && !podutil.IsPodTerminal(pod) && !snapshot.GoesWithItsNode(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Broken are those of the workloads that have running pods and lack some. A replacement that waits for a node has come,
// whether or not the scheduler has tried it: to find it a node is what plans are for.
func (v *View) Broken(of sets.Set[types.UID]) sets.Set[types.UID] {
	left := sets.New[types.UID]()
	for controller := range of {
		living := slices.DeleteFunc(v.OfController(controller), func(pod *v1.Pod) bool {
			return pod.DeletionTimestamp != nil || podutil.IsPodTerminal(pod)
		})
		if len(living) > 0 && !snapshot.IsWhole(living[0], len(living), v.Workloads) {
			left.Insert(controller)
		}
	}
	return left
}

// WaitingSince is a pod that has been found unschedulable since then, or nil. Times have whole seconds.
func (v *View) WaitingSince(since time.Time) *v1.Pod {
	objects, _ := v.indexed.ByIndex(nodeIndex, "") // the index never fails
	for _, object := range objects {
		pod, ok := object.(*v1.Pod)
		if !ok || pod.DeletionTimestamp != nil {
			continue
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == v1.PodScheduled && condition.Reason == v1.PodReasonUnschedulable &&
				!condition.LastTransitionTime.Time.Before(since.Truncate(time.Second)) {
				return pod
			}
		}
	}
	return nil
}
