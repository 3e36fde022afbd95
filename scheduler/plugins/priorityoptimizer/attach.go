package priorityoptimizer

import (
	"context"
	"time"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// rehearser tries a plan before anything is done.
type rehearser interface {
	Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error)
	// FreeOn is the room on the nodes, pods whose binding is under way counted.
	FreeOn(ctx context.Context, nodes []string) (map[string]resources.Vector, error)
}

// Attach hands over what the plugin needs of the complete scheduler. Without a framework to rehearse plans in, no plan
// is made. The ledger holds the room of plans; it is nil where no profile has reservations. The lease is nil where no
// other process can lead.
func (p *Plugin) Attach(to *rehearsal.Framework, ledger *reservation.Ledger, lease *leadership.Lease) {
	var replaying rehearser = to
	p.rehearser.Store(&replaying)
	p.ledger.Store(ledger)
	p.lease.Store(lease)
	if ledger != nil {
		p.view.held, p.view.ownerLabels = ledger.HeldByNode, ledger.OwnerLabels
	}
}

// startUpHold is how long a process that begins to schedule holds pods back until it knows whether there is a plan to
// resume.
const startUpHold = 2 * time.Second

// Lead tells the plugin that its process schedules. Until it has looked for open plans, no pod may take the room that a
// former process was making.
func (p *Plugin) Lead() {
	if p.rehearser.Load() != nil {
		p.hold.begin(startUpHold)
	}
	p.leads.Store(true)
	p.wakeUp()
}
