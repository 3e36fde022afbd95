package gate

import (
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// HoldMargin is how long a hold may last beyond the time limit of the solve: for the snapshot, for checking the
	// plan and for recording it.
	HoldMargin = time.Second
	// window is the period over which the share of time in which pods are held is counted.
	window = time.Minute
	// shortestHold is the shortest hold that is worthwhile.
	shortestHold = 100 * time.Millisecond
)

// Hold keeps new pods out of the scheduling cycle while a solve goes on.
//
// It ends at its deadline whatever the rest of the plugin does: every call checks the deadline, and a timer of its own
// activates the pods. A hold lasts no longer than longest, and the holds within any window of a minute no longer than
// budget in total, whatever is asked for.
type Hold struct {
	clock           clock.WithDelayedExecution
	longest, budget time.Duration
	// released activates the pods. It is called without any lock, since the scheduling queue calls the plugin back.
	released func()
	// Ended is told how long each hold has lasted.
	Ended func(time.Duration)

	mu       sync.Mutex
	deadline time.Time
	began    time.Time
	timer    clock.Timer
	// past are the holds of the last window.
	past []span
}

// span is the time from a hold's beginning to its end.
type span struct{ began, ended time.Time }

// Begin starts a hold of the given duration, shortened to the bounds. A hold that is already active is extended within
// the same bounds. It reports false, and holds no pods, if almost nothing is left.
func (h *Hold) Begin(most time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	if !now.Before(h.deadline) {
		h.stop()
		h.began = now
	}
	deadline := latest(h.deadline, h.began.Add(min(now.Add(most).Sub(h.began), h.longest, h.left(h.began))))
	if deadline.Sub(now) < shortestHold {
		return false
	}
	if !h.deadline.IsZero() {
		h.timer.Stop()
	}
	h.deadline = deadline
	// In a goroutine of its own: not every clock starts one, and activating pods calls the plugin back.
	h.timer = h.clock.AfterFunc(deadline.Sub(now), func() { go h.endIf(deadline) })
	return true
}

// left is what the budget still allows, counted over the window that ends now: a window that ends with the new hold
// contains no more of the former ones.
func (h *Hold) left(now time.Time) time.Duration {
	from, left := now.Add(-window), h.budget
	h.past = slices.DeleteFunc(h.past, func(one span) bool { return !one.ended.After(from) })
	for _, one := range h.past {
		left -= one.ended.Sub(latest(one.began, from))
	}
	return left
}

// stop ends the active hold, if there is one.
func (h *Hold) stop() {
	if h.deadline.IsZero() {
		return
	}
	ended := earliest(h.clock.Now(), h.deadline)
	h.past = append(h.past, span{h.began, ended})
	h.Ended(ended.Sub(h.began))
	h.deadline = time.Time{}
	h.timer.Stop()
}

// End releases the pods. It may be called when there is no hold.
func (h *Hold) End() {
	h.mu.Lock()
	deadline := h.deadline
	h.mu.Unlock()
	h.endIf(deadline)
}

// endIf ends the hold with that deadline, so that an old timer does not end a new hold.
func (h *Hold) endIf(deadline time.Time) {
	h.mu.Lock()
	ends := !deadline.IsZero() && h.deadline.Equal(deadline)
	if ends {
		h.stop()
	}
	h.mu.Unlock()
	if ends {
		h.released()
	}
}

func (h *Hold) Active() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.clock.Now().Before(h.deadline)
}
