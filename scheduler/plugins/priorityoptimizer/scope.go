package priorityoptimizer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// rulesFor are the profile's rules and what the plan asks for beside them.
func (v *view) rulesFor(record *packingplan.Record) snapshot.Rules {
	rules, spec := v.rules, &record.Spec
	if record.Consolidates() && len(spec.SchedulerNames) > 0 {
		rules.Schedulers = sets.New(spec.SchedulerNames...)
	}
	// Nothing waits for such a plan, so that its evictions can.
	rules.InTurn = record.Consolidates()
	rules.Scope = snapshot.Scope{Nodes: selectorOf(spec.NodeSelector), Namespaces: selectorOf(spec.NamespaceSelector)}
	return rules
}

// selectorOf is nil where nothing is selected.
func selectorOf(of *metav1.LabelSelector) labels.Selector {
	if of == nil {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil {
		return labels.Nothing() // fail closed
	}
	return selector
}

// isSteered says that the profile places all pods that the plan may move.
func (s *solveSession) isSteered() bool {
	return s.rules.Schedulers == nil || s.rules.Schedulers.Equal(sets.New(s.rules.SchedulerName))
}

// policy is what the session's plans may do.
func (s *solveSession) policy() plan.Policy {
	switch {
	case !s.record.Consolidates():
		return s.planner.policy()
	case s.isSteered():
		return plan.Consolidate
	}
	return plan.Unsteered
}

// keepShort pins the pods of workloads of which no pod may leave, since too few are ready: a drain would wait for them in
// vain.
func (s *solveSession) keepShort() {
	atOnce := int(s.args.Limits.MaxUnavailablePerWorkload)
	if s.policy() != plan.Unsteered || atOnce == 0 {
		return
	}
	ready, of := map[types.UID]int{}, map[types.UID]*snapshot.Pod{}
	for _, pod := range s.snapshot.Pods {
		if pod.Owner != "" && pod.Node != "" {
			of[pod.Owner] = pod
			if snapshot.IsReady(pod.Object) {
				ready[pod.Owner]++
			}
		}
	}
	short := sets.New[types.UID]()
	for owner, pod := range of {
		if wanted := snapshot.Wanted(pod.Object, s.plugin.view.workloads); wanted != nil && int(*wanted)-ready[owner] >= atOnce {
			short.Insert(owner)
		}
	}
	for uid, pod := range s.snapshot.Pods {
		if short.Has(pod.Owner) && pod.Node != "" && pod.Immovable == "" {
			s.snapshot.Pin(uid, snapshot.NotWhole)
			s.noteChange(s.clock.Now().Add(snapshot.LookAgain))
		}
	}
}

// limits are those of the profile, within which the plan may ask for fewer moves.
func (s *solveSession) limits() plan.Limits {
	limits := s.args.Limits.OfPlan()
	if asked := s.record.Spec.MaxMoves; asked != nil && (limits.Moves == 0 || int(*asked) < limits.Moves) {
		limits.Moves = int(*asked)
	}
	return limits
}

// coolDownOf is how long the plan asks for pods to be left alone that an earlier one has moved.
func coolDownOf(record *packingplan.Record) time.Duration {
	if asked := record.Spec.CoolDownSeconds; asked != nil {
		return time.Duration(*asked) * time.Second
	}
	return 0
}

// now is the cluster as it is, under the rules of the session.
func (s *solveSession) now(id string) (*snapshot.Snapshot, error) {
	return s.plugin.view.snapshotUnder(s.rules, id, anyPod)
}
