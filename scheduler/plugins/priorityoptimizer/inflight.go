package priorityoptimizer

import (
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// inFlight are the pods that this scheduler has reserved a node for and whose binding the informers do not show yet.
type inFlight struct {
	mu    sync.Mutex
	nodes map[types.UID]string
	// tracked are the nodes that pods were added on since startTracking; nil while nothing is tracked.
	tracked sets.Set[string]
}

func newInFlight() *inFlight { return &inFlight{nodes: map[types.UID]string{}} }

func (f *inFlight) add(uid types.UID, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nodes[uid] = node
	if f.tracked != nil {
		f.tracked.Insert(node)
	}
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

// startTracking begins to record on which nodes pods are added.
func (f *inFlight) startTracking() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tracked = sets.New[string]()
}

// stopTracking ends that.
func (f *inFlight) stopTracking() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tracked = nil
}

// addedOn says whether pods were added on one of the nodes since startTracking.
func (f *inFlight) addedOn(nodes []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tracked.HasAny(nodes...)
}
