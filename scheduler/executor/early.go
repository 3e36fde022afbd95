package executor

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
)

// AllowEarly allows evictions before there is room for the replacements, although other arrivals are expected: those have
// room, but are blocked by a pod that has not been evicted yet.
func (e *Execution) AllowEarly(uids ...types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, uid := range uids {
		if step := e.byUID[uid]; step != nil {
			step.early = true
		}
	}
}

// Unblock allows the early eviction of the waiting pod with the shortest gap. It reports false if there is none left.
func (e *Execution) Unblock(free map[string]resources.Vector) (types.UID, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waiting := slices.DeleteFunc(e.waitingMoves(), func(s *step) bool { return s.early })
	if len(waiting) == 0 {
		return "", false
	}
	next := e.shortestGap(waiting, free)
	next.early = true
	return next.uid(), true
}
