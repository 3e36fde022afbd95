package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/simulation"
)

// figure1 is the paper's: two nodes of 4 GiB, pods of 2, 2 and 3 GiB, the last pending. Beside them: a pod that no
// controller would replace, one with a host port and a waiting one with the same, and two under a budget for one.
func figure1(plans ...*contract.Plan) simulation.Question {
	bare := func(p *v1.Pod) { p.OwnerReferences = nil }
	return question(simulation.Instance{
		Nodes: []v1.Node{node("n1", 4000, 4*gib), node("n2", 4000, 4*gib)},
		Pods: []v1.Pod{
			pod("one", 0, 2*gib, runsOn("n1")), pod("two", 0, 2*gib, runsOn("n2")), pod("three", 0, 3*gib),
			pod("fixed", 0, 0, runsOn("n1"), bare),
			pod("holder", 0, 0, runsOn("n1"), withPort), pod("wants", 0, 0, withPort),
			pod("kept-1", 0, 0, runsOn("n1"), under("kept")), pod("kept-2", 0, 0, runsOn("n1"), under("kept")),
		},
		Objects: []simulation.Object{{Object: testobjects.Budget("kept", "budget", "kept", 1)}},
	}, plans...)
}

func question(instance simulation.Instance, plans ...*contract.Plan) simulation.Question {
	instance.ID = "s1"
	asked := simulation.Question{Instance: instance,
		Arguments: json.RawMessage(`{"evictSingletons": true, "evictNotReady": true}`)}
	for _, one := range plans {
		one.SnapshotId = "s1"
		text, err := protojson.Marshal(one)
		if err != nil {
			panic(err) // plain messages always marshal
		}
		asked.Plans = append(asked.Plans, text)
	}
	return asked
}

// runsOn makes the pod one of a ReplicaSet that runs.
func runsOn(node string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.NodeName, p.Status.Phase = node, v1.PodRunning
		p.OwnerReferences = []metav1.OwnerReference{testobjects.ReplicaSet(p.Name)}
	}
}

func withPort(p *v1.Pod) {
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
}

func under(budget string) func(*v1.Pod) { return func(p *v1.Pod) { p.Labels["budget"] = budget } }

func placed(pod, node string) *contract.Placement {
	return &contract.Placement{PodUid: "default/" + pod, Node: node}
}

func moved(pod, from, to string) *contract.Move {
	return &contract.Move{PodUid: "default/" + pod, FromNode: from, ToNode: to}
}

func evicted(pod, node string) *contract.Eviction {
	return &contract.Eviction{PodUid: "default/" + pod, Node: node}
}

// steps makes a plan of placements, moves and evictions.
func steps(all ...any) *contract.Plan {
	made := &contract.Plan{}
	for _, one := range all {
		switch step := one.(type) {
		case *contract.Placement:
			made.Placements = append(made.Placements, step)
		case *contract.Move:
			made.Moves = append(made.Moves, step)
		case *contract.Eviction:
			made.Evictions = append(made.Evictions, step)
		}
	}
	return made
}

func answered(t *testing.T, asked simulation.Question) simulation.Answer {
	t.Helper()
	answer := testobjects.Value(simulatorOf(t, profileFolder+"/deterministic.yaml").Answer(context.Background(), asked))(t)
	return answer
}

// TestTheBestPlanOfFigure1IsAccepted, and so is one that does nothing.
func TestTheBestPlanOfFigure1IsAccepted(t *testing.T) {
	best := steps(placed("three", "n1"), moved("one", "n1", "n2"))

	for i, verdict := range answered(t, figure1(best, steps())).Verdicts {
		if !verdict.Accepted || verdict.Reason != "" {
			t.Errorf("plan %d: %+v", i, verdict)
		}
	}
}

// TestAPlanIsRefusedForWhatTheQuestionSays: for its budgets, its policy and what it forbids, with the plan's own reasons.
// The paper's policy trades pods of equal priority.
func TestAPlanIsRefusedForWhatTheQuestionSays(t *testing.T) {
	best, trade := moved("one", "n1", "n2"), steps(placed("three", "n1"), placed("wants", "n2"), evicted("one", "n1"))
	for name, row := range map[string]struct {
		plan   *contract.Plan
		policy config.Policy
		want   plan.Reason
	}{
		"a pair that it forbids":   {steps(placed("three", "n2"), moved("two", "n2", "n1")), "", plan.ForbiddenPair},
		"a budget":                 {steps(placed("three", "n1"), best, moved("kept-1", "n1", "n2"), moved("kept-2", "n1", "n2")), "", plan.OverBudget},
		"a trade":                  {trade, "", plan.UnjustEviction},
		"a trade, and the paper's": {trade, config.PolicyPaper, ""},
	} {
		asked := figure1(row.plan)
		asked.Forbidden, asked.Policy = []simulation.ForbiddenPair{{Pod: "default/three", Node: "n2"}}, row.policy

		verdict := answered(t, asked).Verdicts[0]

		if verdict.Accepted != (row.want == "") || verdict.Reason != string(row.want) || (verdict.Detail == "") != verdict.Accepted {
			t.Errorf("%s: %+v", name, verdict)
		}
	}
}

