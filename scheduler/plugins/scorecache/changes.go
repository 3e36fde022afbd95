package scorecache

import (
	"hash/maphash"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// epochs count the changes that concern more than one node, by cause. Each of them ends every ranking.
type epochs struct {
	nodes      uint64 // a node has come or gone
	properties uint64 // a node's labels, taints, allocatable, cordon or declared features have changed
	affinity   uint64 // a pod with inter-pod affinity has come or gone, which affects pods on other nodes
}

// difference is the cause for which a ranking of other epochs is stale, empty if it is not.
func (e epochs) difference(other epochs) string {
	switch {
	case e.nodes != other.nodes:
		return causeNodes
	case e.properties != other.properties:
		return causeProperties
	case e.affinity != other.affinity:
		return causeAffinity
	}
	return ""
}

// nodeChanges follows the scheduler's snapshot. The snapshot numbers every change of a node, whatever its cause, so no
// change is missed or late: pods assumed, forgotten, bound by other schedulers, deleted or resized, and changes of the
// node itself.
type nodeChanges struct {
	// nodes is the snapshot's own list, which is rebuilt only if a node comes or goes.
	nodes []fwk.NodeInfo
	seen  []seenNode
	// affine is a digest of the pods with inter-pod affinity.
	affine uint64
	epochs epochs
}

type seenNode struct {
	generation int64
	object     *v1.Node
	affine     uint64
}

// update takes in what has changed since it was last called.
func (c *nodeChanges) update(nodes []fwk.NodeInfo) {
	affine := c.affine
	if !c.isSameList(nodes) {
		c.nodes, c.seen, c.affine = nodes, make([]seenNode, len(nodes)), 0
		c.epochs.nodes++
	}
	for i, node := range nodes {
		seen, generation := &c.seen[i], node.GetGeneration()
		if generation == seen.generation {
			continue
		}
		now := seenNode{generation, node.Node(), affineDigest(node)}
		if seen.object != nil && seen.object != now.object && propertiesChanged(seen.object, now.object) {
			c.epochs.properties++
		}
		c.affine += now.affine - seen.affine
		*seen = now
	}
	if c.affine != affine {
		c.epochs.affinity++
	}
}

// isSameList says whether this is the list seen last. No other can have its address, because the field refers to it.
func (c *nodeChanges) isSameList(nodes []fwk.NodeInfo) bool {
	return len(nodes) == len(c.nodes) && (len(nodes) == 0 || &nodes[0] == &c.nodes[0])
}

// relevant are the changes of a node that may change what filters and scorers say about other nodes, or that are too
// rare to distinguish further. Heartbeats are not among them, nor are image lists, which grow with every pull: these
// count when the node is next scored.
const relevant = fwk.UpdateNodeAllocatable | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeDeclaredFeature

func propertiesChanged(before, after *v1.Node) bool {
	for _, event := range framework.NodeSchedulingPropertiesChange(after, before) {
		if event.ActionType&relevant != 0 {
			return true
		}
	}
	return false
}

var digestSeed = maphash.MakeSeed()

// affineDigest does not depend on the order of the pods.
func affineDigest(node fwk.NodeInfo) uint64 {
	var digest uint64
	for _, pod := range node.GetPodsWithAffinity() {
		digest += maphash.String(digestSeed, string(pod.GetPod().UID))
	}
	return digest
}
