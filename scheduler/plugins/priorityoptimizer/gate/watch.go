package gate

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Watch has the gate told of pods that are bound or gone, and of what may let pods in that it did not before.
func (g *Gate) Watch(factory informers.SharedInformerFactory) error {
	core := factory.Core().V1()
	for _, one := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{core.Pods().Informer(), g.podHandler()},
		{factory.Policy().V1().PodDisruptionBudgets().Informer(), retryWhen(g, snapshot.LetsMoreGo)},
		{core.ResourceQuotas().Informer(), retryWhen(g, allowsMore)},
		{core.LimitRanges().Informer(), retryWhen(g, func(_, _ *v1.LimitRange) bool { return true })},
	} {
		if _, err := one.informer.AddEventHandler(one.handler); err != nil {
			return fmt.Errorf("%s: watching pods and what limits them: %w", Name, err)
		}
	}
	return nil
}

// podHandler follows the pods. It wakes up the loop only for those of the active plan.
func (g *Gate) podHandler() cache.ResourceEventHandler {
	follow := func(object any, gone bool) {
		pod, ok := object.(*v1.Pod)
		if !ok {
			return
		}
		if gone || pod.Spec.NodeName != "" { // another process may have bound it
			g.InFlight.remove(pod.UID)
			g.passed(pod.UID)
		}
		if execution := g.Execution.Load(); execution != nil && execution.Concerns(pod) {
			note := execution.Note
			if gone {
				note = execution.Forget
			}
			note(pod)
			g.WakeUp()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { follow(object, false) },
		UpdateFunc: func(_, object any) { follow(object, false) },
		DeleteFunc: func(object any) { follow(customobject.LastKnown(object), true) },
	}
}

// passed forgets a pod that has its node or is gone.
func (g *Gate) passed(uid types.UID) {
	g.Trigger.unmark(uid)
	g.Waiting.Remove(uid)
}

// retryWhen asks for another solve when an object lets more pods in than before, or is gone: no other plugin reacts to its
// kind, so the waiting pods would not be tried again.
func retryWhen[Object any](g *Gate, more func(before, now *Object) bool) cache.ResourceEventHandler {
	again := func() {
		g.Trigger.Retry()
		g.WakeUp()
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, object any) {
			before, known := old.(*Object)
			now, ok := object.(*Object)
			if known && ok && more(before, now) {
				again()
			}
		},
		DeleteFunc: func(any) { again() },
	}
}

// allowsMore says that the quota's limit of something was raised. If only less is used than before, a pod has gone, which
// wakes waiting pods anyhow.
func allowsMore(before, now *v1.ResourceQuota) bool {
	for name, was := range before.Status.Hard {
		if hard, limited := now.Status.Hard[name]; !limited || hard.Cmp(was) > 0 {
			return true
		}
	}
	return false
}

// InFlight are the pods that this scheduler has reserved a node for and whose binding the informers do not show yet.
type InFlight struct {
	mu    sync.Mutex
	nodes map[types.UID]string
	// count is how many pods were added so far, and last how many there were when the last one was added on a node.
	count int
	last  map[string]int
}

func NewInFlight() *InFlight { return &InFlight{nodes: map[types.UID]string{}, last: map[string]int{}} }

func (f *InFlight) Add(uid types.UID, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.nodes[uid], f.last[node] = node, f.count
}

func (f *InFlight) remove(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, uid)
}

// All are the pods, each with its node.
func (f *InFlight) All() map[types.UID]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.nodes)
}

// Watch returns a function that says whether pods were added on one of the nodes since this call.
func (f *InFlight) Watch() (addedOn func(nodes []string) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.count
	return func(nodes []string) bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.ContainsFunc(nodes, func(node string) bool { return f.last[node] > before })
	}
}
