package priorityoptimizer

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/leadership"
)

// startUpHold is how long a process that begins to schedule holds pods back until it knows whether there is a plan to
// resume.
const startUpHold = 2 * time.Second

// lead says whether this process schedules: only then may it change anything.
type lead struct {
	logger klog.Logger
	held   atomic.Bool
	// lease says whether the process still leads; nil if no other process can.
	lease atomic.Pointer[leadership.Lease]
}

// Lead tells the plugin that its process schedules. Until it has looked for open plans, no pod may take the room that a
// former process was making.
func (p *Plugin) Lead() {
	if p.rehearser.Load() != nil {
		p.Hold.Begin(startUpHold)
	}
	p.lead.held.Store(true)
	p.WakeUp()
}

// check must pass before anything is evicted or written: a process that was stopped for longer than its lease continues
// in the middle of a plan that another process has taken over.
func (l *lead) check(ctx context.Context) error { return l.ask(ctx, (*leadership.Lease).Check) }

// checkCached is check for frequent actions: it reads the lease only as often as its duration demands.
func (l *lead) checkCached(ctx context.Context) error {
	return l.ask(ctx, (*leadership.Lease).CheckCached)
}

func (l *lead) ask(ctx context.Context, whether func(*leadership.Lease, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	err := whether(l.lease.Load(), ctx)
	var lost *leadership.LostError
	if errors.As(err, &lost) && l.held.Swap(false) {
		l.logger.Error(err, "Plans are left to the leader")
	}
	return err
}
