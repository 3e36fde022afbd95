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
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
)

// Budget is a disruption budget.
type Budget struct {
	Namespace, Name string
	// Allowed is how many of its pods may be disrupted in total, without those that it exempts.
	Allowed  int32
	selector labels.Selector
	// exemptsUnready: the Eviction API lets pods that are not ready go whatever is allowed, and does not count them.
	exemptsUnready bool
	// message is nil if the budget cannot be sent; then it allows no disruptions.
	message *contract.DisruptionBudget
}

// budgetIndex finds the disruption budgets of a pod.
type budgetIndex struct {
	byNamespace map[string][]*Budget
	all         []*Budget
}

func matchBudgets(objects []*policyv1.PodDisruptionBudget) *budgetIndex {
	index := &budgetIndex{map[string][]*Budget{}, converted(objects, budgetOf)}
	slices.SortFunc(index.all, func(a, b *Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, one := range index.all {
		index.byNamespace[one.Namespace] = append(index.byNamespace[one.Namespace], one)
	}
	fit(converted(index.all, func(one *Budget) int { return proto.Size(one.message) }), largestBudgets, func(i int) int {
		index.all[i].leaveOut()
		return 0
	})
	return index
}

func budgetOf(object *policyv1.PodDisruptionBudget) *Budget {
	allowed := allowedBy(object)
	one := &Budget{Namespace: object.Namespace, Name: object.Name, Allowed: allowed, exemptsUnready: exemptsUnready(object),
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
		one.exemptsUnready = false
		one.leaveOut()
	} else if _, some := marshalled(one.message); !some {
		one.leaveOut()
	}
	return one
}

// mostDisrupted is how many evictions may be under way before the Eviction API refuses more.
const mostDisrupted = 2000

// allowedBy is how many disruptions the Eviction API would count now. It refuses all while the status is of an earlier spec.
func allowedBy(object *policyv1.PodDisruptionBudget) int32 {
	status := &object.Status
	if status.ObservedGeneration < object.Generation || len(status.DisruptedPods) > mostDisrupted {
		return 0
	}
	return max(0, status.DisruptionsAllowed) // Kubernetes does not validate a status
}

// exemptsUnready says whether the Eviction API lets pods that run, and are not ready, go without counting them. Such an
// eviction leaves as many pods healthy as before, and disruptions that are counted leave enough: so it holds for the whole
// of a plan that keeps to the budget.
func exemptsUnready(object *policyv1.PodDisruptionBudget) bool {
	status := &object.Status
	return ptr.Deref(object.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow ||
		status.DesiredHealthy > 0 && status.CurrentHealthy >= status.DesiredHealthy
}

// LetsMoreGo says whether the Eviction API lets pods go by the second version of a budget that it would have refused by the
// first.
func LetsMoreGo(before, now *policyv1.PodDisruptionBudget) bool {
	return allowedBy(now) > allowedBy(before) || exemptsUnready(now) && !exemptsUnready(before)
}

// leaveOut leaves the budget out of the message. Its pods are immovable then, so the optimiser does not need it.
func (b *Budget) leaveOut() { b.Allowed, b.message = 0, nil }

// inTurn lets each budget that allows a disruption now allow as many as there are pods.
func (i *budgetIndex) inTurn(pods int) {
	for _, one := range i.all {
		if one.Allowed > 0 && one.message != nil {
			one.Allowed = int32(min(pods, math.MaxInt32))
			one.message.DisruptionsAllowed = one.Allowed
		}
	}
}

// of are the budgets that cover the pod, in the order of their names.
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
