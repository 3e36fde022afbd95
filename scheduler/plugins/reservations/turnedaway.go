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

// turnedAway are the pods that found no node, and were refused one for what is reserved there. They are
// unscheduled pods all of them: who has a node or is gone is forgotten.
type turnedAway struct {
	mu   sync.Mutex
	pods map[types.UID]waiting
	// known is the store of the pods that there are; nil before Watch.
	known cache.Store
}

type waiting struct {
	pod     *v1.Pod
	refused refusedNodes
}

// mostNodes is of how many nodes it is remembered that they were refused to a pod: a pod that was refused more
// is woken up by any.
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

// keep remembers a pod. One that is gone by now is not kept: its deletion has been heard already, or will be.
func (t *turnedAway) keep(pod *v1.Pod, refused refusedNodes) {
	if refused.none() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pods == nil {
		t.pods = map[types.UID]waiting{}
	}
	t.pods[pod.UID] = waiting{pod, refused}
	if t.known != nil && !t.waits(pod) {
		delete(t.pods, pod.UID)
	}
}

// waits says whether the pod is there and has no node.
func (t *turnedAway) waits(pod *v1.Pod) bool {
	object, there, err := t.known.Get(pod)
	now, ok := object.(*v1.Pod)
	return err != nil || there && ok && now.UID == pod.UID && now.Spec.NodeName == ""
}

func (t *turnedAway) forget(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.pods, uid)
}

// concerned are those to whom one of the nodes was refused.
func (t *turnedAway) concerned(freed sets.Set[string]) map[string]*v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]*v1.Pod{}
	for uid, one := range t.pods {
		if one.refused.anyOf(freed) {
			found[string(uid)] = one.pod
		}
	}
	return found
}

// Watch lets the plugin forget the pods that another process has bound, or that are gone.
func (p *Plugin) Watch(pods cache.SharedIndexInformer) error {
	p.turned.mu.Lock()
	p.turned.known = pods.GetStore()
	p.turned.mu.Unlock()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*v1.Pod); ok && pod.Spec.NodeName != "" {
				p.turned.forget(pod.UID)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := customobject.LastKnown(object).(*v1.Pod); ok {
				p.turned.forget(pod.UID)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("%s: watching pods: %w", Name, err)
	}
	return nil
}

// Freed wakes up who was turned away from one of the nodes: there may be room for him now. It must be called
// without any lock, since the scheduling queue asks back.
func (p *Plugin) Freed(nodes sets.Set[string]) {
	if pods := p.turned.concerned(nodes); len(pods) > 0 {
		p.handle.Activate(klog.Background(), pods)
	}
}
