package snapshot

import (
	"cmp"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/contract"
)

// Budget is a disruption budget.
type Budget struct {
	Namespace, Name string
	// Allowed is how many of its pods may be disrupted in total.
	Allowed  int32
	selector labels.Selector
	// message is nil if the budget cannot be sent; then it allows no disruptions.
	message *contract.DisruptionBudget
}

// budgetIndex finds the disruption budgets of a pod.
type budgetIndex struct {
	byNamespace map[string][]*Budget
	all         []*Budget
}

func matchBudgets(objects []*policyv1.PodDisruptionBudget) *budgetIndex {
	index := &budgetIndex{byNamespace: map[string][]*Budget{}}
	for _, object := range objects {
		one := budgetOf(object)
		index.byNamespace[object.Namespace] = append(index.byNamespace[object.Namespace], one)
		index.all = append(index.all, one)
	}
	slices.SortFunc(index.all, func(a, b *Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	fit(index.all, largestBudgets)
	return index
}

func budgetOf(object *policyv1.PodDisruptionBudget) *Budget {
	allowed := max(0, object.Status.DisruptionsAllowed) // Kubernetes does not validate a status
	one := &Budget{Namespace: object.Namespace, Name: object.Name, Allowed: allowed,
		message: &contract.DisruptionBudget{
			Namespace:          object.Namespace,
			Name:               object.Name,
			Selector:           selectorMessage(object.Spec.Selector),
			DisruptionsAllowed: allowed,
		}}
	var err error
	if one.selector, err = metav1.LabelSelectorAsSelector(object.Spec.Selector); err != nil {
		// Fail closed: a budget that cannot be read covers its whole namespace and allows no disruptions.
		one.selector = labels.Everything()
		one.shrink()
	} else if _, some := marshalled(one.message); !some {
		one.shrink()
	}
	return one
}

func (b *Budget) weight() int { return proto.Size(b.message) }

// shrink leaves the budget out of the message. Its pods are immovable then, so the optimiser does not need it.
func (b *Budget) shrink() { b.Allowed, b.message = 0, nil }

// inTurn lets each budget that allows a disruption now allow as many as there are pods.
func (i *budgetIndex) inTurn(pods int) {
	for _, one := range i.all {
		if one.Allowed > 0 && one.message != nil {
			one.Allowed = int32(min(pods, math.MaxInt32))
			one.message.DisruptionsAllowed = one.Allowed
		}
	}
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

func (i *budgetIndex) messages() []*contract.DisruptionBudget {
	var messages []*contract.DisruptionBudget
	for _, one := range i.all {
		if one.message != nil {
			messages = append(messages, one.message)
		}
	}
	return messages
}
