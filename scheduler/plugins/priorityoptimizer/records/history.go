package records

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

// History lists what the recorded plans have done to running pods. It survives a restart.
func (r *Plans) History() []plan.Moved {
	var moved []plan.Moved
	for _, record := range r.All() {
		of := movedBy(record)
		for i := range of {
			if !record.Status.Phase.Final() {
				of[i].At = r.Clock.Now() // it goes on
			}
		}
		moved = append(moved, of...)
	}
	return moved
}

// movedBy lists what one plan has done to running pods.
func movedBy(record *packingplan.Record) (moved []plan.Moved) {
	began, at := record.Created(), record.Completed()
	if record.Status.StartTime != nil {
		began = record.Status.StartTime.Time
	}
	for _, step := range record.Status.Steps {
		if step.State.Disrupted() {
			moved = append(moved, plan.Moved{Owner: types.UID(step.OwnerUID), Class: step.Class,
				From: step.From, To: step.To, Began: began, At: at})
		}
	}
	return moved
}

// unreplacedBy are the workloads of which a plan that has ended moved a pod whose replacement had not got its node by then.
func unreplacedBy(record *packingplan.Record) sets.Set[types.UID] {
	found := sets.New[types.UID]()
	if !record.Status.Phase.Final() {
		return found
	}
	for _, move := range record.Status.Moves() {
		if move.State == packingplan.Evicted || move.State == packingplan.Gone {
			found.Insert(types.UID(move.OwnerUID))
		}
	}
	return found.Delete("")
}

// Unreplaced are those workloads of all recorded plans. It survives a restart.
func (r *Plans) Unreplaced() sets.Set[types.UID] {
	found := sets.New[types.UID]()
	for _, record := range r.All() {
		found = found.Union(unreplacedBy(record))
	}
	return found
}

// remembersLoss says that a workload that lost a pod by the plan is not whole yet: only the plan's record tells.
func (r *Plans) remembersLoss(record *packingplan.Record) bool {
	return len(r.View.Broken(unreplacedBy(record))) > 0
}

// CoolDownOf is how long the plan asks for pods to be left alone that an earlier one has moved.
func CoolDownOf(record *packingplan.Record) time.Duration {
	if asked := record.Spec.CoolDownSeconds; asked != nil {
		return time.Duration(*asked) * time.Second
	}
	return 0
}

// prune deletes the oldest finished plans beyond the limit. Plans that have disrupted pods are counted apart, and none is
// deleted before the workloads that it disrupted have cooled down, and are whole again where they lost a pod: what must
// not be moved again, or back, is known from them alone, and plans without an effect must not make it forgotten.
func (r *Plans) prune(ctx context.Context, last *packingplan.Record) {
	var disruptive, others []*packingplan.Record
	add := func(record *packingplan.Record) {
		switch {
		case r.remembersLoss(record):
		case len(movedBy(record)) > 0:
			disruptive = append(disruptive, record)
		default:
			others = append(others, record)
		}
	}
	add(last)
	for _, record := range r.All() {
		if record.UID() != last.UID() {
			add(record)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, APITimeout)
	defer cancel()
	cooled := slices.DeleteFunc(packingplan.Outdated(disruptive, r.HistoryLimit), func(record *packingplan.Record) bool {
		return r.Clock.Since(record.Completed()) < max(r.CoolDown, CoolDownOf(record))
	})
	for _, record := range append(cooled, packingplan.Outdated(others, r.HistoryLimit)...) {
		if err := r.Store.Delete(ctx, &record.Object); err != nil {
			r.Logger(record).Error(err, "An old plan could not be deleted")
			return
		}
	}
}
