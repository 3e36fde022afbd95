package simulation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// State is the cluster as it is, as Kubernetes' objects, by name.
type State struct {
	At                float64                         `json:"at"`
	Nodes             []*v1.Node                      `json:"nodes"`
	Pods              []*v1.Pod                       `json:"pods"`
	DisruptionBudgets []*policyv1.PodDisruptionBudget `json:"disruptionBudgets"`
}

// evictOne evicts a pod, if its disruption budget allows it, and says what became of it.
func (v *virtualTime) evictOne(pod string) error {
	found := Eviction{At: v.lives.now, Pod: pod}
	if err := v.evict(&found); err != nil {
		return err
	}
	return v.out.now(map[string]Eviction{"eviction": found})
}

func (v *virtualTime) evict(found *Eviction) error {
	life := v.lives.there[found.Pod]
	if life == nil {
		found.Refused = "there is no such pod"
		return nil
	}
	var err error
	if found.Refused, err = v.refuseEviction(life); err != nil || found.Refused != "" {
		return err
	}
	again, err := v.exchange(found.Pod, howEvicted)
	if again != nil {
		found.Replacement = key(again)
	}
	return err
}

// tellState writes what there is.
func (v *virtualTime) tellState() error {
	if err := v.countBudgets(); err != nil {
		return err
	}
	state := State{At: v.lives.now, Nodes: []*v1.Node{}, Pods: []*v1.Pod{}, DisruptionBudgets: []*policyv1.PodDisruptionBudget{}}
	nodes, err := v.api.List(nodeResource, v1.SchemeGroupVersion.WithKind("Node"), "")
	if err != nil {
		return err
	}
	for i := range nodes.(*v1.NodeList).Items {
		state.Nodes = append(state.Nodes, &nodes.(*v1.NodeList).Items[i])
	}
	pods, err := v.api.List(podResource, v1.SchemeGroupVersion.WithKind("Pod"), "")
	if err != nil {
		return err
	}
	for i := range pods.(*v1.PodList).Items {
		state.Pods = append(state.Pods, &pods.(*v1.PodList).Items[i])
	}
	budgets, err := v.informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	state.DisruptionBudgets = append(state.DisruptionBudgets, budgets...)
	slices.SortFunc(state.DisruptionBudgets, byName)
	slices.SortFunc(state.Nodes, byName)
	slices.SortFunc(state.Pods, byName)
	return v.out.now(map[string]State{"state": state})
}

func byName[Named metav1.Object](a, b Named) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
