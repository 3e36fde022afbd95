package priorityoptimizer

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// lostBy are the workloads of which a plan that has ended moved a pod whose replacement had not got its node by then.
func lostBy(record *packingplan.Record) sets.Set[types.UID] {
	lost := sets.New[types.UID]()
	if !record.Status.Phase.Final() {
		return lost
	}
	for i := range record.Status.Moves {
		move := &record.Status.Moves[i]
		switch executor.State(move.State) {
		case executor.Evicted, executor.Gone:
			lost.Insert(types.UID(move.OwnerUID))
		}
	}
	return lost.Delete("")
}

// lost are those workloads of all recorded plans. It survives a restart.
func (r *planRecords) lost() sets.Set[types.UID] {
	lost := sets.New[types.UID]()
	for _, record := range r.all() {
		lost = lost.Union(lostBy(record))
	}
	return lost
}

// remembersLoss says that a workload that lost a pod by the plan is not whole yet: only the plan's record tells.
func (r *planRecords) remembersLoss(record *packingplan.Record) bool {
	lost := lostBy(record)
	if len(lost) == 0 {
		return false
	}
	now, err := r.plugin.view.snapshot("")
	return err != nil || len(broken(now, lost, r.plugin.view.workloads)) > 0
}

// broken are those of the workloads that have pods in the snapshot and lack some. A replacement that waits for a node has
// come: to find it a node is what plans are for.
func broken(now *snapshot.Snapshot, of sets.Set[types.UID], in snapshot.Workloads) sets.Set[types.UID] {
	waiting, one := map[types.UID]int32{}, map[types.UID]*snapshot.Pod{}
	for _, pod := range now.Pods {
		switch {
		case !of.Has(pod.Owner):
		case pod.Node == "":
			waiting[pod.Owner]++
		default:
			one[pod.Owner] = pod
		}
	}
	left := sets.New[types.UID]()
	for owner, pod := range one {
		if !snapshot.IsWhole(pod.Object, waiting[owner], in) {
			left.Insert(owner)
		}
	}
	return left
}

// keepBroken pins the pods of workloads that have lost one by an earlier plan and are not whole again: whatever kept that
// replacement away may keep the next one away.
func (s *solveSession) keepBroken() {
	lost := s.records.lost()
	if len(lost) == 0 {
		return
	}
	left := broken(s.snapshot, lost, s.plugin.view.workloads)
	for uid, pod := range s.snapshot.Pods {
		if left.Has(pod.Owner) && pod.Node != "" && pod.Immovable == "" {
			s.snapshot.Pin(uid, snapshot.LostReplacement)
			s.noteChange(s.clock.Now().Add(snapshot.LookAgain))
		}
	}
}
