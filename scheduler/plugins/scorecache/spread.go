package scorecache

import (
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// maxGroups bounds how many groups of nodes are compared with each other for each pod.
const maxGroups = 32

// spread counts the pods that matter for a pod's soft spread constraints. A constraint over hosts concerns one node at a
// time, and is evaluated when that node is scored again; one over zones concerns all nodes of a zone. The nodes of the
// same topologies make a group.
type spread struct {
	axes []axis
	// members holds one node of each group, by which its topologies are looked up.
	members []int32
}

// axis is one constraint.
type axis struct {
	// host: each node is a topology of its own.
	host      bool
	namespace string
	selector  labels.Selector
	// topology is the number of each node's topology, counts how many of its pods count, none if it is left out.
	topology []int32
	counts   []int32
	leftOut  []bool
	// totals is how many pods count in each topology, gained how many more than when the ranking was made.
	totals, gained []int
}

// newSpread divides the nodes into groups, and returns the group of each. s is nil if all nodes make one group.
// comparable is false if there are too many groups, or if some nodes lack a topology, which the plugin scores in another
// way.
func newSpread(constraints []constraint, namespace string, nodes []fwk.NodeInfo) (s *spread, groups []int32, comparable bool) {
	s = &spread{}
	for _, one := range constraints {
		a, whole := newAxis(one, namespace, nodes)
		if !whole {
			return nil, nil, false
		}
		s.axes = append(s.axes, a)
	}
	groups = make([]int32, len(nodes))
	numbers := map[string]int32{}
	for at := range nodes {
		name := s.topologies(at)
		number, known := numbers[name]
		if !known {
			if number = int32(len(numbers)); number == maxGroups {
				return nil, nil, false
			}
			numbers[name] = number
			s.members = append(s.members, int32(at))
		}
		groups[at] = number
	}
	if len(numbers) <= 1 {
		return nil, groups, true
	}
	return s, groups, true
}

// topologies identifies the topologies of a node, without its host.
func (s *spread) topologies(at int) string {
	var name strings.Builder
	for i := range s.axes {
		if !s.axes[i].host {
			fmt.Fprintf(&name, "%d ", s.axes[i].topology[at])
		}
	}
	return name.String()
}

// newAxis counts the pods of one constraint. whole is false if some nodes have the topology and others do not.
func newAxis(of constraint, namespace string, nodes []fwk.NodeInfo) (a axis, whole bool) {
	a = axis{host: of.topologyKey == v1.LabelHostname, namespace: namespace, selector: of.selector,
		topology: make([]int32, len(nodes)), counts: make([]int32, len(nodes)), leftOut: make([]bool, len(nodes))}
	numbers := map[string]int32{}
	without := 0
	for at, node := range nodes {
		value, has := node.Node().Labels[of.topologyKey]
		if !has {
			without++
		}
		number, known := numbers[value]
		if !known {
			number = int32(len(numbers))
			numbers[value] = number
			a.totals = append(a.totals, 0)
		}
		a.leftOut[at] = !of.includes(node.Node())
		a.topology[at], a.counts[at] = number, a.count(at, node)
		a.totals[number] += int(a.counts[at])
	}
	a.gained = make([]int, len(numbers))
	return a, without == 0 || without == len(nodes)
}

// count counts the pods of a node as PodTopologySpread does.
func (a *axis) count(at int, node fwk.NodeInfo) int32 {
	if a.leftOut[at] || a.selector.Empty() {
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

// recount updates the counts of a node that has changed.
func (s *spread) recount(at int32, node fwk.NodeInfo) {
	if s == nil {
		return
	}
	for i := range s.axes {
		a := &s.axes[i]
		count := a.count(int(at), node)
		change := int(count - a.counts[at])
		a.totals[a.topology[at]] += change
		a.gained[a.topology[at]] += change
		a.counts[at] = count
	}
}

// podCount is how many pods count in the topologies of a node.
func (s *spread) podCount(at int32) int {
	count := 0
	for i := range s.axes {
		count += s.axes[i].totals[s.axes[i].topology[at]]
	}
	return count
}

// hasNoMorePods says whether in no topology of one node more pods count than in that of another.
func (s *spread) hasNoMorePods(one, other int32) bool {
	for i := range s.axes {
		a := &s.axes[i]
		if a.totals[a.topology[one]] > a.totals[a.topology[other]] {
			return false
		}
	}
	return true
}

// gainedNoMorePods says the same of the pods that the topologies of one group have gained, without hosts: what a host
// has gained is in the node's score already.
func (s *spread) gainedNoMorePods(one, other int32) bool {
	for i := range s.axes {
		a := &s.axes[i]
		if !a.host && a.gained[a.topology[s.members[one]]] > a.gained[a.topology[s.members[other]]] {
			return false
		}
	}
	return true
}

// constraint is one topology spread constraint of a pod.
type constraint struct {
	topologyKey string
	selector    labels.Selector
	// includes says whether the pods of a node count.
	includes func(*v1.Node) bool
}

// constraintsOf are the constraints that PodTopologySpread scores the pod by.
func (p *Plugin) constraintsOf(pod *v1.Pod, siblings labels.Selector) []constraint {
	if len(pod.Spec.TopologySpreadConstraints) == 0 {
		included := inclusion(pod, &v1.TopologySpreadConstraint{})
		list := []constraint{{v1.LabelHostname, siblings, included}}
		for _, key := range p.args.DefaultSpreadTopologyKeys {
			list = append(list, constraint{key, siblings, included})
		}
		return list
	}
	var list []constraint
	for i := range pod.Spec.TopologySpreadConstraints {
		said := &pod.Spec.TopologySpreadConstraints[i]
		list = append(list, constraint{said.TopologyKey, podkey.SelectorOf(said, pod), inclusion(pod, said)})
	}
	return list
}

// inclusion applies the constraint's inclusion policies, which by default honour the pod's node affinity and ignore
// taints. A node's labels and taints do not change during the life of a ranking.
func inclusion(pod *v1.Pod, of *v1.TopologySpreadConstraint) func(*v1.Node) bool {
	affinity := of.NodeAffinityPolicy == nil || *of.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor
	taints := of.NodeTaintsPolicy != nil && *of.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	compares := utilfeature.DefaultFeatureGate.Enabled(kubefeatures.TaintTolerationComparisonOperators)
	return func(node *v1.Node) bool {
		if affinity {
			// PodTopologySpread also counts an affinity that cannot be read as no match.
			if match, _ := required.Match(node); !match {
				return false
			}
		}
		if taints {
			_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
				helper.DoNotScheduleTaintsFilterFunc(), compares)
			return !untolerated
		}
		return true
	}
}

// areReal says whether PodTopologySpread scores by the topologies of these constraints. Plugins do not see each other's
// arguments, but PodTopologySpread stores its constraints in the cycle state, in an unexported type; where they cannot be
// read, nothing is known about them. Host constraints need not agree: an additional one only adds a comparison.
func areReal(list []constraint, state fwk.CycleState) bool {
	data, err := state.Read("PreScore" + names.PodTopologySpread)
	if err != nil {
		return false
	}
	noted := reflect.Indirect(reflect.ValueOf(data))
	if noted.Kind() != reflect.Struct {
		return false
	}
	constraints := noted.FieldByName("Constraints")
	if constraints.Kind() != reflect.Slice || constraints.Type().Elem().Kind() != reflect.Struct {
		return false
	}
	said, actual := sets.New(v1.LabelHostname), sets.New(v1.LabelHostname)
	for _, one := range list {
		said.Insert(one.topologyKey)
	}
	for i := range constraints.Len() {
		key := constraints.Index(i).FieldByName("TopologyKey")
		if key.Kind() != reflect.String {
			return false
		}
		actual.Insert(key.String())
	}
	return said.Equal(actual)
}
