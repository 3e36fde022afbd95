package priorityoptimizer

import (
	"context"
	"time"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
)

// stage is where plans are tried before anything is done.
type stage interface {
	Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error)
}

// Attach hands over where plans are rehearsed, without which no plan is made, and who holds the
// room that they make; nil where the profile has no reservations. The lease is nil where no other
// process can lead.
func (p *Plugin) Attach(to *rehearsal.Stage, rooms *reservation.Rooms, lease *leadership.Lease) {
	var replaying stage = to
	p.stage.Store(&replaying)
	p.rooms.Store(rooms)
	p.lease.Store(lease)
	if rooms != nil {
		p.view.held = rooms.Ledger.Standing
	}
}

// lookAroundPatience is how long a process that begins to schedule holds pods back until it knows
// whether there is a plan to carry on.
const lookAroundPatience = 2 * time.Second

// Lead tells the plugin that its process schedules. Nobody may take the room that a former
// process was making before this one has looked around.
func (p *Plugin) Lead() {
	if p.stage.Load() != nil {
		p.hold.begin(lookAroundPatience)
	}
	p.leads.Store(true)
	p.wakeUp()
}
