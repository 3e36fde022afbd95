package priorityoptimizer

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

// maxRefusals keeps the status of a plan readable.
const maxRefusals = 100

// endReason is the optimiser's end reason without the prefix of its enum.
func endReason(answer *optimizerclient.Answer) string {
	return strings.TrimPrefix(answer.EndReason.String(), "END_REASON_")
}

func describeAnswer(status *packingplan.Status, answer *optimizerclient.Answer) {
	status.EndReason = endReason(answer)
	if answer.Strategy != "" {
		status.Strategy = answer.Strategy
	}
	status.Message = answer.Message
	for i, refusal := range answer.Refusals {
		if i == maxRefusals {
			break
		}
		status.Refusals = append(status.Refusals, packingplan.Refusal{
			Subject: refusal.Subject, Reason: refusal.Reason, Detail: refusal.Detail})
	}
	if answer.Plan == nil {
		return
	}
	status.Optimal = answer.Plan.Optimal
	for _, tier := range answer.Plan.Tiers {
		status.Tiers = append(status.Tiers, packingplan.Tier{
			Priority: tier.Priority, PlacedBefore: tier.PlacedBefore, Placed: tier.Placed,
			UpperBound: tier.UpperBound, Optimal: tier.Optimal})
	}
}

func describePlan(status *packingplan.Status, of *plan.Plan) {
	for _, placement := range of.Placements {
		pod := placement.Pod.Object
		status.Placements = append(status.Placements, packingplan.Placement{
			Pod: podName(pod), PodUID: string(pod.UID), Node: placement.Node})
	}
	for _, move := range of.Moves {
		pod := move.Pod.Object
		status.Moves = append(status.Moves, packingplan.Move{Pod: podName(pod), PodUID: string(pod.UID),
			FromNode: move.From, ToNode: move.To, State: string(executor.Waiting)})
	}
	for _, eviction := range of.Evictions {
		pod := eviction.Pod.Object
		status.Evictions = append(status.Evictions, packingplan.Eviction{Pod: podName(pod),
			PodUID: string(pod.UID), Node: eviction.Node, State: string(executor.Waiting)})
	}
}

// describeProgress reports whether a state changed.
func describeProgress(status *packingplan.Status, states map[types.UID]executor.State) bool {
	changed := false
	set := func(uid string, state *string) {
		if now := string(states[types.UID(uid)]); now != *state {
			*state, changed = now, true
		}
	}
	for i := range status.Moves {
		set(status.Moves[i].PodUID, &status.Moves[i].State)
	}
	for i := range status.Evictions {
		set(status.Evictions[i].PodUID, &status.Evictions[i].State)
	}
	return changed
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
