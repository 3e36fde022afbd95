package scorecache

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1 "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// maxGroups bounds how many groups of nodes are compared with each other for each pod.
const maxGroups = 32

// spread counts the pods that matter for a pod's soft spread constraints. A constraint over hosts concerns one node at a
// time, and is evaluated when that node is scored again; one over zones concerns all nodes of a zone.
type spread []axis

// axis is one constraint.
type axis struct {
	constraint constraint
	// topology is the number of each node's topology, counts how many of its pods count.
	topology []int32
	counts   []int
	// totals is how many pods count in each topology, gained how many more than when the ranking was made.
	totals, gained []int
}

// constraint has the fields of the unexported type in which PodTopologySpread stores a constraint in the cycle state.
type constraint struct {
	MaxSkew            int32
	TopologyKey        string
	Selector           labels.Selector
	MinDomains         int32
	NodeAffinityPolicy v1.NodeInclusionPolicy
	NodeTaintsPolicy   v1.NodeInclusionPolicy
}

// constraintsIn are the constraints by which PodTopologySpread scores the pod of the cycle, its own or the default ones;
// none if they cannot be read.
func constraintsIn(state fwk.CycleState) []constraint {
	data, err := state.Read("PreScore" + names.PodTopologySpread)
	stored := reflect.Indirect(reflect.ValueOf(data))
	if err != nil || stored.Kind() != reflect.Struct {
		return nil
	}
	list, ours := stored.FieldByName("Constraints"), reflect.TypeFor[constraint]()
	if list.Kind() != reflect.Slice || !list.Type().Elem().ConvertibleTo(ours) {
		return nil
	}
	constraints := make([]constraint, list.Len())
	for i := range constraints {
		constraints[i] = list.Index(i).Convert(ours).Interface().(constraint)
	}
	return constraints
}

// divide counts the pods, and puts the nodes into groups by their topologies, without their hosts. It reports false if the
// groups cannot be compared: there are too many, or some nodes lack a topology, which the plugin scores in another way.
func (r *ranking) divide(pod *v1.Pod) bool {
	constraints := constraintsIn(r.scoring)
	for _, of := range constraints {
		a := axis{constraint: of, topology: make([]int32, len(r.infos)), counts: make([]int, len(r.infos))}
		numbers, groups, without := map[string]int32{}, map[[2]int32]int32{}, 0
		for at, info := range r.infos {
			value, has := info.Node().Labels[of.TopologyKey]
			if !has {
				without++
			}
			a.topology[at] = numberOf(numbers, value)
			if !a.isOfHosts() {
				r.nodes[at].group = numberOf(groups, [2]int32{r.nodes[at].group, a.topology[at]})
			}
		}
		if without > 0 && without < len(r.infos) {
			return false
		}
		r.groups = max(r.groups, len(groups))
		a.totals = make([]int, len(numbers))
		for at, info := range r.infos {
			a.recount(pod, int32(at), info)
		}
		a.gained = make([]int, len(numbers))
		r.spread = append(r.spread, a)
	}
	return len(constraints) > 0 && r.groups <= maxGroups
}

// numberOf numbers keys in the order in which they come.
func numberOf[K comparable](numbers map[K]int32, key K) int32 {
	number, known := numbers[key]
	if !known {
		number = int32(len(numbers))
		numbers[key] = number
	}
	return number
}

// isOfHosts: each node is a topology of its own.
func (a *axis) isOfHosts() bool { return a.constraint.TopologyKey == v1.LabelHostname }

// recount updates the counts of a node that has changed.
func (a *axis) recount(pod *v1.Pod, at int32, info fwk.NodeInfo) {
	count := 0
	if !a.constraint.Selector.Empty() && a.constraint.includes(pod, info.Node()) {
		for _, there := range info.GetPods() {
			if other := there.GetPod(); other.DeletionTimestamp == nil && other.Namespace == pod.Namespace &&
				a.constraint.Selector.Matches(labels.Set(other.Labels)) {
				count++
			}
		}
	}
	change := count - a.counts[at]
	a.counts[at] = count
	a.totals[a.topology[at]] += change
	if a.gained != nil {
		a.gained[a.topology[at]] += change
	}
}

// includes applies the constraint's inclusion policies, as PodTopologySpread does.
func (c *constraint) includes(pod *v1.Pod, node *v1.Node) bool {
	if c.NodeAffinityPolicy == v1.NodeInclusionPolicyHonor {
		// PodTopologySpread also counts an affinity that cannot be read as no match.
		if match, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !match {
			return false
		}
	}
	if c.NodeTaintsPolicy == v1.NodeInclusionPolicyHonor {
		_, untolerated := corev1.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations,
			helper.DoNotScheduleTaintsFilterFunc(),
			utilfeature.DefaultFeatureGate.Enabled(kubefeatures.TaintTolerationComparisonOperators))
		return !untolerated
	}
	return true
}

// podCount is how many pods count in the topologies of a node.
func (s spread) podCount(at int32) int {
	count := 0
	for i := range s {
		count += s[i].totals[s[i].topology[at]]
	}
	return count
}

// hasNoMorePods says whether in no topology of one node more pods count than in that of another.
func (s spread) hasNoMorePods(one, other int32) bool {
	return !slices.ContainsFunc(s, func(a axis) bool { return a.totals[a.topology[one]] > a.totals[a.topology[other]] })
}

// gainedNoMorePods says the same of the pods that the topologies have gained, without hosts: what a host has gained is in
// the node's score already.
func (s spread) gainedNoMorePods(one, other int32) bool {
	return !slices.ContainsFunc(s, func(a axis) bool {
		return !a.isOfHosts() && a.gained[a.topology[one]] > a.gained[a.topology[other]]
	})
}
