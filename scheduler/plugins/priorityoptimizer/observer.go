package priorityoptimizer

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Observer takes the snapshots that the plugin would send to the optimiser while no pod is being bound and nothing is
// reserved. It has no clock, so no pod is too young for it.
type Observer struct{ view *view }

// NewObserver must be called before the handle's informers are started.
func NewObserver(handle fwk.Handle, args *PriorityOptimizerArgs) *Observer {
	observer := &Observer{newView(handle, args, newInFlight())}
	observer.view.now = func() time.Time { return time.Time{} }
	return observer
}

// Snapshot is the state of the cluster now.
func (o *Observer) Snapshot(id string) (*snapshot.Snapshot, error) { return o.view.snapshot(id) }
