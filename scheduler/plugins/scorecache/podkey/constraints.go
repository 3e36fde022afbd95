package podkey

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

func writeNodeAffinity(w *writer, pod *v1.Pod) {
	var affinity v1.NodeAffinity
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		affinity = *pod.Spec.Affinity.NodeAffinity
	}
	// No selector matches every node, an empty one none.
	required := affinity.RequiredDuringSchedulingIgnoredDuringExecution
	w.flag(required != nil)
	if required != nil {
		w.set(each(required.NodeSelectorTerms, writeNodeSelectorTerm))
	}
	// The weights of equal terms add up.
	w.bag(each(affinity.PreferredDuringSchedulingIgnoredDuringExecution, func(w *writer, term *v1.PreferredSchedulingTerm) {
		w.number(int64(term.Weight))
		writeNodeSelectorTerm(w, &term.Preference)
	}))
}

func writeNodeSelectorTerm(w *writer, term *v1.NodeSelectorTerm) {
	w.set(each(term.MatchExpressions, writeNodeSelectorRequirement))
	w.set(each(term.MatchFields, writeNodeSelectorRequirement))
}

func writeNodeSelectorRequirement(w *writer, requirement *v1.NodeSelectorRequirement) {
	w.text(requirement.Key)
	w.text(string(requirement.Operator))
	w.set(slices.Clone(requirement.Values))
}

// writeTolerations leaves out tolerationSeconds, which say how long a pod may stay and not where it may go.
func writeTolerations(w *writer, pod *v1.Pod) {
	w.set(each(pod.Spec.Tolerations, func(w *writer, toleration *v1.Toleration) {
		operator := toleration.Operator
		if operator == "" {
			operator = v1.TolerationOpEqual
		}
		w.text(toleration.Key)
		w.text(string(operator))
		w.text(toleration.Value)
		w.text(string(toleration.Effect))
	}))
}

func writePorts(w *writer, pod *v1.Pod) {
	w.set(each(schedutil.GetHostPorts(pod), func(w *writer, port *v1.ContainerPort) {
		w.text(port.HostIP)
		w.text(string(port.Protocol))
		w.number(int64(port.HostPort))
	}))
}

// writeImages writes each container's image: two containers of one image count twice.
func writeImages(w *writer, pod *v1.Pod) {
	var images []string
	for i := range pod.Spec.InitContainers {
		images = append(images, pod.Spec.InitContainers[i].Image)
	}
	for i := range pod.Spec.Containers {
		images = append(images, pod.Spec.Containers[i].Image)
	}
	w.bag(images)
}

func writeSpread(w *writer, pod *v1.Pod) {
	w.bag(each(pod.Spec.TopologySpreadConstraints, func(w *writer, constraint *v1.TopologySpreadConstraint) {
		w.number(int64(constraint.MaxSkew))
		w.text(constraint.TopologyKey)
		w.text(string(constraint.WhenUnsatisfiable))
		selector := SelectorOf(constraint, pod)
		w.flag(selector.Empty()) // everything and nothing look the same as text
		w.text(selector.String())
		w.text(policy(constraint.NodeAffinityPolicy))
		w.text(policy(constraint.NodeTaintsPolicy))
		if constraint.MinDomains != nil {
			w.number(int64(*constraint.MinDomains))
		}
	}))
}

func policy(policy *v1.NodeInclusionPolicy) string {
	if policy == nil {
		return ""
	}
	return string(*policy)
}

// SelectorOf is the selector of a constraint, with the pod's own values of matchLabelKeys. A selector that cannot be
// read selects nothing; PodTopologySpread refuses such a pod.
func SelectorOf(constraint *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	for _, key := range constraint.MatchLabelKeys {
		value, labelled := pod.Labels[key]
		if !labelled {
			continue
		}
		if requirement, err := labels.NewRequirement(key, selection.In, []string{value}); err == nil {
			selector = selector.Add(*requirement)
		}
	}
	return selector
}
