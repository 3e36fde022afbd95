package plan

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// read finds the pods of the steps, and applies the rules about one pod at a time.
func (p *Plan) read(steps []*packingplan.Step, on *snapshot.Snapshot, policy Policy) error {
	if len(steps) > MaxSteps {
		return refuse(TooLarge, "%d steps, at most %d fit into one plan", len(steps), MaxSteps)
	}
	seen := sets.New[string]()
	for _, step := range steps {
		pod := on.Pods[types.UID(step.PodUID)]
		if err := refusal(step, pod, seen.Has(step.PodUID)); err != nil {
			return err
		}
		seen.Insert(step.PodUID)
		if step.From == "" || step.To != "" {
			if err := refuseTarget(pod, step.To, on, policy); err != nil {
				return err
			}
		}
		list := &p.Moves
		if step.From == "" {
			list = &p.Placements
		} else if step.To == "" {
			list = &p.Evictions
		}
		*list = append(*list, Step{pod, step.From, step.To, step.Unit, step.Turn, step.Devices})
	}
	return nil
}

// refusal is what is wrong about the pod, wherever it goes.
func refusal(step *packingplan.Step, pod *snapshot.Pod, seen bool) error {
	switch runs := step.From != ""; {
	case pod == nil:
		return refuse(UnknownPod, "no pod has the UID %.64q", step.PodUID)
	case seen:
		return refuse(DuplicatePod, "pod %s occurs twice", name(pod))
	case !runs && pod.Node != "":
		return refuse(NotPending, "pod %s is placed but already runs on %q", name(pod), pod.Node)
	case !runs && pod.Unsupported:
		return refuse(UnsupportedPod, "pod %s needs what no plan can promise", name(pod))
	case runs && pod.Node == "":
		return refuse(NotRunning, "pod %s is moved or evicted but waits for a node", name(pod))
	case pod.Node != step.From:
		return refuse(WrongNode, "pod %s runs on %q, not on %q", name(pod), pod.Node, step.From)
	case runs && pod.Immovable != "":
		return refuse(Immovable, "pod %s may not be moved: %s", name(pod), pod.Immovable)
	case runs && step.To == step.From:
		return refuse(SameNode, "pod %s is moved from %q to itself", name(pod), pod.Node)
	}
	return nil
}

func refuseTarget(pod *snapshot.Pod, node string, on *snapshot.Snapshot, policy Policy) error {
	known := on.Nodes[node]
	switch {
	case policy == Drain:
		return nil
	case known == nil:
		return refuse(UnknownNode, "no node is called %.64q", node)
	case !known.Takes(pod):
		return refuse(NodeUnschedulable, "node %q takes no pods", node)
	case on.Forbids(pod.Class, node):
		return refuse(ForbiddenPair, "pod %s may not go to node %q", name(pod), node)
	}
	return nil
}

func name(pod *snapshot.Pod) string { return pod.Object.Namespace + "/" + pod.Object.Name }

// rules are those that a plan must keep, in the order in which they are looked at.
func (policy Policy) rules() []func(*Plan, *snapshot.Snapshot) error {
	rules := []func(*Plan, *snapshot.Snapshot) error{checkUnits, checkGangs, checkTurns, checkCapacity, checkBudgets}
	switch policy {
	case Drain:
		return []func(*Plan, *snapshot.Snapshot) error{checkBudgets, checkNoneDisplaced}
	case Consolidate:
		return append(rules, checkNoneDisplaced)
	case Paper:
		return append(rules, checkImprovement)
	default:
		return append(rules, checkImprovement, checkStrict)
	}
}

// checkCapacity: the pods that arrive on a node fit into the room that is free there once the plan is done. Pods may
// leave a node that is over-committed from the start.
func checkCapacity(plan *Plan, on *snapshot.Snapshot) error {
	arriving, leaving := map[string]resources.Vector{}, map[string]resources.Vector{}
	for _, step := range plan.Steps() {
		arriving[step.To] = arriving[step.To].Plus(step.Pod.Requests)
		leaving[step.From] = leaving[step.From].Plus(step.Pod.Requests)
	}
	delete(arriving, "") // the evicted arrive nowhere
	for name, request := range arriving {
		node := on.Nodes[name]
		free := node.Allocatable.Minus(node.Used).Plus(leaving[name])
		if short := request.ShortOf(free); short != "" {
			return refuse(OverCapacity, "node %q has too little %s for the pods the plan sends there", name, short)
		}
	}
	return nil
}

