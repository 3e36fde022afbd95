package priorityoptimizer

import (
	"encoding/json"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	// maxRefusals and maxTiers keep the status of a plan readable.
	maxRefusals = 100
	maxTiers    = 1000
	// maxStatusBytes is the largest status of a plan: etcd accepts requests of 1.5 MiB, and the object also contains
	// what the API server records about it.
	maxStatusBytes = 1 << 20
)

// sizeOf is the size of a status in bytes, as it is stored.
func sizeOf(status *packingplan.Status) int {
	encoded, err := json.Marshal(status)
	if err != nil {
		return maxStatusBytes + 1 // plain structs always marshal
	}
	return len(encoded)
}

// endReason is the optimiser's end reason without the prefix of its enum.
func endReason(answer *optimizerclient.Answer) string {
	return strings.TrimPrefix(answer.EndReason.String(), "END_REASON_")
}

// conditionReason turns TIME_LIMIT into TimeLimit, as reasons of conditions are written.
func conditionReason(label string) string {
	reason := ""
	for _, word := range strings.Split(strings.ToLower(label), "_") {
		if word != "" {
			reason += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return reason
}

func describeAnswer(status *packingplan.Status, answer *optimizerclient.Answer) {
	status.EndReason = endReason(answer)
	if answer.Strategy != "" {
		status.Strategy = answer.Strategy
	}
	status.Message = packingplan.Shortened(answer.Message)
	status.Refusals, status.Tiers = nil, nil // of an earlier round
	for i, refusal := range answer.Refusals {
		if i == maxRefusals {
			break
		}
		status.Refusals = append(status.Refusals, packingplan.Refusal{
			Subject: packingplan.Shortened(refusal.Subject), Reason: packingplan.Shortened(refusal.Reason), Detail: packingplan.Shortened(refusal.Detail)})
	}
	if answer.Plan == nil {
		return
	}
	for i, tier := range answer.Plan.Tiers {
		if i == maxTiers {
			break
		}
		status.Tiers = append(status.Tiers, packingplan.Tier{
			Priority: tier.Priority, PlacedBefore: tier.PlacedBefore, Placed: tier.Placed,
			UpperBound: tier.UpperBound, Optimal: tier.Optimal})
	}
}

// describeProtected lists the rules that protected running pods from the plan, and how many pods wait because of them.
func describeProtected(status *packingplan.Status, asked *snapshot.Snapshot, answer *contract.Plan) {
	placed := sets.New[types.UID]()
	for _, placement := range answer.GetPlacements() {
		placed.Insert(types.UID(placement.GetPodUid()))
	}
	status.Protected = nil // of an earlier round
	for _, kept := range asked.Protections(func(uid types.UID) bool { return !placed.Has(uid) }) {
		status.Protected = append(status.Protected, packingplan.Protected{Reason: kept.Reason, Pods: int32(kept.Pods),
			Example: kept.Example, InTheWayOf: int32(kept.InTheWayOf)})
	}
}

// describePlan puts the plan's steps into the status, and what the pods need that arrive.
func describePlan(status *packingplan.Status, of *plan.Plan) {
	status.Steps, status.Classes = nil, nil // of an earlier round
	classes := sets.New[string]()
	for _, step := range of.Steps() {
		pod := step.Pod
		made := &packingplan.Step{Unit: step.Unit, Pod: podName(pod.Object), PodUID: string(pod.Object.UID),
			OwnerUID: string(pod.Owner), Class: pod.Class, From: step.From, To: step.To}
		if step.From != "" {
			made.State = packingplan.Waiting
		}
		status.Steps = append(status.Steps, made)
		if step.To != "" && !classes.Has(pod.Class) {
			classes.Insert(pod.Class)
			status.Classes = append(status.Classes, packingplan.Class{ID: pod.Class,
				Priority: corev1helpers.PodPriority(pod.Object), Requests: pod.Requests.List()})
		}
	}
}

// describeProgress puts the states of moves and evictions, and the moves' targets, into the status. It reports whether
// anything changed.
func describeProgress(status *packingplan.Status, states map[types.UID]packingplan.State, targets map[types.UID]string) bool {
	changed := false
	for _, step := range status.Steps {
		before := *step
		if state, known := states[types.UID(step.PodUID)]; known {
			step.State = state
		}
		if target, known := targets[types.UID(step.PodUID)]; known {
			step.To = target
		}
		changed = changed || *step != before
	}
	return changed
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
