package priorityoptimizer

import (
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
)

// holdRoom reserves the room of every arrival of the plan before anything is evicted: no other pod may take what a plan
// frees. Every other process reserves it as soon as it sees that the plan is being carried out.
func (l *loop) holdRoom(record *packingplan.Record) {
	if ledger := l.ledger.Load(); ledger != nil {
		ledger.HoldPlan(record.UID(), record.Name(), reservation.ArrivalsOf(record))
	}
}

// releaseRoom releases the room of a plan whose final status has been written, or cannot be. A proposal has not ended:
// it may still be carried out.
func (l *loop) releaseRoom(record *packingplan.Record) {
	if ledger := l.ledger.Load(); ledger != nil && record.Status.Phase.Final() {
		ledger.EndPlan(record.UID())
	}
}
