package snapshot

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// selectedLabels are the keys of all labels that selectors of the cluster read.
func selectedLabels(input Input, pods []*known) sets.Set[string] {
	keys := sets.New[string]().Union(input.Labels)
	for _, pod := range pods {
		keys.Insert(pod.reads...)
	}
	for _, budget := range input.Budgets {
		addKeys(keys, budget.Spec.Selector)
	}
	return keys
}

// labelsReadBy are the keys of the labels that the pod's own selectors read, of the pod itself and of others.
func labelsReadBy(pod *v1.Pod) []string {
	if pod.Spec.Affinity == nil && len(pod.Spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	keys := sets.New[string]()
	for _, term := range podAffinityTerms(pod) {
		addKeys(keys, term.LabelSelector)
		keys.Insert(term.MatchLabelKeys...)
		keys.Insert(term.MismatchLabelKeys...)
	}
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		addKeys(keys, constraint.LabelSelector)
		keys.Insert(constraint.MatchLabelKeys...)
	}
	return keys.UnsortedList()
}

// podAffinityTerms are all terms of the pod's affinity and anti-affinity to other pods, required and preferred.
func podAffinityTerms(pod *v1.Pod) []v1.PodAffinityTerm {
	var terms []v1.PodAffinityTerm
	add := func(required []v1.PodAffinityTerm, preferred []v1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, one := range preferred {
			terms = append(terms, one.PodAffinityTerm)
		}
	}
	affinity := pod.Spec.Affinity
	if affinity == nil {
		return nil
	}
	if near := affinity.PodAffinity; near != nil {
		add(near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if apart := affinity.PodAntiAffinity; apart != nil {
		add(apart.RequiredDuringSchedulingIgnoredDuringExecution, apart.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

func addKeys(keys sets.Set[string], selector *metav1.LabelSelector) {
	if selector == nil {
		return
	}
	for key := range selector.MatchLabels {
		keys.Insert(key)
	}
	for _, requirement := range selector.MatchExpressions {
		keys.Insert(requirement.Key)
	}
}
