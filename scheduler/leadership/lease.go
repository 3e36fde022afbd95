package leadership

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Lease is what makes a process the leader. A process that was stopped for a while goes on where it was,
// before it notices that another one has taken over: so it asks before it does what cannot be undone.
type Lease struct {
	// Client reads the lease of this name.
	Client          coordination.LeasesGetter
	Namespace, Name string
	// Identity is the name under which this process holds it.
	Identity string
}

// LostError says that another process leads.
type LostError struct{ Holder string }

// Error says who.
func (e *LostError) Error() string {
	return fmt.Sprintf("this process does not lead any more: the lease is held by %q", e.Holder)
}

// Check asks the API server whether this process holds the lease, and returns a *LostError if it does not.
// Without a lease there is only one process.
func (l *Lease) Check(ctx context.Context) error {
	if l == nil {
		return nil
	}
	lease, err := l.Client.Leases(l.Namespace).Get(ctx, l.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking who leads: %w", err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if holder != l.Identity {
		return &LostError{holder}
	}
	return nil
}
