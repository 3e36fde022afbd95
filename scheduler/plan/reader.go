package plan

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// MaxSteps is about as much as fits into one PackingPlan object.
const MaxSteps = 4000

// reader resolves names to pods of the snapshot and applies the rules about one pod at a time.
type reader struct {
	on     *snapshot.Snapshot
	policy Policy
	seen   map[types.UID]bool
	plan   *Plan
}

func (r *reader) read(message *contract.Plan) error {
	if steps := len(message.Placements) + len(message.Moves) + len(message.Evictions); steps > MaxSteps {
		return refuse(TooLarge, "%d steps, at most %d fit into one plan", steps, MaxSteps)
	}
	for _, placement := range message.Placements {
		if err := r.readPlacement(placement); err != nil {
			return err
		}
	}
	for _, move := range message.Moves {
		if err := r.readMove(move); err != nil {
			return err
		}
	}
	for _, eviction := range message.Evictions {
		if err := r.readEviction(eviction); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) readPlacement(message *contract.Placement) error {
	pod, err := r.pod(message.GetPodUid())
	if err != nil {
		return err
	}
	switch {
	case pod.Node != "":
		return refuse(NotPending, "pod %s is placed but already runs on %q", name(pod), pod.Node)
	case pod.Unsupported:
		return refuse(UnsupportedPod, "pod %s needs what no plan can promise", name(pod))
	}
	if err := r.target(pod, message.GetNode()); err != nil {
		return err
	}
	r.plan.Placements = append(r.plan.Placements, Step{Pod: pod, To: message.GetNode()})
	return nil
}

func (r *reader) readMove(message *contract.Move) error {
	pod, err := r.leaving(message.GetPodUid(), message.GetFromNode())
	if err != nil {
		return err
	}
	if message.GetToNode() == message.GetFromNode() {
		return refuse(SameNode, "pod %s is moved from %q to itself", name(pod), pod.Node)
	}
	if err := r.target(pod, message.GetToNode()); err != nil {
		return err
	}
	r.plan.Moves = append(r.plan.Moves, Step{pod, message.GetFromNode(), message.GetToNode()})
	return nil
}

func (r *reader) readEviction(message *contract.Eviction) error {
	pod, err := r.leaving(message.GetPodUid(), message.GetNode())
	if err != nil {
		return err
	}
	r.plan.Evictions = append(r.plan.Evictions, Step{Pod: pod, From: message.GetNode()})
	return nil
}

// leaving is a running pod that the plan takes off its node.
func (r *reader) leaving(uid, from string) (*snapshot.Pod, error) {
	pod, err := r.pod(uid)
	if err != nil {
		return nil, err
	}
	switch {
	case pod.Node == "":
		return nil, refuse(NotRunning, "pod %s is moved or evicted but waits for a node", name(pod))
	case pod.Node != from:
		return nil, refuse(WrongNode, "pod %s runs on %q, not on %q", name(pod), pod.Node, from)
	case pod.Immovable != "":
		return nil, refuse(Immovable, "pod %s may not be moved: %s", name(pod), pod.Immovable)
	}
	return pod, nil
}

func (r *reader) pod(uid string) (*snapshot.Pod, error) {
	pod, known := r.on.Pods[types.UID(uid)]
	if !known {
		return nil, refuse(UnknownPod, "no pod has the UID %.64q", uid)
	}
	if r.seen[pod.Object.UID] {
		return nil, refuse(DuplicatePod, "pod %s occurs twice", name(pod))
	}
	r.seen[pod.Object.UID] = true
	return pod, nil
}

func (r *reader) target(pod *snapshot.Pod, node string) error {
	if r.policy == Unsteered {
		return nil
	}
	known, ok := r.on.Nodes[node]
	if !ok {
		return refuse(UnknownNode, "no node is called %.64q", node)
	}
	if !known.Takes(pod) {
		return refuse(NodeUnschedulable, "node %q takes no pods", node)
	}
	if r.on.Forbids(pod.Class, node) {
		return refuse(ForbiddenPair, "pod %s may not go to node %q", name(pod), node)
	}
	return nil
}

func name(pod *snapshot.Pod) string { return pod.Object.Namespace + "/" + pod.Object.Name }
