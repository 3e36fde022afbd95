package snapshot_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Room is counted as the scheduler counts it, or plans would overcommit nodes.
func TestRequestsAreCountedAsTheSchedulerCountsThem(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	memory := func(amount string) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse(amount)}}
	}
	pod := aPod("p", "n1", func(pod *v1.Pod) {
		pod.Spec.InitContainers = []v1.Container{
			{Name: "sidecar", RestartPolicy: &always, Resources: memory("1Gi")},
			{Name: "init", Resources: memory("3Gi")},
		}
		pod.Spec.Overhead = v1.ResourceList{v1.ResourceMemory: resource.MustParse("1Gi")}
	})

	taken := build(n1(), pod)

	// The init container runs beside the sidecar before the 1 GiB container: 1 + 3 + overhead 1.
	if got, want := taken.Nodes["n1"].Used.Of(v1.ResourceMemory), int64(5<<30); got != want {
		t.Errorf("memory in use = %d, want %d", got, want)
	}
}

// Pods that take room are counted; those that do not, or are not this scheduler's to place, are left out.
func TestEveryPodThatTakesRoomIsCounted(t *testing.T) {
	now := metav1.Now()
	terminating := func(pod *v1.Pod) { pod.DeletionTimestamp = &now }
	foreign := func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }
	cases := map[string]struct {
		pod  *v1.Pod
		want string
	}{
		"running":             {aPod("p", "n1"), `node "n1", immovable ""`},
		"pending":             {aPod("p", ""), `node "", immovable ""`},
		"finished":            {aPod("p", "n1", func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded }), "not in the snapshot"},
		"failed":              {aPod("p", "n1", func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }), "not in the snapshot"},
		"terminating":         {aPod("p", "n1", terminating), `node "n1", immovable "terminating"`},
		"pending terminating": {aPod("p", "", terminating), "not in the snapshot"},
		"pending foreign":     {aPod("p", "", foreign), "not in the snapshot"},
		"running foreign":     {aPod("p", "n1", foreign), `node "n1", immovable "foreign-scheduler"`},
		"gated": {aPod("p", "", func(p *v1.Pod) {
			p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}}
		}), "not in the snapshot"},
		"on a node that is gone": {aPod("p", "n9"), "not in the snapshot"},
	}
	for name, c := range cases {
		got := describe(build(n1(), c.pod).Pods[c.pod.UID])
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// A plan for which nobody waits has time: the pods of a budget can leave one after the other. A spent budget says that its
// pods are short already.
func TestABudgetThatAllowsADisruptionAllowsAllInTurn(t *testing.T) {
	pods := []*v1.Pod{aPod("p", "n1"), aPod("q", "n1"), aPod("r", "n1")}
	for text, row := range map[string]struct {
		inTurn        bool
		allowed, want int32
		movable       int
	}{
		"at once":            {false, 1, 1, 3},
		"in turn":            {true, 1, 3, 3},
		"in turn, but spent": {true, 0, 0, 0},
	} {
		applied := rules()
		applied.InTurn = row.inTurn

		s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: pods,
			Budgets: []*policyv1.PodDisruptionBudget{aBudget("a", "a", row.allowed)}, Rules: applied})

		movable := 0
		for _, pod := range s.Pods {
			if pod.Immovable == "" {
				movable++
			}
			if pod.Budgets[0].Allowed != row.want {
				t.Errorf("%s: the budget allows %d, want %d", text, pod.Budgets[0].Allowed, row.want)
			}
		}
		if told := s.Message.DisruptionBudgets[0].DisruptionsAllowed; told != row.want || movable != row.movable {
			t.Errorf("%s: the optimiser is told of %d; %d pods are movable", text, told, movable)
		}
	}
}

