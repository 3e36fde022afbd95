package podkey

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

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
