package planning

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// endReason is the optimiser's end reason without the prefix of its enum.
func endReason(answer *contract.SolveUpdate) string {
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

func describeAnswer(status *packingplan.Status, answer *contract.SolveUpdate) {
	status.EndReason = endReason(answer)
	if answer.Strategy != "" {
		status.Strategy = answer.Strategy
	}
	status.Message = packingplan.Shortened(answer.Message)
	status.Refusals, status.Tiers = nil, nil // of an earlier round
	for i, refusal := range answer.Refusals {
		if i == records.MaxRefusals {
			break
		}
		status.Refusals = append(status.Refusals, packingplan.Refusal{
			Subject: packingplan.Shortened(refusal.Subject), Reason: packingplan.Shortened(refusal.Reason), Detail: packingplan.Shortened(refusal.Detail)})
	}
	if answer.Plan == nil {
		return
	}
	for i, tier := range answer.Plan.Tiers {
		if i == records.MaxTiers {
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
