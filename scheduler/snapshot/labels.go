package snapshot

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// readLabels are the keys of the labels that selectors read, of pods of every namespace and of those of one.
type readLabels struct {
	everywhere sets.Set[string]
	in         map[string]sets.Set[string]
	// selectsNamespaces: the labels of namespaces are read as well.
	selectsNamespaces bool
}

func (r readLabels) has(namespace, key string) bool {
	return r.everywhere.Has(key) || r.in[namespace].Has(key)
}

func (r readLabels) equal(other readLabels) bool {
	return r.everywhere.Equal(other.everywhere) &&
		maps.EqualFunc(r.in, other.in, func(a, b sets.Set[string]) bool { return a.Equal(b) })
}

func (r readLabels) add(namespace string, keys ...string) {
	if r.in[namespace] == nil {
		r.in[namespace] = sets.New[string]()
	}
	r.in[namespace].Insert(keys...)
}

// selectedLabels are the keys of all labels that selectors of the cluster read. They count in the namespaces that a
// selector can reach: else a selector of one tenant could make a class of every pod of all others.
func selectedLabels(input Input, pods []*known) readLabels {
	read := readLabels{everywhere: input.Rules.groupLabels().Union(input.Labels), in: map[string]sets.Set[string]{}}
	selected := map[string][]string{} // namespaces by their selector
	for _, pod := range pods {
		for _, one := range pod.reads {
			for _, namespace := range one.namespaces {
				read.add(namespace, one.keys...)
			}
			read.selectsNamespaces = read.selectsNamespaces || one.selector != nil
			switch {
			case one.selector == nil:
			case one.selector.Empty():
				read.everywhere.Insert(one.keys...)
			default:
				text := one.selector.String()
				names, known := selected[text]
				if !known {
					names = selectedNamespaces(one.selector, input.Namespaces)
					selected[text] = names
				}
				for _, namespace := range names {
					read.add(namespace, one.keys...)
				}
			}
		}
	}
	for _, budget := range input.Budgets {
		read.add(budget.Namespace, keysOf(budget.Spec.Selector)...)
	}
	return read
}

func selectedNamespaces(selector labels.Selector, among []*v1.Namespace) (names []string) {
	for _, one := range among {
		if selector.Matches(labels.Set(one.Labels)) {
			names = append(names, one.Name)
		}
	}
	return names
}

// reading is which labels a selector reads, and of the pods of which namespaces.
type reading struct {
	keys       []string
	namespaces []string
	// selector is of further namespaces; nil selects none.
	selector labels.Selector
}

// labelsReadBy are the labels that the pod's own selectors read, of the pod itself and of others.
func labelsReadBy(pod *v1.Pod) []reading {
	if pod.Spec.Affinity == nil && len(pod.Spec.TopologySpreadConstraints) == 0 {
		return nil
	}
	var others []reading
	own := sets.New[string]()
	for _, term := range podAffinityTerms(pod) {
		// These keys name the values of the pod itself.
		own.Insert(term.MatchLabelKeys...)
		own.Insert(term.MismatchLabelKeys...)
		keys := slices.Concat(keysOf(term.LabelSelector), term.MatchLabelKeys, term.MismatchLabelKeys)
		if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
			own.Insert(keys...)
			continue
		}
		one := reading{keys: keys, namespaces: term.Namespaces}
		if term.NamespaceSelector != nil {
			// One that cannot be read selects nothing, and such a pod is unsupported.
			one.selector, _ = metav1.LabelSelectorAsSelector(term.NamespaceSelector)
		}
		others = append(others, one)
	}
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		own.Insert(keysOf(constraint.LabelSelector)...)
		own.Insert(constraint.MatchLabelKeys...)
	}
	if own.Len() == 0 {
		return others
	}
	return append(others, reading{keys: own.UnsortedList(), namespaces: []string{pod.Namespace}})
}

// podAffinityTerms are all terms of the pod's affinity and anti-affinity to other pods, required and preferred.
func podAffinityTerms(pod *v1.Pod) []v1.PodAffinityTerm {
	_, near, apart := affinitiesOf(pod)
	terms := slices.Concat(near.RequiredDuringSchedulingIgnoredDuringExecution, apart.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, preferred := range slices.Concat(
		near.PreferredDuringSchedulingIgnoredDuringExecution, apart.PreferredDuringSchedulingIgnoredDuringExecution) {
		terms = append(terms, preferred.PodAffinityTerm)
	}
	return terms
}

func keysOf(selector *metav1.LabelSelector) (keys []string) {
	if selector == nil {
		return nil
	}
	for key := range selector.MatchLabels {
		keys = append(keys, key)
	}
	for _, requirement := range selector.MatchExpressions {
		keys = append(keys, requirement.Key)
	}
	return keys
}
