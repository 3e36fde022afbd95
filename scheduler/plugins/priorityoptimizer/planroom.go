package priorityoptimizer

import (
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
)

// holdRoom holds the room of every pod of the plan that arrives, before anything is evicted: what a plan frees is
// nobody else's. Every other process holds it as soon as it sees that the plan is being carried out.
func (l *loop) holdRoom(record *packingplan.Record) {
	if ledger := l.ledger.Load(); ledger != nil {
		ledger.HoldPlan(record.UID(), record.Name(), reservation.ArrivalsOf(record))
	}
}

// releaseRoom ends what is held for a plan whose end has been put down, or cannot be. A proposal has not ended:
// it may be carried out yet.
func (l *loop) releaseRoom(record *packingplan.Record) {
	if ledger := l.ledger.Load(); ledger != nil && record.Status.Phase.Final() {
		ledger.EndPlan(record.UID())
	}
}
