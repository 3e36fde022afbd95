package gate

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

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
