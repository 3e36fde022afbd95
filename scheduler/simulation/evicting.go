package simulation

import (
	"cmp"
	"errors"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Eviction is what became of one that was asked for.
type Eviction struct {
	At float64 `json:"at"`
	// Pod is namespace/name.
	Pod string `json:"pod"`
	// Refused says why the pod stays; it is gone without.
	Refused string `json:"refused,omitempty"`
	// Replacement is namespace/name of the pod that its owner has made.
	Replacement string `json:"replacement,omitempty"`
}

// Evictions counts those of the whole time, those of plans among them.
type Evictions struct {
	Evicted int `json:"evicted"`
	Refused int `json:"refused"`
	// WithinCoolDown are those of the replacement of a pod that had been evicted less than the cool-down before.
	WithinCoolDown int `json:"withinCoolDown"`
	// BudgetsBroken counts disruption budgets that an eviction left with fewer ready pods than they ask for.
	BudgetsBroken int `json:"budgetsBroken"`
}

// State is the cluster as it is, as Kubernetes' objects, by name.
type State struct {
	At                float64                         `json:"at"`
	Nodes             []*v1.Node                      `json:"nodes"`
	Pods              []*v1.Pod                       `json:"pods"`
	DisruptionBudgets []*policyv1.PodDisruptionBudget `json:"disruptionBudgets"`
	// CoolingDown are the pods, as namespace/name, that replace one that was evicted less than the cool-down before.
	CoolingDown []string `json:"coolingDown"`
}

// evictOne evicts a pod, if its disruption budget allows it, and says what became of it.
func (v *virtualTime) evictOne(pod string) error {
	found := Eviction{At: v.lives.now, Pod: pod}
	if err := v.evict(&found, v.lives.there[pod]); err != nil {
		return err
	}
	return v.out.now(map[string]Eviction{"eviction": found})
}

// evictForPlan is the Eviction API of what makes plans.
func (v *virtualTime) evictForPlan(eviction *policyv1.Eviction) error {
	found := Eviction{At: v.lives.now, Pod: nameOf(eviction.Namespace, eviction.Name)}
	pod, there := v.api.pod(found.Pod)
	if !there {
		return apierrors.NewNotFound(podResource.GroupResource(), eviction.Name)
	}
	options := eviction.DeleteOptions
	if options != nil && options.Preconditions != nil && ptr.Deref(options.Preconditions.UID, "") != pod.UID {
		return apierrors.NewConflict(v1.Resource("pods"), eviction.Name, errors.New("another pod has its name now"))
	}
	err := v.evict(&found, v.lives.there[found.Pod])
	if err == nil && found.Refused != "" {
		return apierrors.NewTooManyRequests(found.Refused, 0)
	}
	return err
}

// evict evicts a pod if its disruption budget allows it; life is nil if there is no such pod.
func (v *virtualTime) evict(found *Eviction, life *Life) error {
	if life == nil {
		found.Refused = "there is no such pod"
		v.evictions.Refused++
		return nil
	}
	var err error
	if found.Refused, err = v.refuseEviction(life); err != nil || found.Refused != "" {
		v.evictions.Refused++
		return err
	}
	again, err := v.takeAway(life, howEvicted, true)
	if err != nil {
		return err
	}
	if again != nil {
		found.Replacement = key(again)
	}
	if v.coolsDown(life) {
		v.evictions.WithinCoolDown++
	}
	v.evicted[life.arrival.Name] = v.lives.now
	v.evictions.Evicted++
	return v.countBroken(life)
}

// coolsDown says whether a pod replaces one that was evicted less than the cool-down before, by whole seconds, which is
// what plans are dated by.
func (v *virtualTime) coolsDown(life *Life) bool {
	last, before := v.evicted[life.arrival.Name]
	return before && math.Floor(v.lives.now)-math.Floor(last) < v.coolDown
}

// countBroken looks whether an eviction has left a disruption budget with fewer pods than it asks for.
func (v *virtualTime) countBroken(evicted *Life) error {
	if !evicted.ready {
		return nil
	}
	if err := v.countBudgets(); err != nil {
		return err
	}
	for _, budget := range v.budgetsFor(evicted) {
		if budget.Status.CurrentHealthy < budget.Status.DesiredHealthy {
			v.evictions.BudgetsBroken++
		}
	}
	return nil
}

// tellState writes what there is.
func (v *virtualTime) tellState() error {
	if err := v.countBudgets(); err != nil {
		return err
	}
	state := State{At: v.lives.now, Nodes: []*v1.Node{}, Pods: []*v1.Pod{}, DisruptionBudgets: []*policyv1.PodDisruptionBudget{},
		CoolingDown: []string{}}
	for _, node := range v.api.informers[nodeResource].GetStore().List() {
		state.Nodes = append(state.Nodes, node.(*v1.Node))
	}
	for _, pod := range v.api.informers[podResource].GetStore().List() {
		state.Pods = append(state.Pods, pod.(*v1.Pod))
	}
	for _, guards := range v.guards {
		for _, one := range guards {
			state.DisruptionBudgets = append(state.DisruptionBudgets, one.budget)
		}
	}
	for pod, life := range v.lives.there {
		if v.coolsDown(life) {
			state.CoolingDown = append(state.CoolingDown, pod)
		}
	}
	slices.Sort(state.CoolingDown)
	slices.SortFunc(state.DisruptionBudgets, byName)
	slices.SortFunc(state.Nodes, byName)
	slices.SortFunc(state.Pods, byName)
	return v.out.now(map[string]State{"state": state})
}

func byName[Named metav1.Object](a, b Named) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
