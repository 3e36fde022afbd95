package snapshot_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// With a disruption budget, an owner says which disruptions the pods can bear. Without one, a singleton, and a pod whose
// replacement waits until it is gone, stay where they are.
func TestASingletonIsMovedOnlyUnderABudget(t *testing.T) {
	now := metav1.Now()
	other := func(changes ...func(*v1.Pod)) *v1.Pod { return aPod("other", "n1", changes...) }
	foreign := func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "rs-b" }
	cases := map[string]struct {
		other   *v1.Pod
		kind    string
		allowed int32
		want    string
	}{
		"beside a ready one":       {other(ready), "ReplicaSet", -1, ""},
		"beside one not ready":     {other(), "ReplicaSet", -1, snapshot.Singleton},
		"beside a stranger":        {other(ready, foreign), "ReplicaSet", -1, snapshot.Singleton},
		"beside one that leaves":   {other(ready, func(p *v1.Pod) { p.DeletionTimestamp = &now }), "ReplicaSet", -1, snapshot.Singleton},
		"alone under a budget":     {other(ready, foreign), "ReplicaSet", 1, ""},
		"alone, the budget spent":  {other(ready, foreign), "ReplicaSet", 0, snapshot.DisruptionBudget},
		"stateful without budget":  {other(ready), "StatefulSet", -1, snapshot.StatefulSet},
		"stateful under a budget":  {other(ready), "StatefulSet", 1, ""},
		"stateful, budget is none": {other(ready), "StatefulSet", 0, snapshot.DisruptionBudget},
	}
	for name, c := range cases {
		applied := rules()
		applied.KeepSingletons, applied.KeepStatefulSets = true, true
		pod := aPod("p", "n1", ready, ownedBy(c.kind))
		var budgets []*policyv1.PodDisruptionBudget
		if c.allowed >= 0 {
			budgets = append(budgets, aBudget("b", "a", c.allowed))
		}

		s := snapshot.Build(snapshot.Input{Nodes: n1(),
			Pods: []*v1.Pod{pod, c.other}, Budgets: budgets, Rules: applied})

		if got := s.Pods[pod.UID].Immovable; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A pod that is not ready is of no use to its workload, and the Eviction API lets it go although the budget allows nothing: to
// keep it would be a false proof. It must not use up what the budget allows to the others.
func TestPodsThatAreNotReadyGoAsTheEvictionAPILetsThem(t *testing.T) {
	always, ifHealthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	type counts struct{ allowed, healthy, desired int32 }
	cases := map[string]struct {
		policy  *policyv1.UnhealthyPodEvictionPolicyType
		status  counts
		change  func(*policyv1.PodDisruptionBudget)
		unready string
		exempt  bool
		ready   string
	}{
		"enough are healthy":            {nil, counts{0, 2, 2}, nil, "", true, snapshot.DisruptionBudget},
		"enough, and it is said":        {&ifHealthy, counts{0, 2, 2}, nil, "", true, snapshot.DisruptionBudget},
		"more than enough":              {nil, counts{1, 3, 2}, nil, "", true, ""},
		"too few are healthy":           {nil, counts{0, 1, 2}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"too few, and always allowed":   {&always, counts{0, 1, 2}, nil, "", true, snapshot.DisruptionBudget},
		"none need to be healthy":       {nil, counts{0, 2, 0}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"none need to be, two may go":   {nil, counts{2, 2, 0}, nil, "", false, ""},
		"no status yet, always allowed": {&always, counts{}, nil, "", true, snapshot.DisruptionBudget},
		"the status is of an earlier spec": {nil, counts{1, 3, 2}, func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 },
			"", true, snapshot.DisruptionBudget},
		"negative": {nil, counts{-1, 1, 2}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"the selector cannot be read": {&always, counts{1, 3, 2}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
		}, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
	}
	for name, c := range cases {
		budget := aBudget("b", "a", c.status.allowed)
		budget.Spec.UnhealthyPodEvictionPolicy = c.policy
		budget.Status.CurrentHealthy, budget.Status.DesiredHealthy = c.status.healthy, c.status.desired
		if c.change != nil {
			c.change(budget)
		}
		in := snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{aPod("unready", "n1"), aPod("ready", "n1", ready)},
			Budgets: []*policyv1.PodDisruptionBudget{budget}, Rules: rules()}

		s := snapshot.Build(in)

		unready, healthy := s.Pods["uid-unready"], s.Pods["uid-ready"]
		if unready.Immovable != c.unready || unready.Exempt != c.exempt || healthy.Immovable != c.ready || healthy.Exempt {
			t.Errorf("%s: not ready %q, exempt %t; ready %q, exempt %t", name, unready.Immovable, unready.Exempt, healthy.Immovable, healthy.Exempt)
		}
		if sent := s.Message.Pods[1]; sent.Name != "unready" || sent.ExemptFromBudget != c.exempt {
			t.Errorf("%s: the optimiser gets %v", name, sent)
		}
		// Kubernetes does not validate a status, and the optimiser refuses a snapshot with such a number.
		if sent := s.Message.DisruptionBudgets; len(sent) > 0 && sent[0].DisruptionsAllowed != max(0, healthy.Budgets[0].Allowed) {
			t.Errorf("%s: the optimiser is told that %d may go", name, sent[0].DisruptionsAllowed)
		}

		in.Budgets = append(in.Budgets, aBudget("second", "a", 5))
		if both := snapshot.Build(in).Pods["uid-unready"]; both.Immovable != snapshot.DisruptionBudget || both.Exempt {
			t.Errorf("%s, and a second budget: %q, exempt %t", name, both.Immovable, both.Exempt)
		}
	}
}
