package simulation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var budgetResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// sort is what disruption budgets tell pods apart by.
type sort struct {
	template *v1.Pod
	owner    Owner
}

// tally counts the pods of one sort in one namespace: those that are there, and those that are ready.
type tally struct{ there, ready int32 }

// countBudgets brings the statuses of disruption budgets up to date in the namespaces in which a pod has come, gone or
// become ready, as the disruption controller does.
func (v *virtualTime) countBudgets() error {
	touched := slices.Sorted(maps.Keys(v.lives.touched))
	clear(v.lives.touched)
	for _, namespace := range touched {
		budgets, err := v.budgetsOf(namespace)
		if err != nil {
			return err
		}
		for _, budget := range budgets {
			status := statusOf(budget, v.lives.tallies[namespace])
			if equality.Semantic.DeepEqual(status, budget.Status) {
				continue
			}
			counted := budget.DeepCopy()
			counted.Status = status
			if err := v.put(&Object{counted}, budgetResource); err != nil {
				return err
			}
		}
	}
	return nil
}

// budgetsOf are the budgets of a namespace, by name. They must not be changed.
func (v *virtualTime) budgetsOf(namespace string) ([]*policyv1.PodDisruptionBudget, error) {
	lister := v.informers.Policy().V1().PodDisruptionBudgets().Lister()
	budgets, err := lister.PodDisruptionBudgets(namespace).List(labels.Everything())
	slices.SortFunc(budgets, func(a, b *policyv1.PodDisruptionBudget) int { return cmp.Compare(a.Name, b.Name) })
	return budgets, err
}

// statusOf counts the pods that a budget selects. How many there should be is, as no controller says it, how many pods its
// pods' owners have: one that goes is replaced at once.
func statusOf(budget *policyv1.PodDisruptionBudget, tallies map[sort]*tally) policyv1.PodDisruptionBudgetStatus {
	status := policyv1.PodDisruptionBudgetStatus{
		Conditions: budget.Status.Conditions, ObservedGeneration: budget.Generation}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return status // allows nothing
	}
	var selected int32
	owners := map[Owner]bool{}
	for sort, count := range tallies {
		if selector.Matches(labels.Set(sort.template.Labels)) {
			selected += count.there
			status.CurrentHealthy += count.ready
			owners[sort.owner] = true
		}
	}
	var owned int32
	for sort, count := range tallies {
		if sort.owner != (Owner{}) && owners[sort.owner] {
			owned += count.there
		}
	}
	share := func(of *intstr.IntOrString) int32 {
		amount, err := intstr.GetScaledValueFromIntOrPercent(of, int(owned), true)
		if err != nil {
			return 0
		}
		return int32(amount)
	}
	switch least, most := budget.Spec.MinAvailable, budget.Spec.MaxUnavailable; {
	case most != nil:
		status.ExpectedPods, status.DesiredHealthy = owned, max(0, owned-share(most))
	case least != nil && least.Type == intstr.Int:
		status.ExpectedPods, status.DesiredHealthy = selected, least.IntVal
	case least != nil:
		status.ExpectedPods, status.DesiredHealthy = owned, share(least)
	}
	if status.ExpectedPods > 0 {
		status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	}
	return status
}

// refuseEviction says why the Eviction API would refuse to evict a pod; it is empty where it would not.
func (v *virtualTime) refuseEviction(life *Life) (string, error) {
	if !life.ready {
		return "", nil // the Eviction API asks no budget about a pod that does not run yet
	}
	if err := v.countBudgets(); err != nil {
		return "", err
	}
	budgets, err := v.budgetsFor(life)
	if err != nil {
		return "", err
	}
	switch {
	case len(budgets) == 0:
		return "", nil
	case len(budgets) > 1:
		return "more than one disruption budget selects it", nil
	}
	if status := &budgets[0].Status; status.DisruptionsAllowed <= 0 {
		return fmt.Sprintf("the disruption budget %s needs %d healthy pods and has %d",
			budgets[0].Name, status.DesiredHealthy, status.CurrentHealthy), nil
	}
	return "", nil
}

// budgetsFor are those that select a pod.
func (v *virtualTime) budgetsFor(life *Life) ([]*policyv1.PodDisruptionBudget, error) {
	namespace, _ := splitKey(life.Pod)
	budgets, err := v.budgetsOf(namespace)
	return slices.DeleteFunc(budgets, func(budget *policyv1.PodDisruptionBudget) bool {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		return err == nil && !selector.Matches(labels.Set(life.sort.template.Labels))
	}), err
}
