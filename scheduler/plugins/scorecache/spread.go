package scorecache

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
)

// maxGroups bounds how many groups of nodes are compared for each pod.
const maxGroups = 64

// spread follows how many pods that count for a pod's soft spread constraints each topology has gained since the
// ranking was made. Only the hostname is left out: it is the node's own, and seen when the node is scored again.
type spread struct {
	axes []axis
	// coordinates are the topologies of each group: one number an axis.
	coordinates [][]int
}

// axis is one constraint.
type axis struct {
	namespace string
	selector  labels.Selector
	// topology is the number of each node's topology, counts how many of its pods count.
	topology []int32
	counts   []int32
	// gained is what each topology has gained.
	gained []int
}

// constraint is what a pod is spread by.
type constraint struct {
	topologyKey string
	selector    labels.Selector
}

// constraintsOf are the constraints that PodTopologySpread scores the pod by, less those of the hostname.
func (p *Plugin) constraintsOf(pod *v1.Pod, siblings labels.Selector) []constraint {
	var list []constraint
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		for _, key := range *p.args.DefaultSpreadTopologyKeys {
			list = append(list, constraint{key, siblings})
		}
	}
	for i := range pod.Spec.TopologySpreadConstraints {
		said := &pod.Spec.TopologySpreadConstraints[i]
		list = append(list, constraint{said.TopologyKey, selectorOf(said, pod)})
	}
	var kept []constraint
	for _, one := range list {
		if one.topologyKey != v1.LabelHostname {
			kept = append(kept, one)
		}
	}
	return kept
}

// newSpread divides the nodes into groups by their topologies, and returns the group of each. There is no
// spread to follow if that makes one group of all. It is false if there are too many.
func newSpread(constraints []constraint, namespace string, nodes []fwk.NodeInfo) (s *spread, groups []int32, few bool) {
	s = &spread{}
	for _, one := range constraints {
		s.axes = append(s.axes, newAxis(one, namespace, nodes))
	}
	groups = make([]int32, len(nodes))
	numbers := map[string]int32{}
	for at := range nodes {
		var name strings.Builder
		coordinates := make([]int, len(s.axes))
		for i := range s.axes {
			topology := s.axes[i].topology[at]
			coordinates[i] = int(topology)
			name.WriteByte(byte(topology))
			name.WriteByte(byte(topology >> 8))
		}
		number, known := numbers[name.String()]
		if !known {
			if number = int32(len(numbers)); number == maxGroups {
				return nil, nil, false
			}
			numbers[name.String()] = number
			s.coordinates = append(s.coordinates, coordinates)
		}
		groups[at] = number
	}
	if len(numbers) <= 1 {
		return nil, groups, true
	}
	return s, groups, true
}

func newAxis(of constraint, namespace string, nodes []fwk.NodeInfo) axis {
	a := axis{namespace: namespace, selector: of.selector,
		topology: make([]int32, len(nodes)), counts: make([]int32, len(nodes))}
	numbers := map[string]int32{}
	for at, node := range nodes {
		value := node.Node().Labels[of.topologyKey]
		number, known := numbers[value]
		if !known {
			number = int32(len(numbers))
			numbers[value] = number
		}
		a.topology[at], a.counts[at] = number, a.count(node)
	}
	a.gained = make([]int, len(numbers))
	return a
}

// count leaves out what PodTopologySpread leaves out.
func (a *axis) count(node fwk.NodeInfo) int32 {
	if a.selector.Empty() {
		return 0
	}
	var count int32
	for _, info := range node.GetPods() {
		pod := info.GetPod()
		if pod.DeletionTimestamp == nil && pod.Namespace == a.namespace && a.selector.Matches(labels.Set(pod.Labels)) {
			count++
		}
	}
	return count
}

// recount takes in what has changed on a node.
func (s *spread) recount(at int32, node fwk.NodeInfo) {
	if s == nil {
		return
	}
	for i := range s.axes {
		a := &s.axes[i]
		count := a.count(node)
		a.gained[a.topology[at]] += int(count - a.counts[at])
		a.counts[at] = count
	}
}

// gain is what the topologies of a group have gained in all.
func (s *spread) gain(group int32) int {
	if s == nil {
		return 0
	}
	sum := 0
	for i, topology := range s.coordinates[group] {
		sum += s.axes[i].gained[topology]
	}
	return sum
}

// noMore says whether no topology of one group has gained more than that of another. The more pods a
// topology has, the lower its nodes score, by the same amount for all of them.
func (s *spread) noMore(one, other int32) bool {
	if s == nil {
		return true
	}
	for i := range s.axes {
		if s.axes[i].gained[s.coordinates[one][i]] > s.axes[i].gained[s.coordinates[other][i]] {
			return false
		}
	}
	return true
}
