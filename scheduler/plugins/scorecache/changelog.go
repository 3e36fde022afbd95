package scorecache

import (
	"hash/maphash"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// epochs count the changes that concern more than one node, by cause. Each of them ends every ranking.
type epochs struct {
	// nodes: a node has come or gone.
	nodes uint64
	// properties: a node's labels, taints, allocatable, cordon or declared features have changed.
	properties uint64
	// affinity: a pod with inter-pod affinity has come or gone, which affects pods on other nodes.
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

// nodeChangeLog follows the scheduler's snapshot: which nodes exist, and which have changed since a given entry. The
// snapshot numbers every change of a node, whatever its cause, so no change is missed or late: pods assumed, forgotten,
// bound by other schedulers, deleted or resized, and changes of the node itself.
type nodeChangeLog struct {
	// nodes is the snapshot's own list, which is rebuilt only if a node comes or goes.
	nodes       []fwk.NodeInfo
	generations []int64
	objects     []*v1.Node
	// affine is a digest of the pods with inter-pod affinity on each node.
	affine []uint64
	// nameRank is the place of each node in the order of names, stamp the number of its last change; 0 for none.
	nameRank []int32
	stamp    []int
	// changed holds the nodes that changed, oldest first; its first entry has the number first.
	changed []int32
	first   int
	epochs  epochs
}

// update takes in what has changed since it was last called.
func (l *nodeChangeLog) update(nodes []fwk.NodeInfo) {
	if !l.isSameList(nodes) {
		l.reset(nodes)
		return
	}
	for i, node := range nodes {
		if generation := node.GetGeneration(); generation != l.generations[i] {
			l.generations[i] = generation
			l.record(int32(i), node)
		}
	}
}

// isSameList says whether this is the list seen last. Because the log refers to that list, no other list can have its
// address.
func (l *nodeChangeLog) isSameList(nodes []fwk.NodeInfo) bool {
	return len(nodes) == len(l.nodes) && (len(nodes) == 0 || &nodes[0] == &l.nodes[0])
}

func (l *nodeChangeLog) reset(nodes []fwk.NodeInfo) {
	l.epochs.nodes++
	l.stamp = l.stampsFor(nodes)
	l.first = l.next() + 1
	l.nodes, l.changed = nodes, nil
	l.generations = make([]int64, len(nodes))
	l.objects = make([]*v1.Node, len(nodes))
	l.affine = make([]uint64, len(nodes))
	l.nameRank = make([]int32, len(nodes))
	order := make([]int32, len(nodes))
	for i, node := range nodes {
		order[i] = int32(i)
		l.generations[i], l.objects[i], l.affine[i] = node.GetGeneration(), node.Node(), affineDigest(node)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return strings.Compare(nodes[a].Node().Name, nodes[b].Node().Name)
	})
	for rank, at := range order {
		l.nameRank[at] = int32(rank)
	}
}

// stampsFor copies the stamps to another list of nodes.
func (l *nodeChangeLog) stampsFor(nodes []fwk.NodeInfo) []int {
	byName := make(map[string]int, len(l.objects))
	for i, object := range l.objects {
		byName[object.Name] = l.stamp[i]
	}
	stamps := make([]int, len(nodes))
	for i, node := range nodes {
		stamps[i] = byName[node.Node().Name]
	}
	return stamps
}

func (l *nodeChangeLog) record(at int32, node fwk.NodeInfo) {
	if object := node.Node(); object != l.objects[at] {
		if propertiesChanged(l.objects[at], object) {
			l.epochs.properties++
		}
		l.objects[at] = object
	}
	if digest := affineDigest(node); digest != l.affine[at] {
		l.affine[at] = digest
		l.epochs.affinity++
	}
	l.stamp[at] = l.next()
	if l.changed = append(l.changed, at); len(l.changed) > 4*len(l.nodes) {
		drop := len(l.changed) / 2
		l.changed, l.first = slices.Clone(l.changed[drop:]), l.first+drop
	}
}

// next is the number that the next change will have.
func (l *nodeChangeLog) next() int { return l.first + len(l.changed) }

// since lists the nodes that changed from that number on, some perhaps more than once. known is false if the log no
// longer goes back that far.
func (l *nodeChangeLog) since(number int) (changed []int32, known bool) {
	if number < l.first {
		return nil, false
	}
	return l.changed[number-l.first:], true
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
