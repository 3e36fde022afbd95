package records

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/leadership"
)

// Lead says whether this process schedules: only then may it change anything.
type Lead struct {
	Logger klog.Logger
	Held   atomic.Bool
	// Lease says whether the process still leads; nil if no other process can.
	Lease atomic.Pointer[leadership.Lease]
}

// Check must pass before anything is evicted or written: a process that was stopped for longer than its lease continues
// in the middle of a plan that another process has taken over.
func (l *Lead) Check(ctx context.Context) error { return l.ask(ctx, (*leadership.Lease).Check) }

// CheckCached is check for frequent actions: it reads the lease only as often as its duration demands.
func (l *Lead) CheckCached(ctx context.Context) error {
	return l.ask(ctx, (*leadership.Lease).CheckCached)
}

func (l *Lead) ask(ctx context.Context, whether func(*leadership.Lease, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	err := whether(l.Lease.Load(), ctx)
	var lost *leadership.LostError
	if errors.As(err, &lost) && l.Held.Swap(false) {
		l.Logger.Error(err, "Plans are left to the leader")
	}
	return err
}
