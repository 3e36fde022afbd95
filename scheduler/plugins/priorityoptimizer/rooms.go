package priorityoptimizer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/reservation"
)

// roomOutlasts is how long a plan's reservations outlast the plan, should nobody end them.
const roomOutlasts = time.Minute

// holdRoom reserves the room of every pod of the plan that arrives, before anything is evicted:
// what a plan frees is nobody else's, also if this process dies.
func (l *loop) holdRoom(ctx context.Context, record *packingplan.Record, checked *plan.Plan) error {
	rooms := l.rooms.Load()
	if rooms == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	var arrivals []reservation.Arrival
	for _, placement := range checked.Placements {
		arrivals = append(arrivals, reservation.Arrival{Pod: placement.Pod.Object, Node: placement.Node})
	}
	for _, move := range checked.Moves {
		arrivals = append(arrivals, reservation.Arrival{Pod: move.Pod.Object, Node: move.To, Replaced: true})
	}
	owner := metav1.OwnerReference{APIVersion: packingplan.Resource.GroupVersion().String(), Kind: packingplan.Kind,
		Name: record.Name(), UID: record.UID()}
	return rooms.Hold(ctx, owner, arrivals, seconds(*l.args.PlanTimeoutSeconds)+roomOutlasts)
}

// releaseRoom ends what was reserved for a plan, if it came so far that it sends pods anywhere. What is
// never deleted expires by itself.
func (l *loop) releaseRoom(ctx context.Context, record *packingplan.Record) error {
	rooms := l.rooms.Load()
	if rooms == nil || len(record.Status.Placements)+len(record.Status.Moves) == 0 {
		return nil
	}
	if err := l.checkLead(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	return rooms.Release(ctx, record.Name())
}
