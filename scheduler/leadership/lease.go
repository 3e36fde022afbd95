// Package leadership tells a scheduler's plugins that it has begun to schedule.
//
// A process that waits for the lease builds its plugins and fills its caches, but must change
// nothing in the cluster. The scheduler asks for its first pod only when it leads, and exits when it
// no longer does.
package leadership

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authentication "k8s.io/client-go/kubernetes/typed/authentication/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/kubernetes/pkg/scheduler"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// Lease is what makes a process the leader. A process that was stopped for a while continues where it was before it
// notices that another one has taken over, so it checks the lease before any action that cannot be undone.
type Lease struct {
	// Client reads the lease of this name.
	Client          coordination.LeasesGetter
	Namespace, Name string
	// Reviews says who this process is for the API server.
	Reviews authentication.SelfSubjectReviewsGetter
	// Identity is the name under which this process holds it.
	Identity string

	mu sync.Mutex
	// trustedUntil is until when no other process can lead, by the lease as last read.
	trustedUntil time.Time
}

// LostError says that another process leads.
type LostError struct{ Holder string }

func (e *LostError) Error() string {
	return fmt.Sprintf("this process does not lead any more: the lease is held by %q", e.Holder)
}

// Check asks the API server whether this process holds the lease, and returns a *LostError if it does not.
// Without a lease there is only one process.
func (l *Lease) Check(ctx context.Context) error {
	if l == nil {
		return nil
	}
	_, err := l.held(ctx)
	return err
}

// CheckCached is Check for frequent actions: the lease is read again only when half of it, as last read, has run out. The
// other half is for what is under way.
func (l *Lease) CheckCached(ctx context.Context) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The holder of the lease wrote the time into it by this same clock, which also runs while the process is stopped.
	if time.Now().Before(l.trustedUntil) {
		return nil
	}
	lease, err := l.held(ctx)
	if err != nil {
		return err
	}
	if renewed, lasts := lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds; renewed != nil && lasts != nil {
		l.trustedUntil = renewed.Add(time.Duration(*lasts) * time.Second / 2)
	}
	return nil
}

func (l *Lease) held(ctx context.Context) (*coordinationv1.Lease, error) {
	lease, err := l.Client.Leases(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("looking who leads: %w", err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if holder != l.Identity {
		return nil, &LostError{holder}
	}
	return lease, nil
}

// Announce calls begun once, as soon as the scheduler asks for its first pod. It must be called
// before the scheduler runs.
func Announce(of *scheduler.Scheduler, begun func()) {
	var once sync.Once
	minor.AroundNext(of, func() { once.Do(begun) }, func(int) {})
}