// Between Reserve and the informer's update a pod already takes its room.
func TestPodsBeingBoundTakeTheirRoom(t *testing.T) {
	pod := aPod("p", "")

	s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{pod},
		Reserved: map[types.UID]string{pod.UID: "n1"}, Rules: rules()})

	if got, want := describe(s.Pods[pod.UID]), `node "n1", immovable "binding"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.Pending() != 0 || s.Nodes["n1"].Used.Of(v1.ResourcePods) != 1 {
		t.Errorf("the pod does not take its room: pending %d, used %+v", s.Pending(), s.Nodes["n1"].Used)
	}
}

// A replacement must match the place of the pod that it replaces, and an equal state must be recognised.
func TestClassAndFingerprintDoNotDependOnNames(t *testing.T) {
	nodes := []*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "8Gi")}

	one := build(nodes, aPod("a", "n1"), aPod("b", "n2"), aPod("c", ""))
	two := build(nodes, aPod("x", "n2"), aPod("y", "n1"), aPod("z", ""))
	other := build(nodes, aPod("x", "n1"), aPod("y", "n1"), aPod("z", ""))

	if one.Pods["uid-a"].Class != two.Pods["uid-z"].Class {
		t.Error("the class depends on a pod's name")
	}
	if one.Fingerprint() != two.Fingerprint() {
		t.Error("the fingerprint depends on pods' names")
	}
	if one.Fingerprint() == other.Fingerprint() {
		t.Error("two states have one fingerprint")
	}
}

// The state that a plan leads to is known before it is reached, so that no further solve is made for it.
func TestFingerprintAfterIsThatOfTheStateReached(t *testing.T) {
	nodes := []*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "8Gi")}
	before := build(nodes, aPod("a", "n1"), aPod("b", "n2"), aPod("c", ""))

	reached := build(nodes, aPod("a2", "n2"), aPod("b2", ""), aPod("c", "n1"))
	predicted := before.FingerprintAfter(map[types.UID]string{"uid-a": "n2", "uid-b": "", "uid-c": "n1"})

	if predicted != reached.Fingerprint() {
		t.Error("the predicted fingerprint is not that of the state reached")
	}
}

// What may change an answer changes the fingerprint, constraints included: when a workload has cooled down, or a claim is
// bound, there is another solve. What changes none, as the deletion of a budget that covers no pods, must not cause one.
func TestWhatMayChangeAnAnswerChangesTheFingerprint(t *testing.T) {
	pods := []*v1.Pod{aPod("runs", "n1", mounting("c")), aPod("waits", ""), aPod("apart", "", func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone",
				NamespaceSelector: metav1.SetAsLabelSelector(map[string]string{"team": "a"})}}}}
	})}
	bound := disks{map[string]*v1.PersistentVolumeClaim{"c": aClaim("v")}, map[string]*v1.PersistentVolume{"v": {}}}
	after := func(change func(*snapshot.Input), then func(*snapshot.Snapshot)) string {
		in := snapshot.Input{Nodes: n1(), Pods: pods, Volumes: bound, Namespaces: []*v1.Namespace{team("blue", "a")}, Rules: rules(),
			Budgets: []*policyv1.PodDisruptionBudget{aBudget("b", "a", 1), aBudget("c", "uncovered", 1)}}
		change(&in)
		s := snapshot.Build(in)
		then(s)
		return s.Fingerprint()
	}
	asBefore, nothing := func(*snapshot.Input) {}, func(*snapshot.Snapshot) {}
	plain := after(asBefore, nothing)
	for name, change := range map[string]func(*snapshot.Input){
		"taint": func(in *snapshot.Input) {
			in.Nodes[0].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
		},
		"cordon":                    func(in *snapshot.Input) { in.Nodes[0].Spec.Unschedulable = true },
		"label":                     func(in *snapshot.Input) { in.Nodes[0].Labels = map[string]string{"k": "v"} },
		"price":                     func(in *snapshot.Input) { in.Nodes[0].Labels = map[string]string{snapshot.HourlyPrice: "0.384"} },
		"allocatable":               func(in *snapshot.Input) { in.Nodes[0].Status.Allocatable[v1.ResourceCPU] = resource.MustParse("5") },
		"being deleted":             func(in *snapshot.Input) { in.Nodes[0].DeletionTimestamp = &metav1.Time{} },
		"a claim that is not bound": func(in *snapshot.Input) { in.Volumes = disks{} },
		"a namespace's labels":      func(in *snapshot.Input) { in.Namespaces[0].Labels["team"] = "b" },
		"what a budget allows":      func(in *snapshot.Input) { in.Budgets[0].Status.DisruptionsAllowed = 2 },
	} {
		if after(change, nothing) == plain {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
	for name, then := range map[string]func(*snapshot.Snapshot){
		"a pin":                  func(s *snapshot.Snapshot) { s.Pin("uid-runs", snapshot.CoolingDown) },
		"a forbidden pair":       func(s *snapshot.Snapshot) { s.Forbid(s.Pods["uid-waits"].Class, "n1") },
		"a pod that is left out": func(s *snapshot.Snapshot) { s.Drop("uid-waits") },
	} {
		if after(asBefore, then) == plain {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
	uncovered := func(in *snapshot.Input) { in.Budgets[1].Status.DisruptionsAllowed = 2 }
	if after(asBefore, nothing) != plain || after(uncovered, nothing) != plain {
		t.Error("two looks at one state, or a budget that covers no pods, change the fingerprint")
	}
}

// Whoever may label nodes writes prices by hand. One that makes no sense must not cost the node its place in the snapshot.
func TestAPriceThatMakesNoSenseIsNotTold(t *testing.T) {
	for told, want := range map[string]int64{
		"0.384": 384_000, "24": 24_000_000, "384m": 384_000, "0.0000001": 1, "8796093": 8_796_093_000_000,
		"": 0, "0": 0, "-1": 0, "cheap": 0, "0,384": 0, "8796094": 0, "1e30": 0, "1e-30": 1,
	} {
		node := aNode("n1", "4", "8Gi")
		node.Labels = map[string]string{snapshot.HourlyPrice: told}

		sent := build([]*v1.Node{node}).Message.Nodes[0]

		if sent.HourlyPriceMicros != want || sent.Allocatable.CpuMilli != 4000 {
			t.Errorf("%q is %d millionths, want %d", told, sent.HourlyPriceMicros, want)
		}
	}
}

// Every constraint of the scheduler's that the contract knows reaches the optimiser, and so do preferences, by which it
// breaks ties.
func TestConstraintsReachTheMessage(t *testing.T) {
	domains, selector := int32(2), metav1.SetAsLabelSelector(map[string]string{"app": "a"})
	term := v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: "zone",
		NamespaceSelector: metav1.SetAsLabelSelector(map[string]string{"team": "x"})}
	weighted := v1.WeightedPodAffinityTerm{Weight: 7, PodAffinityTerm: term}
	pod := aPod("p", "", func(p *v1.Pod) {
		p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		p.Spec.Tolerations = []v1.Toleration{{Key: "k", Value: "v", Effect: v1.TaintEffectNoSchedule}}
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 80, Protocol: v1.ProtocolTCP}}
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
			WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector, MinDomains: &domains}}
		p.Spec.Affinity = &v1.Affinity{
			NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
					{MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}}},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 5, Preference: v1.NodeSelectorTerm{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: "disk", Operator: v1.NodeSelectorOpExists}}}}}},
			PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{weighted}},
			PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{weighted, weighted}},
		}
	})

	s := snapshot.Build(snapshot.Input{Pods: []*v1.Pod{pod}, Namespaces: []*v1.Namespace{team("blue", "x")}, Rules: rules()})

	class := s.Message.PodClasses[0]
	if class.NodeSelector["disk"] != "ssd" || class.Tolerations[0].Operator != "Equal" || class.HostPorts[0].Port != 80 ||
		class.TopologySpread[0].MinDomains != 2 || class.RequiredNodeAffinity[0].MatchFields[0].Values[0] != "n1" {
		t.Errorf("a constraint is missing in %v", class)
	}
	if got := class.RequiredPodAntiAffinity[0].Namespaces; len(got) != 1 || got[0] != "blue" {
		t.Errorf("namespaces of the anti-affinity = %v, want those its selector matches", got)
	}
	if nodes, pods := class.PreferredNodeAffinity, class.PreferredPodAffinity; len(nodes) != 1 || nodes[0].Weight != 5 ||
		nodes[0].Term.MatchExpressions[0].Key != "disk" || len(pods) != 1 || pods[0].Weight != 7 ||
		pods[0].Term.TopologyKey != "zone" || len(class.PreferredPodAntiAffinity) != 2 {
		t.Errorf("preferred nodes = %v, pods = %v, apart = %v", nodes, pods, class.PreferredPodAntiAffinity)
	}
}

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
		// waiting are the cluster's waiting pods, omitted those of them that no plan can place.
		waiting, omitted int
	}{
		"all is there":           {waiting: 1},
		"protected by the rules": {input: snapshot.Input{Pods: []*v1.Pod{aPod("d", "n1", ownedBy("DaemonSet"), needy), aPod("y", "n1", func(pod *v1.Pod) { pod.Status.Phase = v1.PodPending })}}, waiting: 1},
		"a budget that is spent": {input: snapshot.Input{Budgets: []*policyv1.PodDisruptionBudget{aBudget("b", "a", 0)}}, waiting: 1},
		"untried": {input: snapshot.Input{Untried: []*v1.Pod{aPod("u", ""), aPod("v", "", priority(7)),
			aPod("of-another", "", func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" })}},
			want: []string{"2 waiting pods that the scheduler has yet to try"}, waiting: 3, omitted: 2},
		"unsupported": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", needy), aPod("r", "n1", needy)}},
			want:    []string{"1 running pods that stay, since they need what no plan can give", "1 waiting pods that need what no plan can give"},
			waiting: 2, omitted: 1},
		"too large": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", large), aPod("r", "n1", large, ownedBy("DaemonSet"))}},
			want: []string{"2 pods whose class could not be sent"}, waiting: 2, omitted: 1},
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
			want: []string{"1 waiting pods that are left to another plan or to the scheduler"}, waiting: 1, omitted: 1},
		"unsupported and dropped": {input: snapshot.Input{Pods: []*v1.Pod{aPod("u", "", needy)}},
			then: func(s *snapshot.Snapshot) { s.Drop("uid-u") }, want: []string{"1 waiting pods that need what no plan can give"}, waiting: 2, omitted: 1},
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
		for _, one := range s.Omissions() {
			got = append(got, one.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: left aside %q, want %q", name, got, c.want)
		}
		if waiting, omitted := s.WaitingFrom(math.MinInt32), s.WaitingOmitted(); waiting != c.waiting || omitted != c.omitted {
			t.Errorf("%s: %d wait, %d of them omitted; want %d, %d", name, waiting, omitted, c.waiting, c.omitted)
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
