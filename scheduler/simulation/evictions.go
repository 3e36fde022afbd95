package simulation

import (
	"cmp"
	"errors"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	replacement, refused, err := v.evict(pod)
	if err != nil {
		return err
	}
	return v.out.now(map[string]Eviction{"eviction": {At: v.lives.now, Pod: pod, Refused: refused, Replacement: replacement}})
}

// evictForPlan is the Eviction API of what makes plans.
func (v *virtualTime) evictForPlan(eviction *policyv1.Eviction) error {
	pod, there := v.api.pod(nameOf(eviction.Namespace, eviction.Name))
	if !there {
		return apierrors.NewNotFound(podResource.GroupResource(), eviction.Name)
	}
	options := eviction.DeleteOptions
	if options != nil && options.Preconditions != nil && ptr.Deref(options.Preconditions.UID, "") != pod.UID {
		return apierrors.NewConflict(v1.Resource("pods"), eviction.Name, errors.New("another pod has its name now"))
	}
	_, refused, err := v.evict(key(pod))
	if err == nil && refused != "" {
		return apierrors.NewTooManyRequests(refused, 0)
	}
	return err
}

// evict evicts a pod if its disruption budget allows it, and returns the key of the pod that its owner makes, or why not.
func (v *virtualTime) evict(pod string) (replacement, refused string, err error) {
	life, refused := v.lives.there[pod], "there is no such pod"
	if life != nil {
		if refused, err = v.refuseEviction(life); err != nil {
			return "", "", err
		}
	}
	if refused != "" {
		v.evictions.Refused++
		return "", refused, nil
	}
	again, err := v.takeAway(life, howEvicted, true)
	if err != nil {
		return "", "", err
	}
	if again != nil {
		replacement = key(again)
	}
	if v.coolsDown(life) {
		v.evictions.WithinCoolDown++
	}
	v.evicted[life.arrival.Name] = v.lives.now
	v.evictions.Evicted++
	return replacement, "", v.countBroken(life)
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
	state := State{At: v.lives.now, Nodes: list[*v1.Node](v.api, nodeResource), Pods: list[*v1.Pod](v.api, podResource),
		DisruptionBudgets: list[*policyv1.PodDisruptionBudget](v.api, budgetResource), CoolingDown: []string{}}
	for pod, life := range v.lives.there {
		if v.coolsDown(life) {
			state.CoolingDown = append(state.CoolingDown, pod)
		}
	}
	slices.Sort(state.CoolingDown)
	return v.out.now(map[string]State{"state": state})
}

// list are the objects of a kind, by namespace and name.
func list[Kept apiObject](a *api, of schema.GroupVersionResource) []Kept {
	kept := []Kept{}
	for _, object := range a.informers[of].GetStore().List() {
		kept = append(kept, object.(Kept))
	}
	slices.SortFunc(kept, func(a, b Kept) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return kept
}
