package snapshot

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/contract"
)

// Budget is a disruption budget.
type Budget struct {
	Namespace, Name string
	// Allowed is how many of its pods may be disturbed, all in all.
	Allowed  int32
	selector labels.Selector
}

// budgetIndex finds the disruption budgets of a pod.
type budgetIndex struct {
	byNamespace map[string][]*Budget
}

func matchBudgets(objects []*policyv1.PodDisruptionBudget) *budgetIndex {
	index := &budgetIndex{byNamespace: map[string][]*Budget{}}
	for _, object := range objects {
		one := &Budget{Namespace: object.Namespace, Name: object.Name, Allowed: object.Status.DisruptionsAllowed}
		var err error
		if one.selector, err = metav1.LabelSelectorAsSelector(object.Spec.Selector); err != nil {
			// Fail closed: a budget that cannot be read covers its whole namespace and is spent.
			one.selector, one.Allowed = labels.Everything(), 0
		}
		index.byNamespace[object.Namespace] = append(index.byNamespace[object.Namespace], one)
	}
	return index
}

// of are the budgets that cover the pod.
func (i *budgetIndex) of(pod *v1.Pod) []*Budget {
	var found []*Budget
	for _, budget := range i.byNamespace[pod.Namespace] {
		if budget.selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, budget)
		}
	}
	return found
}

func budgetMessages(objects []*policyv1.PodDisruptionBudget) []*contract.DisruptionBudget {
	objects = slices.Clone(objects)
	slices.SortFunc(objects, func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var messages []*contract.DisruptionBudget
	for _, object := range objects {
		messages = append(messages, &contract.DisruptionBudget{
			Namespace:          object.Namespace,
			Name:               object.Name,
			Selector:           selectorMessage(object.Spec.Selector),
			DisruptionsAllowed: object.Status.DisruptionsAllowed,
		})
	}
	return messages
}
