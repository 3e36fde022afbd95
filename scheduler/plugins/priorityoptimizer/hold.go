package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// holdMargin is what a hold may last beyond the time limit of the solve.
const holdMargin = time.Second

// hold keeps new pods out of the scheduling cycle while a solve goes on.
//
// It ends at its deadline whatever the rest of the plugin does: the deadline is looked at on
// every question, and a timer of its own wakes the pods up.
type hold struct {
	clock clock.WithDelayedExecution
	room  *waitingRoom
	// released wakes the pods up. It is called without any lock, since the scheduling queue
	// asks back.
	released func()

	mu       sync.Mutex
	deadline time.Time
	timer    clock.Timer
}

// begin starts a hold that lasts at most the given time.
func (h *hold) begin(most time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	deadline := h.clock.Now().Add(most)
	h.deadline = deadline
	// In a goroutine of its own, since not every clock promises one and waking up pods asks back.
	h.timer = h.clock.AfterFunc(most, func() { go h.endIf(deadline) })
}

// end lets the pods go. It may be called when there is no hold.
func (h *hold) end() {
	h.mu.Lock()
	deadline := h.deadline
	h.mu.Unlock()
	h.endIf(deadline)
}

// endIf ends the hold with that deadline, so that an old timer does not end a new hold.
func (h *hold) endIf(deadline time.Time) {
	h.mu.Lock()
	ends := !deadline.IsZero() && h.deadline.Equal(deadline)
	if ends {
		h.deadline = time.Time{}
		h.timer.Stop()
	}
	h.mu.Unlock()
	if ends {
		h.released()
	}
}

func (h *hold) active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock.Now().Before(h.deadline)
}

// keeps answers whether the pod has to wait, and remembers it if so.
func (h *hold) keeps(pod *v1.Pod) bool {
	if !h.active() {
		return false
	}
	h.room.keep(pod)
	return true
}
