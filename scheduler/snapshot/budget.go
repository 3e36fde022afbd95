package snapshot

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/contract"
)

type budget struct {
	selector labels.Selector
	allowed  int32
}

// budgetIndex finds the disruption budgets of a pod.
type budgetIndex struct {
	byNamespace map[string][]budget
}

func matchBudgets(objects []*policyv1.PodDisruptionBudget) *budgetIndex {
	index := &budgetIndex{byNamespace: map[string][]budget{}}
	for _, object := range objects {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil {
			// Fail closed: a budget that cannot be read covers its whole namespace and is spent.
			selector, object = labels.Everything(), &policyv1.PodDisruptionBudget{ObjectMeta: object.ObjectMeta}
		}
		index.byNamespace[object.Namespace] = append(index.byNamespace[object.Namespace],
			budget{selector, object.Status.DisruptionsAllowed})
	}
	return index
}

// of returns how many budgets cover the pod and what the tightest of them allows.
func (i *budgetIndex) of(pod *v1.Pod) (matches int, allowed int32) {
	for _, budget := range i.byNamespace[pod.Namespace] {
		if !budget.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if matches == 0 || budget.allowed < allowed {
			allowed = budget.allowed
		}
		matches++
	}
	return matches, allowed
}

func budgetMessages(objects []*policyv1.PodDisruptionBudget) []*contract.DisruptionBudget {
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
