package scorecache

import (
	"reflect"

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
		for _, key := range *p.args.DefaultSpreadTopologyKeys {
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
