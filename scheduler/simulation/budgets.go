package simulation

import (
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

// podClass is what disruption budgets tell pods apart by.
type podClass struct {
	template *v1.Pod
	owner    Owner
}

// tally counts the pods of one class in one namespace: those that are there, and those that are ready.
type tally struct{ there, ready int32 }

// guard is a disruption budget and the classes of pods that it selects, as far as it was asked.
type guard struct {
	// budget is as it was written last. It must not be changed.
	budget   *policyv1.PodDisruptionBudget
	selector labels.Selector
	// broken: the selector cannot be read. The budget then covers its namespace and allows nothing.
	broken  bool
	selects map[podClass]bool
	classes []podClass
	counted bool
}

// watchBudget begins to count for a budget, which is new or has a new spec.
func (v *virtualTime) watchBudget(budget *policyv1.PodDisruptionBudget) {
	g := &guard{budget: budget, selects: map[podClass]bool{}}
	var err error
	if g.selector, err = metav1.LabelSelectorAsSelector(budget.Spec.Selector); err != nil {
		g.selector, g.broken = labels.Everything(), true
	}
	namespace := budget.Namespace
	if v.guards[namespace] == nil {
		v.guards[namespace] = map[string]*guard{}
	}
	v.guards[namespace][budget.Name] = g
	for class := range v.lives.tallies[namespace] {
		g.covers(class)
	}
	if v.lives.touched[namespace] == nil {
		v.lives.touched[namespace] = map[podClass]bool{}
	}
}

// covers says whether the budget selects pods of that class.
func (g *guard) covers(one podClass) bool {
	selects, known := g.selects[one]
	if !known {
		selects = g.selector.Matches(labels.Set(one.template.Labels))
		g.selects[one] = selects
		if selects {
			g.classes = append(g.classes, one)
		}
	}
	return selects
}

// concerns says whether the budget's counts may have changed with those of the classes: it selects them, or other pods of
// their owners.
func (g *guard) concerns(touched map[podClass]bool) bool {
	concerned := !g.counted
	for one := range touched {
		concerned = g.covers(one) || concerned || one.owner != (Owner{}) &&
			slices.ContainsFunc(g.classes, func(class podClass) bool { return class.owner == one.owner })
	}
	return concerned
}

// countBudgets brings the statuses of disruption budgets up to date for which a pod has come, gone or become ready, as the
// disruption controller does. A namespace may have thousands of budgets, so it leaves the others alone.
func (v *virtualTime) countBudgets() error {
	touched := v.lives.touched
	v.lives.touched = map[string]map[podClass]bool{}
	for _, namespace := range slices.Sorted(maps.Keys(touched)) {
		guards := v.guards[namespace]
		for _, name := range slices.Sorted(maps.Keys(guards)) {
			one := guards[name]
			if !one.concerns(touched[namespace]) {
				continue
			}
			one.counted = true
			status := one.status(v.lives.tallies[namespace], v.lives.owned[namespace])
			if equality.Semantic.DeepEqual(status, one.budget.Status) {
				continue
			}
			one.budget = one.budget.DeepCopy()
			one.budget.Status = status
			if err := v.put(budgetResource, one.budget.DeepCopy()); err != nil {
				return err
			}
		}
	}
	return nil
}

// status counts the pods that the budget selects. How many there should be is, as no controller says it, how many pods the
// owners of its pods have: one that goes is replaced at once.
func (g *guard) status(tallies map[podClass]*tally, ownedBy map[Owner]int32) policyv1.PodDisruptionBudgetStatus {
	status := policyv1.PodDisruptionBudgetStatus{
		Conditions: g.budget.Status.Conditions, ObservedGeneration: g.budget.Generation}
	if g.broken {
		return status
	}
	var selected, owned int32
	owners := map[Owner]bool{}
	for _, one := range g.classes {
		count := tallies[one]
		if count == nil {
			continue // they are all gone
		}
		selected += count.there
		status.CurrentHealthy += count.ready
		if one.owner != (Owner{}) && !owners[one.owner] {
			owners[one.owner] = true
			owned += ownedBy[one.owner]
		}
	}
	share := func(of *intstr.IntOrString) int32 {
		amount, err := intstr.GetScaledValueFromIntOrPercent(of, int(owned), true)
		if err != nil {
			return 0
		}
		return int32(amount)
	}
	switch least, most := g.budget.Spec.MinAvailable, g.budget.Spec.MaxUnavailable; {
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
	budgets := v.budgetsFor(life)
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

// budgetsFor are those that select a pod. They must not be changed.
func (v *virtualTime) budgetsFor(life *Life) (budgets []*policyv1.PodDisruptionBudget) {
	namespace, _ := splitKey(life.Pod)
	for _, one := range v.guards[namespace] {
		if one.covers(life.class) {
			budgets = append(budgets, one.budget)
		}
	}
	return budgets
}
