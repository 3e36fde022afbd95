package plan_test

import (
	"errors"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// fourRunningPods has four running pods of two workloads on two nodes, and one pending pod.
func fourRunningPods(budgets ...*policyv1.PodDisruptionBudget) *snapshot.Snapshot {
	of := func(owner string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.OwnerReferences[0].UID, p.Labels = "rs-a", map[string]string{"app": owner}
			if owner == "b" {
				p.OwnerReferences[0].UID, p.Namespace = "rs-b", "other"
			}
			p.Status.Phase = v1.PodRunning
		}
	}
	return snapshot.Build(snapshot.Input{
		ID:    "s1",
		Nodes: []*v1.Node{node("n1"), node("n2"), node("n3")},
		Pods: []*v1.Pod{pod("a1", "n1", "1G", 0, of("a")), pod("a2", "n2", "1G", 0, of("a")),
			pod("b1", "n1", "1G", 0, of("b")), pod("b2", "n2", "1G", 0, of("b")), pod("new", "", "1G", 1)},
		Budgets: budgets,
		Rules:   snapshot.Rules{SchedulerName: "default-scheduler"},
	})
}

func allMove() *contract.Plan {
	return &contract.Plan{SnapshotId: "s1", Placements: placements("new", "n1"), Moves: moves("a1", "n1", "n3", "a2", "n2", "n3"),
		Evictions: evictions("b1", "n1", "b2", "n2")}
}

// A budget that allows one disruption is kept by each of two evictions alone, and broken by both. Pods that go without it
// are not counted.
func TestBudgetsAreCountedOverTheWholePlan(t *testing.T) {
	allowing := func(allowed int32) *policyv1.PodDisruptionBudget { return testobjects.Budget("a", "app", "a", allowed) }
	enoughHealthy := allowing(0)
	enoughHealthy.Status.CurrentHealthy, enoughHealthy.Status.DesiredHealthy = 1, 1
	_, enough := plan.Decode(allMove(), fourRunningPods(allowing(2)), plan.Strict)
	_, tooFew := plan.Decode(allMove(), fourRunningPods(allowing(1)), plan.Strict)
	_, notReady := plan.Decode(allMove(), fourRunningPods(enoughHealthy), plan.Strict)

	var refused *plan.RefusedError
	if enough != nil || notReady != nil || !errors.As(tooFew, &refused) || refused.Reason != plan.OverBudget {
		t.Errorf("with 2 allowed: %v; with 1: %v; of pods that are not ready: %v", enough, tooFew, notReady)
	}
}

// Each limit names the pods beyond it, so that the next plan can avoid them.
func TestDisruptionsBeyondALimitAreNamed(t *testing.T) {
	cases := map[string]struct {
		limits plan.Limits
		want   map[string]string
	}{
		"none":          {plan.Limits{}, map[string]string{}},
		"moves":         {plan.Limits{Moves: 1}, map[string]string{"a2": plan.LimitMoves}},
		"evictions":     {plan.Limits{Evictions: 1}, map[string]string{"b2": plan.LimitEvictions}},
		"per node":      {plan.Limits{PerNode: 1}, map[string]string{"b1": plan.LimitPerNode, "b2": plan.LimitPerNode}},
		"per namespace": {plan.Limits{PerNamespace: 1}, map[string]string{"a2": plan.LimitPerNamespace, "b2": plan.LimitPerNamespace}},
		"per workload":  {plan.Limits{PerWorkload: 1}, map[string]string{"a2": plan.LimitPerWorkload, "b2": plan.LimitPerWorkload}},
		"just enough":   {plan.Limits{Moves: 2, Evictions: 2, PerNode: 2, PerNamespace: 2, PerWorkload: 2}, map[string]string{}},
	}
	checked := testobjects.Value(plan.Decode(allMove(), fourRunningPods(), plan.Strict))(t)
	for name, c := range cases {
		got := map[string]string{}
		for _, excess := range checked.Beyond(c.limits) {
			got[excess.Pod.Object.Name] = excess.Limit
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A pod that goes from A to B and later back to A is disrupted twice for nothing.
func TestMovesThatTakeBackAnEarlierOneAreFound(t *testing.T) {
	s := fourRunningPods()
	checked := testobjects.Value(plan.Decode(allMove(), s, plan.Strict))(t)
	class := s.Pods["a1"].Class
	cases := map[string]struct {
		earlier plan.Moved
		want    int
	}{
		"the way back":       {plan.Moved{Owner: "rs-a", Class: class, From: "n3", To: "n1"}, 1},
		"the same way again": {plan.Moved{Owner: "rs-a", Class: class, From: "n1", To: "n3"}, 0},
		"another workload":   {plan.Moved{Owner: "rs-b", Class: class, From: "n3", To: "n1"}, 0},
		"another template":   {plan.Moved{Owner: "rs-a", Class: "older", From: "n3", To: "n1"}, 0},
		"an eviction":        {plan.Moved{Owner: "rs-a", Class: class, From: "n3"}, 0},
	}
	for name, c := range cases {
		if got := checked.Returns([]plan.Moved{c.earlier}); len(got) != c.want {
			t.Errorf("%s: %d moves, want %d", name, len(got), c.want)
		}
	}
}
