package snapshot_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/snapshot"
)

func labelled(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{key: value} }
}

// Each pod of a StatefulSet has its name as a label. If each made a class of its own, 10,000 pods would be 10,000 classes;
// but labels that a selector reads must distinguish pods.
func TestOnlyLabelsThatASelectorReadsDistinguishClasses(t *testing.T) {
	const key = "statefulset.kubernetes.io/pod-name"
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpExists}}}
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: selector}
	demanding := func(affinity v1.Affinity) *v1.Pod {
		return aPod("reads", "n1", func(pod *v1.Pod) { pod.Spec.Affinity = &affinity })
	}
	unread := snapshot.Input{}
	for name, c := range map[string]struct {
		input snapshot.Input
		want  int
	}{
		"none":     {unread, 1},
		"a budget": {snapshot.Input{Budgets: []*policyv1.PodDisruptionBudget{{Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}}}, 3},
		"an owner": {snapshot.Input{Labels: sets.New(key)}, 3},
		"affinity": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}})}}, 3},
		"a preference to be apart": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}}})}}, 3},
		"mismatch keys": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone", MismatchLabelKeys: []string{key}}}}})}}, 3},
		"spread": {snapshot.Input{Pods: []*v1.Pod{aPod("reads", "n1", func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
				WhenUnsatisfiable: v1.DoNotSchedule, MatchLabelKeys: []string{key}}}
		})}}, 3},
	} {
		input := c.input
		input.Nodes, input.Rules = []*v1.Node{aNode("n1", "4", "8Gi")}, rules()
		for i := range 3 {
			name := fmt.Sprintf("web-%d", i)
			input.Pods = append(input.Pods, aPod(name, "n1", labelled(key, name)))
		}
		s := snapshot.Build(input)
		classes := map[string]bool{}
		for i := range 3 {
			pod := s.Pods[types.UID(fmt.Sprintf("uid-web-%d", i))]
			classes[pod.Class] = true
			if id := s.Classes.ID(pod.Object); id != pod.Class {
				t.Errorf("%s reads the label: a pod by itself is of class %s, in the snapshot of %s", name, id, pod.Class)
			}
		}
		if len(classes) != c.want {
			t.Errorf("%s reads the label: %d classes, want %d", name, len(classes), c.want)
		}
	}
}

// A snapshot with a cache must be the same as without; an object that has changed is a new object.
func TestACachedSnapshotIsAFreshOne(t *testing.T) {
	cache := &snapshot.Cache{}
	reads := func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
			WhenUnsatisfiable: v1.DoNotSchedule, MatchLabelKeys: []string{"app"}}}
	}
	resized := aPod("a", "n1", asking(v1.ResourceCPU, "2"))
	cordoned := aNode("n1", "4", "8Gi")
	cordoned.Spec.Unschedulable = true
	first := aPod("a", "n1")
	for i, input := range []snapshot.Input{
		{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{first, aPod("b", "", labelled("app", "other"))}},
		{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{first, aPod("b", "", labelled("app", "other"), reads)}},
		{Nodes: []*v1.Node{cordoned}, Pods: []*v1.Pod{resized}},
		{Nodes: []*v1.Node{aNode("n2", "4", "8Gi")}, Pods: []*v1.Pod{first}},
		{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{first}},
		{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{aPod("d", "n1"), aPod("b", ""), first, aPod("f", "")}},
		{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{aPod("g", ""), aPod("f", ""), aPod("c", "n1"), resized, aPod("0", "")}},
	} {
		input.Rules = rules()
		fresh := snapshot.Build(input)
		input.Cache = cache
		cached := snapshot.Build(input)
		if cached.Fingerprint() != fresh.Fingerprint() || !proto.Equal(cached.Message, fresh.Message) {
			t.Errorf("round %d: the cached snapshot is another one: %v, want %v", i, cached.Message, fresh.Message)
		}
	}
}
