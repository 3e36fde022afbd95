package plan

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// MaxSteps is about as much as fits into one PackingPlan object.
const MaxSteps = 4000

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
		*list = append(*list, Step{pod, step.From, step.To, step.Unit})
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
	case policy == Unsteered:
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
