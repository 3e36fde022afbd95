package planning

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// isSteered says that the profile places all pods that the plan may move.
func (s *Session) isSteered() bool {
	return s.Rules.Schedulers == nil || s.Rules.Schedulers.Equal(sets.New(s.Rules.SchedulerName))
}

// Policy is what the session's plans may do.
func (s *Session) Policy() plan.Policy {
	switch {
	case !s.Record.Consolidates():
		return s.Args.Policy.Plan()
	case s.isSteered():
		return plan.Consolidate
	}
	return plan.Unsteered
}

// keepShort pins the pods of workloads of which no pod may leave, since too few are ready: a drain would wait for them in
// vain.
func (s *Session) keepShort() {
	atOnce := int(s.Args.Limits.MaxUnavailablePerWorkload)
	if s.Policy() != plan.Unsteered || atOnce == 0 {
		return
	}
	ready, of := map[types.UID]int{}, map[types.UID]*snapshot.Pod{}
	for _, pod := range s.Snapshot.Pods {
		if pod.Owner != "" && pod.Node != "" {
			of[pod.Owner] = pod
			if snapshot.IsReady(pod.Object) {
				ready[pod.Owner]++
			}
		}
	}
	short := sets.New[types.UID]()
	for owner, pod := range of {
		if wanted := snapshot.Wanted(pod.Object, s.View.Workloads); wanted != nil && int(*wanted)-ready[owner] >= atOnce {
			short.Insert(owner)
		}
	}
	s.pinOwned(short, snapshot.NotWhole)
}

// limits are those of the profile, within which the plan may ask for fewer moves, and must fit into its object.
func (s *Session) limits() plan.Limits {
	limits := s.Args.Limits.OfPlan()
	for _, most := range []*int32{s.Record.Spec.MaxMoves, s.moveLimit} {
		if most != nil && (limits.Moves == 0 || int(*most) < limits.Moves) {
			limits.Moves = int(*most)
		}
	}
	return limits
}

// Now is the cluster as it is, under the rules of the session.
func (s *Session) Now(id string) (*snapshot.Snapshot, error) {
	return s.View.SnapshotUnder(s.Rules, id, clusterview.AnyPod)
}
