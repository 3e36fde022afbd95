package priorityoptimizer

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Observer takes the snapshots that the plugin, with its default arguments, would send to the
// optimiser while no pod is being bound and nothing is reserved.
type Observer struct{ view *view }

// NewObserver must be called before the handle's informers are started.
func NewObserver(handle fwk.Handle, now func() time.Time) *Observer {
	args := &PriorityOptimizerArgs{}
	SetDefaults(args)
	observer := &Observer{newView(handle, args, newInFlight())}
	observer.view.now = now
	return observer
}

// Snapshot is the state of the cluster now.
func (o *Observer) Snapshot(id string) (*snapshot.Snapshot, error) { return o.view.snapshot(id) }
