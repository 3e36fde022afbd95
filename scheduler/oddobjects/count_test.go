package oddobjects_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// count counts what happened to the objects.
type count struct {
	mu                             sync.Mutex
	thrown, snapshots, plans, late int
	// ends are the optimiser's end reasons, refused the objects that Kubernetes refuses, by kind.
	ends, refused map[string]int
	// why is an example of each kind of refusal, so that the generator can be fixed.
	why map[string]string
}

func newCount() *count {
	return &count{ends: map[string]int{}, refused: map[string]int{}, why: map[string]string{}}
}

func (c *count) add(other *count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thrown, c.snapshots = c.thrown+other.thrown, c.snapshots+other.snapshots
	c.plans, c.late = c.plans+other.plans, c.late+other.late
	for end, times := range other.ends {
		c.ends[end] += times
	}
	for kind, times := range other.refused {
		c.refused[kind] += times
	}
	maps.Copy(c.why, other.why)
}

func (c *count) String() string {
	text := fmt.Sprintf("%d snapshots, %d plans, %d late; ends %v; Kubernetes refuses %v, for example",
		c.snapshots, c.plans, c.late, c.ends, c.refused)
	for _, kind := range slices.Sorted(maps.Keys(c.why)) {
		text += fmt.Sprintf("\n  %s: %s", kind, c.why[kind])
	}
	return text
}
