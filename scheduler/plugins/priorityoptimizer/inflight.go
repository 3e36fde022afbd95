package priorityoptimizer

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// inFlight are the pods this scheduler has reserved a node for and whose binding the informers
// do not show yet.
type inFlight struct {
	mu    sync.Mutex
	nodes map[types.UID]string
	count uint64
}

func newInFlight() *inFlight { return &inFlight{nodes: map[types.UID]string{}} }

func (f *inFlight) add(uid types.UID, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[uid] = node
	f.count++
}

func (f *inFlight) remove(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, uid)
}

// seen forgets a pod once the informers show its node.
func (f *inFlight) seen(pod *v1.Pod) {
	if pod.Spec.NodeName != "" {
		f.remove(pod.UID)
	}
}

func (f *inFlight) all() map[types.UID]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.nodes)
}

// generation changes with each pod that is added.
func (f *inFlight) generation() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}
