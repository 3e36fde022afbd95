package priorityoptimizer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// A plan's own spec may ask for less than the plugin's arguments allow, never for more.

const (
	messageOver           = "its time was over before it was carried out"
	messageOverExecuting  = "its time is over: %d pods had not left their nodes, and stay"
	messageNothingToEmpty = "no node can be emptied"
	messageNothingEmptied = "the optimiser found no node to empty in time"
)

// reasonMaxEvictions is that of objections to a plan that evicts more pods than it was asked to.
const reasonMaxEvictions = "limit-evictions"

// policyFor is the rule by which the plan must be an improvement.
func (p *planner) policyFor(record *packingplan.Record) plan.Policy {
	switch {
	case record.Spec.Consolidates():
		return plan.Consolidate
	case p.args.Policy == PolicyPaper:
		return plan.Paper
	}
	return plan.Strict
}

func objectiveMessage(spec *packingplan.Spec) contract.Objective {
	if spec.Consolidates() {
		return contract.Objective_OBJECTIVE_CONSOLIDATE
	}
	return contract.Objective_OBJECTIVE_PLACE
}

// tighter is the lower of two limits, of which nil is none.
func tighter(one, other *int32) *int32 {
	if one == nil || other != nil && *other < *one {
		return other
	}
	return one
}

// limits are those of the plugin and of the plan together.
func (s *solveSession) limits() plan.Limits {
	limits := s.args.Limits.ofPlan()
	if most := s.record.Spec.MaxMoves; most != nil && (limits.Moves == 0 || int(*most) < limits.Moves) {
		limits.Moves = int(*most)
	}
	return limits
}

// evictionsBeyond are those that exceed the plan's own limit, which may be none at all.
func (s *solveSession) evictionsBeyond(checked *plan.Plan) []plan.Step {
	most := s.record.Spec.MaxEvictions
	if most == nil || len(checked.Evictions) <= int(*most) {
		return nil
	}
	return checked.Evictions[*most:]
}

// pinByTerms pins the pods that the plan's own spec leaves alone.
func (s *solveSession) pinByTerms(now time.Time) {
	spec := &s.record.Spec
	if spec.CoolDownSeconds == nil && spec.NamespaceSelector == nil {
		return
	}
	chosen := s.plugin.view.namespacesOf(spec.NamespaceSelector)
	for uid, pod := range s.snapshot.Pods {
		switch {
		case pod.Node == "":
		case !chosen(pod.Object.Namespace):
			s.snapshot.Pin(uid, snapshot.ProtectedNamespace)
		case spec.CoolDownSeconds != nil && coolsDown(pod.Object.Status.StartTime, seconds(*spec.CoolDownSeconds), now):
			s.snapshot.Pin(uid, snapshot.CoolingDown)
		}
	}
}

// coolsDown says that the pod has not run for so long. A pod that a plan has moved is a new one, so this also tells
// which pods were moved lately, by whichever process.
func coolsDown(started *metav1.Time, least time.Duration, now time.Time) bool {
	return least > 0 && (started == nil || now.Sub(started.Time) < least)
}

// namespacesOf says of a namespace whether the selector, of which nil selects all, selects it. One that is not known is
// not selected, and none is by a selector that cannot be read.
func (v *view) namespacesOf(selector *metav1.LabelSelector) func(string) bool {
	if selector == nil {
		return func(string) bool { return true }
	}
	selects, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		selects = labels.Nothing()
	}
	known := map[string]bool{}
	return func(name string) bool {
		chosen, seen := known[name]
		if !seen {
			namespace, err := v.namespaces.Get(name)
			chosen = err == nil && selects.Matches(labels.Set(namespace.Labels))
			known[name] = chosen
		}
		return chosen
	}
}

// nothingToEmpty is how a solve ends that has found no node to empty.
func nothingToEmpty(status *packingplan.Status) *ending {
	if status.Optimal {
		return &ending{packingplan.NoImprovement, messageNothingToEmpty}
	}
	return &ending{packingplan.NoImprovement, messageNothingEmptied}
}
