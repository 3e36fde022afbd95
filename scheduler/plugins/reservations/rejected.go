package reservations

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/customobject"
)

// rejectedPods are the pods that found no node, and were refused one because of what is reserved there. A pod that has a
// node or is gone is forgotten.
type rejectedPods struct {
	mu   sync.Mutex
	pods map[types.UID]rejectedPod
	// store is the informer's store of pods; nil before Watch.
	store cache.Store
}

type rejectedPod struct {
	pod     *v1.Pod
	refused refusedNodes
}

// mostNodes is how many refused nodes are remembered of a pod: a pod that was refused more is activated by any node.
const mostNodes = 16

// refusedNodes are the nodes that were refused to a pod.
type refusedNodes struct {
	names sets.Set[string]
	many  bool
}

func (r *refusedNodes) add(node string) {
	switch {
	case r.many:
	case len(r.names) == mostNodes:
		r.names, r.many = nil, true
	default:
		if r.names == nil {
			r.names = sets.New[string]()
		}
		r.names.Insert(node)
	}
}

func (r *refusedNodes) none() bool { return !r.many && len(r.names) == 0 }

func (r *refusedNodes) anyOf(nodes sets.Set[string]) bool {
	return r.many || r.names.HasAny(nodes.UnsortedList()...)
}

// add remembers a pod, unless it is gone or has a node by now.
func (r *rejectedPods) add(pod *v1.Pod, refused refusedNodes) {
	if refused.none() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods == nil {
		r.pods = map[types.UID]rejectedPod{}
	}
	r.pods[pod.UID] = rejectedPod{pod, refused}
	if r.store != nil && !r.waits(pod) {
		delete(r.pods, pod.UID)
	}
}

// waits says whether the pod is there and has no node.
func (r *rejectedPods) waits(pod *v1.Pod) bool {
	object, there, err := r.store.Get(pod)
	now, ok := object.(*v1.Pod)
	return err != nil || there && ok && now.UID == pod.UID && now.Spec.NodeName == ""
}

func (r *rejectedPods) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pods, uid)
}

// concerned are the pods to which one of the nodes was refused.
func (r *rejectedPods) concerned(freed sets.Set[string]) map[string]*v1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := map[string]*v1.Pod{}
	for uid, one := range r.pods {
		if one.refused.anyOf(freed) {
			found[string(uid)] = one.pod
		}
	}
	return found
}

// Watch lets the plugin forget the pods that another process has bound, or that are gone.
func (p *Plugin) Watch(pods cache.SharedIndexInformer) error {
	p.rejected.mu.Lock()
	p.rejected.store = pods.GetStore()
	p.rejected.mu.Unlock()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*v1.Pod); ok && pod.Spec.NodeName != "" {
				p.rejected.forget(pod.UID)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := customobject.LastKnown(object).(*v1.Pod); ok {
				p.rejected.forget(pod.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("%s: watching pods: %w", Name, err)
	}
	return nil
}

// Freed activates the pods that were refused one of the nodes: there may be room for them now. It must be called without
// any lock, since the scheduling queue calls plugins back.
func (p *Plugin) Freed(nodes sets.Set[string]) {
	if pods := p.rejected.concerned(nodes); len(pods) > 0 {
		p.handle.Activate(klog.Background(), pods)
	}
}
