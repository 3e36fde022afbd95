package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/snapshot"
)

func requiring(requirement v1.NodeSelectorRequirement) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
				{MatchExpressions: []v1.NodeSelectorRequirement{requirement}}}}}}
	}
}

func preferring(requirement v1.NodeSelectorRequirement) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
				MatchExpressions: []v1.NodeSelectorRequirement{requirement}}}}}}
	}
}

func asking(name v1.ResourceName, amount string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount)
	}
}

// tooMany are more values than a selector may have in a message.
func tooMany() (values []string) {
	for i := range 3000 {
		values = append(values, fmt.Sprintf("%063d", i))
	}
	return values
}

// Any user who may create a pod could otherwise switch the optimiser off for all users. Such pods keep their room, no plan
// contains them, and the reason is reported.
func TestPodsThatNoPlanCanContainAreUnsupported(t *testing.T) {
	many := strings.Repeat("9", 5000)
	for want, change := range map[string]func(*v1.Pod){
		"node-affinity-that-the-scheduler-cannot-read": requiring(v1.NodeSelectorRequirement{
			Key: "k", Operator: v1.NodeSelectorOpGt, Values: []string{"abc"}}),
		"node-affinity-that-the-scheduler-cannot-read ": preferring(v1.NodeSelectorRequirement{
			Key: "k", Operator: v1.NodeSelectorOpLt, Values: []string{many}}),
		"more-than-any-machine-has":  asking(v1.ResourceMemory, "2Ei"),
		"more-than-any-machine-has ": asking(v1.ResourceCPU, "2Ei"),
		"bytes-that-are-no-text":     func(pod *v1.Pod) { pod.OwnerReferences[0].Name = "\xff" },
		"selectors-too-large":        requiring(v1.NodeSelectorRequirement{Key: "k", Operator: v1.NodeSelectorOpIn, Values: tooMany()}),
		"pod-selector-that-the-scheduler-cannot-read": func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "z",
				WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"k": "-"})}}
		},
	} {
		s := build(n1(), aPod("odd", "n1", change), aPod("waits", "", change), aPod("sound", "n1"))

		for _, uid := range []string{"uid-odd", "uid-waits"} {
			if !s.Pods["uid-odd"].Unsupported {
				t.Errorf("%s: %s is planned for", want, uid)
			}
		}
		if s.Pods["uid-odd"].Immovable != snapshot.Unsupported || s.Pods["uid-sound"].Immovable != "" {
			t.Errorf("%s: the odd pod is immovable for %q, the sound one for %q", want, s.Pods["uid-odd"].Immovable, s.Pods["uid-sound"].Immovable)
		}
		for _, class := range s.Message.PodClasses {
			if class.Id != s.Pods["uid-sound"].Class && strings.Join(class.Unsupported, " ") != strings.TrimSpace(want) {
				t.Errorf("%s: the optimiser gets %v", want, class.Unsupported)
			}
			if class.Requests.MemoryBytes == 0 {
				t.Errorf("%s: the room of class %v is not counted", want, class)
			}
		}
		if _, err := proto.Marshal(s.Message); err != nil {
			t.Errorf("%s: the snapshot cannot be sent: %v", want, err)
		}
	}
}

// The optimiser accepts 64 MiB. A few hundred large objects must not make it unusable.
func TestTheMessageStaysWithinItsLimitWhateverIsInTheCluster(t *testing.T) {
	const key = "example.com/pool"
	large := map[string]string{key: "a", snapshot.HourlyPrice: "0.384"}
	for i := range 2000 {
		large[fmt.Sprintf("example.com/%040d", i)] = fmt.Sprintf("%063d", i)
	}
	input := snapshot.Input{ID: "s", Rules: rules(), Pods: []*v1.Pod{
		aPod("picky", "", func(pod *v1.Pod) { pod.Spec.NodeSelector = map[string]string{key: "a"} })}}
	for i := range 300 {
		node := aNode(fmt.Sprintf("n%d", i), "4", "8Gi")
		node.Labels = large
		pod := aPod(fmt.Sprintf("p%d", i), node.Name, func(pod *v1.Pod) {
			pod.Labels, pod.Spec.NodeSelector = large, map[string]string{fmt.Sprintf("p%d", i): "x"}
		})
		namespace := team(fmt.Sprintf("of-%d", i), "a")
		namespace.Labels = large
		input.Nodes, input.Pods = append(input.Nodes, node), append(input.Pods, pod)
		input.Namespaces = append(input.Namespaces, namespace)
	}
	budget := aBudget("b", "a", 1)
	budget.Spec.Selector.MatchLabels = large
	input.Budgets = []*policyv1.PodDisruptionBudget{budget}

	s := snapshot.Build(input)

	if size := proto.Size(s.Message); size > 48<<20 {
		t.Errorf("the message has %d bytes", size)
	}
	if sent := s.Message.Nodes[0].Labels; len(sent) != 1 || sent[key] != "a" {
		t.Errorf("%d labels of a node are sent, want the one that pods ask for", len(sent))
	}
	if price := s.Message.Nodes[0].HourlyPriceMicros; price != 384_000 {
		t.Errorf("the node costs %d, want what its label says although that is not sent", price)
	}
	if pod := s.Pods["uid-picky"]; pod.Unsupported {
		t.Errorf("pods of ordinary size are not planned for")
	}
}

// A budget that cannot be sent still protects its pods.
func TestABudgetThatIsTooLargeAllowsNothing(t *testing.T) {
	budget := aBudget("b", "a", 1)
	budget.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
		{Key: "other", Operator: metav1.LabelSelectorOpNotIn, Values: tooMany()}}

	s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{aPod("p", "n1")},
		Budgets: []*policyv1.PodDisruptionBudget{budget}, Rules: rules()})

	if s.Pods["uid-p"].Immovable != snapshot.DisruptionBudget || len(s.Message.DisruptionBudgets) != 0 {
		t.Errorf("immovable for %q, %d budgets sent", s.Pods["uid-p"].Immovable, len(s.Message.DisruptionBudgets))
	}
}
