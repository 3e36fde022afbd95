package priorityoptimizer

import (
	"slices"
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
	status.Message = answer.Message
	status.Refusals, status.Tiers = nil, nil // of an earlier round
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
			OwnerUID: string(move.Pod.Owner), Class: move.Pod.Class,
			FromNode: move.From, ToNode: move.To, State: string(executor.Waiting)})
	}
	for _, eviction := range of.Evictions {
		pod := eviction.Pod.Object
		status.Evictions = append(status.Evictions, packingplan.Eviction{Pod: podName(pod),
			PodUID: string(pod.UID), OwnerUID: string(eviction.Pod.Owner), Class: eviction.Pod.Class,
			Node: eviction.Node, State: string(executor.Waiting)})
	}
}

// describeProgress reports whether a state changed.
func describeProgress(status *packingplan.Status, states map[types.UID]executor.State) bool {
	changed := false
	set := func(uid string, state *string) {
		if now, known := states[types.UID(uid)]; known && string(now) != *state {
			*state, changed = string(now), true
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

// markBound marks moves whose replacements have arrived under a later process.
func markBound(status *packingplan.Status, moves []types.UID) {
	for i := range status.Moves {
		if slices.Contains(moves, types.UID(status.Moves[i].PodUID)) {
			status.Moves[i].State = string(executor.Bound)
		}
	}
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }
