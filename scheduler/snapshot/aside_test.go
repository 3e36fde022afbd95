package snapshot_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Users read a proof as one about their cluster. So whatever the optimiser's problem lacks of it is counted; what the
// cluster's own rules protect is part of the problem.
func TestWhatAProofDoesNotCoverIsCounted(t *testing.T) {
	needy := func(pod *v1.Pod) { pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} }
	large := requiring(v1.NodeSelectorRequirement{Key: "k", Operator: v1.NodeSelectorOpIn, Values: tooMany()})
	odd := aNode("odd", "1", "1Gi")
	odd.Status.Allocatable["\xff"] = odd.Status.Allocatable[v1.ResourceCPU]
	unreadable := aBudget("b", "a", 1)
	unreadable.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "?"}}}
	for name, c := range map[string]struct {
		input snapshot.Input
		then  func(*snapshot.Snapshot)
		want  []string
		// waiting are the cluster's waiting pods, aside those of them that no plan can place.
		waiting, aside int
	}{
		"all is there":           {waiting: 1},
		"protected by the rules": {input: snapshot.Input{Pods: []*v1.Pod{aPod("d", "n1", ownedBy("DaemonSet"), needy), aPod("y", "n1", func(pod *v1.Pod) { pod.Status.Phase = v1.PodPending })}}, waiting: 1},
		"a budget that is spent": {input: snapshot.Input{Budgets: []*policyv1.PodDisruptionBudget{aBudget("b", "a", 0)}}, waiting: 1},
		"untried": {input: snapshot.Input{Untried: []*v1.Pod{aPod("u", ""), aPod("v", "", priority(7)),
			aPod("of-another", "", func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" })}},
			want: []string{"2 waiting pods that the scheduler has yet to try"}, waiting: 3, aside: 2},
		"unsupported": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", needy), aPod("r", "n1", needy)}},
			want:    []string{"1 running pods that stay, since they need what no plan can give", "1 waiting pods that need what no plan can give"},
			waiting: 2, aside: 1},
		"too large": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", large), aPod("r", "n1", large, ownedBy("DaemonSet"))}},
			want: []string{"2 pods whose class could not be sent"}, waiting: 2, aside: 1},
		"a node":   {input: snapshot.Input{Nodes: []*v1.Node{odd}}, want: []string{"1 nodes that could not be sent"}, waiting: 1},
		"a budget": {input: snapshot.Input{Budgets: []*policyv1.PodDisruptionBudget{unreadable}}, want: []string{"1 disruption budgets that could not be sent"}, waiting: 1},
		"reserved": {input: snapshot.Input{Held: map[string]resources.Vector{"n1": resources.Vector{}.WithPods(1), "n2": {}}},
			want: []string{"1 nodes with reserved room, which counts as taken for all"}, waiting: 1},
		"a namespace that a rule reads": {input: snapshot.Input{Rules: snapshot.Rules{Namespaces: labels.Everything()}},
			want: []string{"1 namespaces that could not be read"}, waiting: 1},
		"a namespace that a pod reads": {input: snapshot.Input{Pods: []*v1.Pod{aPod("r", "n1", near(metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}))}},
			want: []string{"1 namespaces that could not be read"}, waiting: 1},
		"pinned": {then: func(s *snapshot.Snapshot) { s.Pin("uid-runs", snapshot.CoolingDown); s.Pin("uid-runs", "again") },
			want: []string{"1 running pods that stay: cooling-down"}, waiting: 1},
		"refused": {then: func(s *snapshot.Snapshot) {
			for range 2 {
				s.Forbid(s.Pods["uid-waits"].Class, "n1")
			}
		}, want: []string{"1 pairs of pod class and node that were refused"}, waiting: 1},
		"dropped": {then: func(s *snapshot.Snapshot) { s.Drop("uid-waits"); s.Drop("uid-waits") },
			want: []string{"1 waiting pods that are left to another plan or to the scheduler"}, waiting: 1, aside: 1},
		"unsupported and dropped": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", needy)}},
			then: func(s *snapshot.Snapshot) { s.Drop("uid-u") }, want: []string{"1 waiting pods that need what no plan can give"}, waiting: 2, aside: 1},
	} {
		input := c.input
		input.Nodes = append(input.Nodes, aNode("n1", "4", "8Gi"))
		input.Pods = append(input.Pods, aPod("runs", "n1"), aPod("waits", ""))
		input.Rules.SchedulerName = ourScheduler
		s := snapshot.Build(input)
		if c.then != nil {
			c.then(s)
		}

		var got []string
		for _, one := range s.Aside() {
			got = append(got, one.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: left aside %q, want %q", name, got, c.want)
		}
		if waiting, aside := s.WaitingFrom(math.MinInt32), s.WaitingAside(); waiting != c.waiting || aside != c.aside {
			t.Errorf("%s: %d wait, %d of them aside; want %d, %d", name, waiting, aside, c.waiting, c.aside)
		}
	}
}

// near wants pods of other namespaces close by.
func near(namespaces metav1.LabelSelector) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
			{TopologyKey: "zone", LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "a"}), NamespaceSelector: &namespaces}}}}
	}
}

// The number of waiting pods with a priority and above bounds what any plan could place of them.
func TestWaitingPodsAreCountedFromAPriority(t *testing.T) {
	s := snapshot.Build(snapshot.Input{Nodes: n1(), Rules: rules(),
		Pods:    []*v1.Pod{aPod("runs", "n1", priority(9)), aPod("low", ""), aPod("high", "", priority(9))},
		Untried: []*v1.Pod{aPod("untried", "", priority(5))}})

	got := fmt.Sprint(s.WaitingFrom(0), s.WaitingFrom(5), s.WaitingFrom(6), s.WaitingFrom(10))

	if got != "3 2 1 0" {
		t.Errorf("%s wait, want 3 2 1 0", got)
	}
}
