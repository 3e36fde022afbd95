package priorityoptimizer

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

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

// unreplaced are those workloads of all recorded plans. It survives a restart.
func (r *planRecords) unreplaced() sets.Set[types.UID] {
	found := sets.New[types.UID]()
	for _, record := range r.all() {
		found = found.Union(unreplacedBy(record))
	}
	return found
}

// remembersLoss says that a workload that lost a pod by the plan is not whole yet: only the plan's record tells.
func (r *planRecords) remembersLoss(record *packingplan.Record) bool {
	return len(r.plugin.view.broken(unreplacedBy(record))) > 0
}

// broken are those of the workloads that have running pods and lack some. A replacement that waits for a node has come,
// whether or not the scheduler has tried it: to find it a node is what plans are for.
func (v *view) broken(of sets.Set[types.UID]) sets.Set[types.UID] {
	left := sets.New[types.UID]()
	for controller := range of {
		living := slices.DeleteFunc(v.ofController(controller), func(pod *v1.Pod) bool {
			return pod.DeletionTimestamp != nil || podutil.IsPodTerminal(pod)
		})
		if len(living) > 0 && !snapshot.IsWhole(living[0], len(living), v.workloads) {
			left.Insert(controller)
		}
	}
	return left
}

// pinBroken pins the pods of workloads that have lost one by an earlier plan and are not whole again: whatever kept that
// replacement away may keep the next one away.
func (s *solveSession) pinBroken() {
	left := s.plugin.view.broken(s.records.unreplaced())
	for uid, pod := range s.snapshot.Pods {
		if left.Has(pod.Owner) && pod.Node != "" && pod.Immovable == "" {
			s.snapshot.Pin(uid, snapshot.LostReplacement)
			s.noteChange(s.clock.Now().Add(snapshot.LookAgain))
		}
	}
}