// checkBudgets: the plan as a whole takes no more of a disruption budget than it allows. The
// Eviction API looks at one pod at a time. Those that are exempt are not counted.
func checkBudgets(plan *Plan, _ *snapshot.Snapshot) error {
	spent := map[*snapshot.Budget]int32{}
	for _, pod := range plan.Disrupted() {
		if pod.Exempt {
			continue
		}
		for _, budget := range pod.Budgets {
			if spent[budget]++; spent[budget] > budget.Allowed {
				return refuse(OverBudget, "budget %s/%s allows %d disruptions, the plan has more",
					budget.Namespace, budget.Name, budget.Allowed)
			}
		}
	}
	return nil
}

// checkUnits: no pod of one unit could be taken for that of another.
func checkUnits(plan *Plan, _ *snapshot.Snapshot) error {
	units := map[snapshot.ReplicaKey]string{}
	for _, step := range plan.Steps() {
		unit, known := units[step.Pod.ReplicaKey()]
		if known && unit != step.Unit {
			return refuse(MixedUnits, "pod %s is in unit %q, one like it in %q", name(step.Pod), step.Unit, unit)
		}
		units[step.Pod.ReplicaKey()] = step.Unit
	}
	return nil
}

// checkImprovement: from the highest priority down, the first priority with any change has more pods placed than
// before, or more devices. So no pod is disrupted only for pods of lower priority. Where some pods of a unit have left
// or come, the rest follows, although what that gains may have come already.
func checkImprovement(plan *Plan, on *snapshot.Snapshot) error {
	if len(plan.carriedOn) > 0 {
		return nil
	}
	gains, disrupted := map[int32]int64{}, map[int32]int{}
	for _, placement := range plan.Placements {
		gains[placement.Pod.Priority] += placement.Pod.Worth
	}
	for _, eviction := range plan.Evictions {
		gains[eviction.Pod.Priority] -= eviction.Pod.Worth
	}
	for _, pod := range plan.Disrupted() {
		disrupted[pod.Priority]++
	}
	priorities := sets.List(sets.KeySet(gains).Union(sets.KeySet(disrupted)))
	slices.Reverse(priorities)
	for _, priority := range priorities {
		switch gain := gains[priority]; {
		case gain > 0:
			return nil
		case gain < 0:
			return refuse(NotBetter, "%s fewer of priority %d", on.Counted(-gain), priority)
		case disrupted[priority] > 0:
			return refuse(NotBetter, "%d pods of priority %d are disrupted, and none is gained", disrupted[priority], priority)
		}
	}
	return refuse(NotBetter, "as many %s of every priority as before", on.Counts())
}

// checkStrict: an evicted pod makes room for a placed one of strictly higher priority that may preempt.
func checkStrict(plan *Plan, _ *snapshot.Snapshot) error {
	highest := int64(math.MinInt64)
	for _, placement := range plan.Placements {
		if !placement.Pod.NeverPreempts() {
			highest = max(highest, int64(placement.Pod.Priority))
		}
	}
	for _, eviction := range plan.Evictions {
		if int64(eviction.Pod.Priority) >= highest {
			return refuse(UnjustEviction, "pod %s of priority %d is evicted, but no pod of higher priority is placed",
				name(eviction.Pod), eviction.Pod.Priority)
		}
	}
	return nil
}

// checkNoneDisplaced: every pod that runs before runs afterwards.
func checkNoneDisplaced(plan *Plan, _ *snapshot.Snapshot) error {
	for _, eviction := range plan.Evictions {
		return refuse(UnjustEviction, "pod %s is evicted to empty a node", name(eviction.Pod))
	}
	return nil
}
