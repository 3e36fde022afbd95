package scorecache

import (
	"hash/maphash"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// epochs count the changes that concern more than one node, by cause. A ranking outlives none of them.
type epochs struct {
	// nodes: a node has come or gone.
	nodes uint64
	// properties: a node's labels, taints, allocatable, cordon or declared features have changed.
	properties uint64
	// affinity: a pod with terms of inter-pod affinity has come or gone. It matters to pods elsewhere.
	affinity uint64
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

// census follows the scheduler's snapshot: which nodes there are, and which have changed since anyone looked.
// The snapshot numbers every change of a node, whatever its cause, so that no event can be missed or come late:
// pods assumed, forgotten, bound by others, deleted or resized, and changes of the node itself.
type census struct {
	// nodes is the snapshot's own list, which is made anew only if a node comes or goes.
	nodes       []fwk.NodeInfo
	generations []int64
	objects     []*v1.Node
	// affine is a digest of the pods with inter-pod affinity on each node.
	affine []uint64
	// nameRank is the place of each node in the order of names, stamp the number of its last change; 0 for none.
	nameRank []int32
	stamp    []int
	// changed holds the nodes that changed, oldest first; the first of it has the number first.
	changed []int32
	first   int
	epochs  epochs
}

// follow takes in what has changed since it was last called.
func (c *census) follow(nodes []fwk.NodeInfo) {
	if !c.follows(nodes) {
		c.begin(nodes)
		return
	}
	for i, node := range nodes {
		if generation := node.GetGeneration(); generation != c.generations[i] {
			c.generations[i] = generation
			c.note(int32(i), node)
		}
	}
}

// follows says whether this is the list seen last. Holding on to it keeps its place in memory from being
// used for another.
func (c *census) follows(nodes []fwk.NodeInfo) bool {
	return len(nodes) == len(c.nodes) && (len(nodes) == 0 || &nodes[0] == &c.nodes[0])
}

func (c *census) begin(nodes []fwk.NodeInfo) {
	c.epochs.nodes++
	c.stamp = c.stampsFor(nodes)
	c.first = c.now() + 1
	c.nodes, c.changed = nodes, nil
	c.generations = make([]int64, len(nodes))
	c.objects = make([]*v1.Node, len(nodes))
	c.affine = make([]uint64, len(nodes))
	c.nameRank = make([]int32, len(nodes))
	order := make([]int32, len(nodes))
	for i, node := range nodes {
		order[i] = int32(i)
		c.generations[i], c.objects[i], c.affine[i] = node.GetGeneration(), node.Node(), affineDigest(node)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return strings.Compare(nodes[a].Node().Name, nodes[b].Node().Name)
	})
	for rank, at := range order {
		c.nameRank[at] = int32(rank)
	}
}

// stampsFor carries the stamps over to another list of nodes.
func (c *census) stampsFor(nodes []fwk.NodeInfo) []int {
	byName := make(map[string]int, len(c.objects))
	for i, object := range c.objects {
		byName[object.Name] = c.stamp[i]
	}
	stamps := make([]int, len(nodes))
	for i, node := range nodes {
		stamps[i] = byName[node.Node().Name]
	}
	return stamps
}

func (c *census) note(at int32, node fwk.NodeInfo) {
	if object := node.Node(); object != c.objects[at] {
		if propertiesChanged(c.objects[at], object) {
			c.epochs.properties++
		}
		c.objects[at] = object
	}
	if digest := affineDigest(node); digest != c.affine[at] {
		c.affine[at] = digest
		c.epochs.affinity++
	}
	c.stamp[at] = c.now()
	if c.changed = append(c.changed, at); len(c.changed) > 4*len(c.nodes) {
		drop := len(c.changed) / 2
		c.changed, c.first = slices.Clone(c.changed[drop:]), c.first+drop
	}
}

// now is the number that the next change will have.
func (c *census) now() int { return c.first + len(c.changed) }

// since lists the nodes that changed from that number on, some perhaps more than once. It does not
// know if that was too long ago.
func (c *census) since(number int) (changed []int32, known bool) {
	if number < c.first {
		return nil, false
	}
	return c.changed[number-c.first:], true
}

// relevant are the changes of a node that may change what filters and scorers say about others, or are
// too rare to be worth a finer distinction. Heartbeats are not among them, nor are lists of images, which grow
// with every pull: these count when the node is next scored.
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
