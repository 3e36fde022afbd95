package reservation

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

// planRoom is the room that is held for the pods of one plan: in the process that carries it out, that of its execution.
type planRoom struct {
	name string
	// record is the plan's object as it was last seen.
	record *packingplan.Record
	*executor.Places
	// promised is the room of all its places on each node, taken or not.
	promised map[string]resources.Vector
}

// HoldPlan holds room for the pods of a plan, as its object has it.
func (l *Ledger) HoldPlan(record *packingplan.Record) {
	plan, places := record.UID(), executor.PlacesOf(record, l.book)
	promised := places.Outstanding()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isGone(plan) {
		return
	}
	room := l.plans[plan]
	if room == nil {
		room = &planRoom{record.Name(), record, places, promised}
		l.plans[plan] = room
	}
	l.freeChanged(room.promised, promised)
	l.freeChanged(promised, room.promised)
	room.record, room.promised = record, promised
	if !room.Carried {
		room.Places = places
		l.recount(plan)
	}
}

func (l *Ledger) freeChanged(before, now map[string]resources.Vector) {
	for node, room := range before {
		if !room.Equal(now[node]) {
			l.free(node)
		}
	}
}

// CarryPlan holds the room of a plan that is held already as its execution has it.
func (l *Ledger) CarryPlan(plan types.UID, execution *executor.Execution) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := l.plans[plan]; room != nil {
		room.Places = execution.Places
	}
}

// DropExecution holds the room of a plan as its object has it again: another process may carry it on.
func (l *Ledger) DropExecution(plan types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if room := l.plans[plan]; room != nil && room.Carried {
		room.Places = executor.PlacesOf(room.record, l.book)
		l.recount(plan)
		l.freeChanged(room.promised, nil)
	}
}

// Outstanding is the room on each node for the places of the plan that nobody has taken. The map must not be changed.
func (l *Ledger) Outstanding(plan types.UID) map[string]resources.Vector {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if room := l.plans[plan]; room != nil {
		return room.Outstanding()
	}
	return nil
}

// EndPlan ends what is held for a plan, for good.
func (l *Ledger) EndPlan(plan types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if was := l.plans[plan]; was != nil {
		delete(l.plans, plan)
		l.freeChanged(was.promised, nil)
	}
	l.markGone(plan)
}
