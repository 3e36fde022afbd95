package priorityoptimizer

import (
	"encoding/json"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/executor"
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

func describePlan(status *packingplan.Status, of *plan.Plan) {
	status.Placements, status.Moves, status.Evictions = nil, nil, nil // of an earlier round
	status.Classes = nil
	classes := sets.New[string]()
	arrives := func(pod *snapshot.Pod) {
		if !classes.Has(pod.Class) {
			classes.Insert(pod.Class)
			status.Classes = append(status.Classes, packingplan.Class{ID: pod.Class,
				Priority: corev1helpers.PodPriority(pod.Object), Requests: pod.Requests.List()})
		}
	}
	for _, placement := range of.Placements {
		pod := placement.Pod.Object
		arrives(placement.Pod)
		status.Placements = append(status.Placements, packingplan.Placement{
			Pod: podName(pod), PodUID: string(pod.UID), OwnerUID: string(placement.Pod.Owner),
			Class: placement.Pod.Class, Node: placement.To})
	}
	for _, move := range of.Moves {
		pod := move.Pod.Object
		arrives(move.Pod)
		status.Moves = append(status.Moves, packingplan.Move{Pod: podName(pod), PodUID: string(pod.UID),
			OwnerUID: string(move.Pod.Owner), Class: move.Pod.Class,
			FromNode: move.From, ToNode: move.To, State: string(executor.Waiting)})
	}
	for _, eviction := range of.Evictions {
		pod := eviction.Pod.Object
		status.Evictions = append(status.Evictions, packingplan.Eviction{Pod: podName(pod),
			PodUID: string(pod.UID), OwnerUID: string(eviction.Pod.Owner), Class: eviction.Pod.Class,
			Node: eviction.From, State: string(executor.Waiting)})
	}
}

// describeProgress puts the states of moves and evictions, and the moves' targets, into the status. It reports whether
// anything changed.
func describeProgress(status *packingplan.Status, states map[types.UID]executor.State, targets map[types.UID]string) bool {
	changed := false
	set := func(field *string, now string, known bool) {
		if known && now != *field {
			*field, changed = now, true
		}
	}
	for i := range status.Moves {
		move := &status.Moves[i]
		state, known := states[types.UID(move.PodUID)]
		set(&move.State, string(state), known)
		target, known := targets[types.UID(move.PodUID)]
		set(&move.ToNode, target, known)
	}
	for i := range status.Evictions {
		eviction := &status.Evictions[i]
		state, known := states[types.UID(eviction.PodUID)]
		set(&eviction.State, string(state), known)
	}
	return changed
}

// markBound marks moves whose replacements have arrived while a later process carried the plan out.
func markBound(status *packingplan.Status, moves []types.UID) {
	for i := range status.Moves {
		if slices.Contains(moves, types.UID(status.Moves[i].PodUID)) {
			status.Moves[i].State = string(executor.Bound)
		}
	}
}

func podName(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// messageOf is a recorded plan in the contract's form.
func messageOf(status *packingplan.Status) *contract.Plan {
	message := &contract.Plan{SnapshotId: status.SnapshotID, Optimal: status.Optimal}
	for _, placement := range status.Placements {
		message.Placements = append(message.Placements, &contract.Placement{PodUid: placement.PodUID, Node: placement.Node})
	}
	for i := range status.Moves {
		message.Moves = append(message.Moves, moveMessage(&status.Moves[i]))
	}
	for i := range status.Evictions {
		message.Evictions = append(message.Evictions, evictionMessage(&status.Evictions[i]))
	}
	return message
}

func moveMessage(move *packingplan.Move) *contract.Move {
	return &contract.Move{PodUid: move.PodUID, FromNode: move.FromNode, ToNode: move.ToNode}
}

func evictionMessage(eviction *packingplan.Eviction) *contract.Eviction {
	return &contract.Eviction{PodUid: eviction.PodUID, Node: eviction.Node}
}