// TestAPluginOfTheProfileCanRefuse on what the contract's own rules let through.
func TestAPluginOfTheProfileCanRefuse(t *testing.T) {
	picky := pod("picky", 0, 0, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	asked := figure1(steps(placed("wants", "n1"), placed("picky", "n2")))
	asked.Pods = append(asked.Pods, picky)

	verdict := answered(t, asked).Verdicts[0]

	if verdict.Accepted || verdict.Reason != "rehearsal" ||
		!slices.Equal(verdict.Plugins, []string{"NodePorts", "NodeAffinity"}) ||
		!slices.Equal(verdict.Pods, []string{"default/wants", "default/picky"}) {
		t.Errorf("want refusals of NodePorts and NodeAffinity, got %+v", verdict)
	}
}

// TestTheSnapshotIsWhatThePluginWouldSend: everything that verdicts depend on must be in it, volumes included, and nothing
// that the scheduler does not see.
func TestTheSnapshotIsWhatThePluginWouldSend(t *testing.T) {
	asked := figure1()
	asked.Forbidden = []simulation.ForbiddenPair{{Pod: "default/three", Node: "n2"}}
	done := pod("done", 0, 0, runsOn("n1"))
	done.Status.Phase = v1.PodSucceeded
	mounts := pod("mounts", 0, 0, func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone",
				LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{}}}}}
	})
	asked.Pods = append(asked.Pods, done, mounts)
	asked.Objects = append(asked.Objects, boundClaim("data", "n2")...)

	message := &contract.Snapshot{}
	testobjects.Must(t, protojson.Unmarshal(answered(t, asked).Snapshot, message))

	classes, pods := map[string]*contract.PodClass{}, map[string]*contract.Pod{}
	for _, class := range message.PodClasses {
		classes[class.Id] = class
	}
	for _, pod := range message.Pods {
		pods[pod.Name] = pod
	}
	if pods["done"] != nil || pods["fixed"].ImmovableReason != "bare" || !pods["one"].Movable {
		t.Errorf("pods = %v", message.Pods)
	}
	class := classes[pods["mounts"].ClassId]
	if len(class.Unsupported) != 0 || len(class.VolumeNodeAffinity) != 1 {
		t.Errorf("the class with a volume = %v", class)
	}
	if apart := class.RequiredPodAntiAffinity; len(apart) != 1 || !slices.Equal(apart[0].Namespaces, []string{"default"}) {
		t.Errorf("anti-affinity to pods of all namespaces = %v", apart)
	}
	if len(message.DisruptionBudgets) != 1 || len(message.ForbiddenPairs) != 1 {
		t.Errorf("budgets, forbidden pairs = %v, %v", message.DisruptionBudgets, message.ForbiddenPairs)
	}
}

// boundClaim is a claim that is bound to a volume on the node.
func boundClaim(name, node string) []simulation.Object {
	storage := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	terms := []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}
	return []simulation.Object{
		{Object: &v1.PersistentVolumeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: v1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name, AccessModes: modes,
				Resources: v1.VolumeResourceRequirements{Requests: storage}},
			Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}}},
		{Object: &v1.PersistentVolume{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
			ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
			Spec: v1.PersistentVolumeSpec{Capacity: storage, AccessModes: modes,
				NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}}}},
	}
}

// TestAQuestionWithAnErrorNamesItsLine, and the others are answered.
func TestAQuestionWithAnErrorNamesItsLine(t *testing.T) {
	var out bytes.Buffer
	lines := []string{goodLine, `{"id":`, strings.Replace(emptyLine, `"pods"`, `"plans":[{"colour":1}],"pods"`, 1),
		strings.Replace(emptyLine, `"pods"`, `"policy":"Lax","forbidden":[{"pod":"a","node":"b"}],"pods"`, 1)}

	failed, err := simulatorOf(t, profileFolder+"/deterministic.yaml").StreamAnswers(
		context.Background(), strings.NewReader(strings.Join(lines, "\n")), &out)

	if err != nil || failed != 3 {
		t.Fatalf("%d failed, %v", failed, err)
	}
	decoder := json.NewDecoder(&out)
	for i, wants := range [][]string{nil, {"line 2"}, {"line 3", "plans[0]: not a plan"},
		{"line 4", `policy: "Lax"`, `forbidden[0].pod: the instance has no pod "a"`, `forbidden[0].node`}} {
		var answer simulation.Answer
		testobjects.Must(t, decoder.Decode(&answer))
		if (answer.Error == "") != (wants == nil) {
			t.Errorf("line %d: %q", i+1, answer.Error)
		}
		for _, want := range wants {
			if !strings.Contains(answer.Error, want) {
				t.Errorf("line %d: want %s in %q", i+1, want, answer.Error)
			}
		}
	}
}
