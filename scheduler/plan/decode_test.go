package plan_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// figureOne is the paper's figure 1: two nodes of 4 GB, pods of 2, 2 and 3 GB, the last pending.
// Beside them: a cordoned node, a pod that may not be moved, one no plan can place, and two under a budget for one.
func figureOne() *snapshot.Snapshot {
	cordoned := node("n3")
	cordoned.Spec.Unschedulable = true
	kept := func(p *v1.Pod) { p.Labels = map[string]string{"kept": "yes"} }
	return snapshot.Build(snapshot.Input{
		ID:    "s1",
		Nodes: []*v1.Node{node("n1"), node("n2"), cordoned},
		Pods: []*v1.Pod{
			pod("one", "n1", "2G", 0), pod("two", "n2", "2G", 0), pod("three", "", "3G", 0),
			pod("fixed", "n1", "0", 0, func(p *v1.Pod) { p.OwnerReferences = nil }),
			pod("claim", "", "0", 0, func(p *v1.Pod) {
				p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
			}),
			pod("kept-1", "n2", "0", 0, kept), pod("kept-2", "n2", "0", 0, kept),
		},
		Budgets: []*policyv1.PodDisruptionBudget{testobjects.Budget("kept", "kept", "yes", 1)},
		Rules:   snapshot.Rules{SchedulerName: "default-scheduler"},
	})
}

func node(name string) *v1.Node {
	return testobjects.Node(name, "4", "4G").Capacity(map[v1.ResourceName]string{
		v1.ResourceCPU: "4", v1.ResourceMemory: "4G", v1.ResourcePods: "4"}).Obj()
}

func pod(name, on, memory string, priority int32, changes ...func(*v1.Pod)) *v1.Pod {
	pod := testobjects.Pod(name, "", memory).Node(on).Priority(priority).Phase(v1.PodRunning).Obj()
	return testobjects.With(pod, changes...)
}

func placements(pairs ...string) (list []*contract.Placement) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &contract.Placement{PodUid: pairs[i], Node: pairs[i+1]})
	}
	return list
}

func moves(triples ...string) (list []*contract.Move) {
	for i := 0; i < len(triples); i += 3 {
		list = append(list, &contract.Move{PodUid: triples[i], FromNode: triples[i+1], ToNode: triples[i+2]})
	}
	return list
}

func evictions(pairs ...string) (list []*contract.Eviction) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, &contract.Eviction{PodUid: pairs[i], Node: pairs[i+1]})
	}
	return list
}

// The plan of the paper's figure is accepted.
func TestGoodPlanIsDecoded(t *testing.T) {
	message := &contract.Plan{SnapshotId: "s1",
		Placements: placements("three", "n2"), Moves: moves("two", "n2", "n1")}

	got, err := plan.Decode(message, figureOne(), plan.Strict)

	testobjects.Must(t, err)
	after := got.NodesAfter()
	if after["two"] != "n1" || after["three"] != "n2" || len(after) != 2 {
		t.Errorf("plan = %+v, nodes after = %v", got, after)
	}
}

// No plan, and a plan without steps, both say that nothing is to be done.
func TestEmptyPlanIsNoRefusal(t *testing.T) {
	for _, message := range []*contract.Plan{nil, {SnapshotId: "s1"}} {
		got, err := plan.Decode(message, figureOne(), plan.Strict)

		if err != nil || !got.Empty() {
			t.Errorf("Decode(%v) = %+v, %v; want an empty plan", message, got, err)
		}
	}
}

// reasonOf is why the plan was refused; "" if it was not.
func reasonOf(t *testing.T, err error) plan.Reason {
	t.Helper()
	var refused *plan.RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("%v, want a typed refusal", err)
	}
	if refused == nil {
		return ""
	}
	return refused.Reason
}

// Each way in which a plan can be wrong has its own reason, and none is accepted.
func TestBadPlansAreRefusedWithTheirReason(t *testing.T) {
	good := moves("two", "n2", "n1")
	cases := map[string]struct {
		message *contract.Plan
		want    plan.Reason
	}{
		"old snapshot":     {&contract.Plan{SnapshotId: "s0", Placements: placements("three", "n2"), Moves: good}, plan.WrongSnapshot},
		"unknown pod":      {&contract.Plan{Placements: placements("four", "n2")}, plan.UnknownPod},
		"unknown node":     {&contract.Plan{Placements: placements("three", "n9")}, plan.UnknownNode},
		"empty node":       {&contract.Plan{Placements: placements("three", "")}, plan.UnknownNode},
		"cordoned node":    {&contract.Plan{Placements: placements("three", "n3")}, plan.NodeUnschedulable},
		"forbidden pair":   {&contract.Plan{Placements: placements("three", "n1")}, plan.ForbiddenPair},
		"pod twice":        {&contract.Plan{Placements: placements("three", "n2", "three", "n2")}, plan.DuplicatePod},
		"moved and gone":   {&contract.Plan{Moves: good, Evictions: evictions("two", "n2")}, plan.DuplicatePod},
		"placed but runs":  {&contract.Plan{Placements: placements("one", "n2")}, plan.NotPending},
		"moved but waits":  {&contract.Plan{Moves: moves("three", "n1", "n2")}, plan.NotRunning},
		"wrong from":       {&contract.Plan{Moves: moves("two", "n1", "n2")}, plan.WrongNode},
		"moved to itself":  {&contract.Plan{Moves: moves("two", "n2", "n2")}, plan.SameNode},
		"immovable":        {&contract.Plan{Evictions: evictions("fixed", "n1")}, plan.Immovable},
		"unsupported":      {&contract.Plan{Placements: placements("claim", "n1")}, plan.UnsupportedPod},
		"too little room":  {&contract.Plan{Placements: placements("three", "n2")}, plan.OverCapacity},
		"budget overdrawn": {&contract.Plan{Moves: moves("kept-1", "n2", "n1", "kept-2", "n2", "n1")}, plan.OverBudget},
		"moves for naught": {&contract.Plan{Moves: good}, plan.NotBetter},
		"equal trade": {&contract.Plan{Placements: placements("three", "n2"), Evictions: evictions("two", "n2")},
			plan.NotBetter},
		"too large": {&contract.Plan{Placements: make([]*contract.Placement, 4001)}, plan.TooLarge},
		"nil steps": {&contract.Plan{Placements: []*contract.Placement{nil}, Moves: []*contract.Move{nil}}, plan.UnknownPod},
	}
	for name, c := range cases {
		if c.message.SnapshotId == "" {
			c.message.SnapshotId = "s1"
		}
		s := figureOne()
		s.Forbid(s.Pods["three"].Class, "n1")
		_, err := plan.Decode(c.message, s, plan.Strict)

		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%s: %q, want a refusal for %s", name, got, c.want)
		}
	}
}

// What is worth a disruption depends on the policy, and on priorities alone.
func TestAPlanMustBeWorthItsDisruptions(t *testing.T) {
	equals := []*v1.Pod{pod("big", "n1", "4G", 5), pod("small-1", "", "2G", 5), pod("small-2", "", "2G", 5), pod("vip", "", "1G", 9)}
	trade := contract.Plan{Placements: placements("small-1", "n1", "small-2", "n1"), Evictions: evictions("big", "n1")}
	lower := []*v1.Pod{pod("high", "n1", "4G", 5), pod("low-1", "", "2G", 1), pod("low-2", "", "2G", 1)}
	mixed := []*v1.Pod{pod("high", "n1", "2G", 5), pod("next", "", "1G", 5), pod("low", "", "3G", 1)}
	running := []*v1.Pod{pod("runs", "n2", "2G", 0)}
	proud := []*v1.Pod{pod("low", "n1", "3G", 0), pod("polite", "", "3G", 5, func(p *v1.Pod) { p.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever) }), pod("pushy", "", "3G", 5)}
	full := []*v1.Pod{pod("a", "n1", "0", 0), pod("b", "n1", "0", 0), pod("c", "n1", "0", 0), pod("d", "n1", "0", 0),
		pod("fifth", "", "0", 0)}
	for name, c := range map[string]struct {
		pods    []*v1.Pod
		message *contract.Plan
		policy  plan.Policy
		want    plan.Reason
	}{
		// Only strictly higher priority justifies an eviction, unless the paper's own policy is asked for.
		"equal priorities, paper":        {equals, &trade, plan.Paper, ""},
		"equal priorities, strict":       {equals, &trade, plan.Strict, plan.UnjustEviction},
		"for a pod of higher priority":   {equals, &contract.Plan{Placements: placements("vip", "n1"), Evictions: evictions("big", "n1")}, plan.Strict, ""},
		"a gain that costs a higher one": {lower, &contract.Plan{Placements: placements("low-1", "n1", "low-2", "n1"), Evictions: evictions("high", "n1")}, plan.Paper, plan.NotBetter},
		// preemptionPolicy Never: such a pod takes what is free.
		"for a pod that never preempts": {proud, &contract.Plan{Placements: placements("polite", "n1"), Evictions: evictions("low", "n1")}, plan.Strict, plan.UnjustEviction},
		"for one that does":             {proud, &contract.Plan{Placements: placements("pushy", "n1"), Evictions: evictions("low", "n1")}, plan.Strict, ""},
		// In each tier, the fewest disruptions are second to the most pods: no pod of a higher priority is moved only for
		// pods of lower ones.
		"moved for lower ones alone": {mixed, &contract.Plan{Placements: placements("low", "n1"), Moves: moves("high", "n1", "n2")}, plan.Strict, plan.NotBetter},
		"moved for its equals too":   {mixed, &contract.Plan{Placements: placements("low", "n1", "next", "n2"), Moves: moves("high", "n1", "n2")}, plan.Strict, ""},
		// To empty a node, pods may be moved although no pod is gained, but no pod may be displaced.
		"a move that empties a node":      {running, &contract.Plan{Moves: moves("runs", "n2", "n1")}, plan.Consolidate, ""},
		"one that is not asked for":       {running, &contract.Plan{Moves: moves("runs", "n2", "n1")}, plan.Strict, plan.NotBetter},
		"an eviction that empties a node": {running, &contract.Plan{Evictions: evictions("runs", "n2")}, plan.Consolidate, plan.UnjustEviction},
		// Where a pod goes that another scheduler places is for that one to say.
		"a pod that another scheduler places": {running, &contract.Plan{Moves: moves("runs", "n2", "anywhere")}, plan.Drain, ""},
		"one that it would not place":         {running, &contract.Plan{Evictions: evictions("runs", "n2")}, plan.Drain, plan.UnjustEviction},
		"the number of pods is a room":        {full, &contract.Plan{Placements: placements("fifth", "n1")}, plan.Strict, plan.OverCapacity},
	} {
		s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1"), node("n2")}, Pods: c.pods,
			Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
		c.message.SnapshotId = "s1"
		_, err := plan.Decode(c.message, s, c.policy)

		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A cordon is a taint like any other: a pod that tolerates it may be placed there, or no plan for it would ever pass. No
// pod may be placed on a node that is being deleted.
func TestCordonedNodesTakePodsThatTolerateIt(t *testing.T) {
	cordoned, leaving := node("n1"), node("n2")
	cordoned.Spec.Unschedulable = true
	leaving.DeletionTimestamp = &metav1.Time{}
	everything := func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{cordoned, leaving},
		Pods:  []*v1.Pod{pod("tough", "", "1G", 0, everything), pod("tender", "", "1G", 0)},
		Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
	for pair, want := range map[[2]string]plan.Reason{
		{"tough", "n1"}: "", {"tender", "n1"}: plan.NodeUnschedulable, {"tough", "n2"}: plan.ForbiddenPair,
	} {
		_, err := plan.Decode(&contract.Plan{SnapshotId: "s1", Placements: placements(pair[0], pair[1])}, s, plan.Strict)

		if got := reasonOf(t, err); got != want {
			t.Errorf("%s on %s: %q, want %q", pair[0], pair[1], got, want)
		}
	}
	if open, leaving := s.Message.Nodes[0].Allocatable, s.Message.Nodes[1].Allocatable; open.Pods == 0 || leaving.Pods != 0 {
		t.Errorf("the optimiser gets room for %d pods on n1 and %d on n2, want none on n2", open.Pods, leaving.Pods)
	}
}

// A node that has changed may reject the pod for any reason, which the plan could not know. A node may also be deleted
// and created again between two snapshots, for instance when another scheduler takes over: no reason to crash.
func TestPlanForAChangedNodeIsRefused(t *testing.T) {
	before, empty := figureOne(), snapshot.Build(snapshot.Input{ID: "s1"})
	decoded, err := plan.Decode(&contract.Plan{SnapshotId: "s1", Placements: placements("three", "n2"),
		Moves: moves("two", "n2", "n1")}, before, plan.Strict)
	testobjects.Must(t, err)
	n2 := node("n2")
	n2.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	tainted := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1"), n2}})
	for name, c := range map[string]struct {
		before, now *snapshot.Snapshot
		want        plan.Reason
	}{
		"unchanged": {before, figureOne(), ""},
		"tainted":   {before, tainted, plan.NodeChanged},
		"gone":      {before, empty, plan.NodeChanged},
		"new":       {empty, before, plan.NodeChanged},
		"never":     {empty, empty, plan.NodeChanged},
	} {
		if got := reasonOf(t, plan.CheckNodesUnchanged(decoded, c.before, c.now)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

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

// Limits, and moves that undo earlier ones, keep a unit back as a whole; and each pod is known to be of one unit.
func TestUnitIsTakenWholeOrNotAtAll(t *testing.T) {
	s, message := fourRunningPods(), allMove()
	s.Pods["a2"].Class = s.Pods["a1"].Class
	for _, move := range message.Moves {
		move.Unit = "a"
	}
	checked := testobjects.Value(plan.Decode(message, s, plan.Strict))(t)
	back := plan.Moved{Owner: "rs-a", Class: s.Pods["a1"].Class, From: "n3", To: "n1"}

	excess, returns := checked.Beyond(plan.Limits{Moves: 1, PerNode: 1}), checked.Returns([]plan.Moved{back})
	message.Moves[1].Unit = "b"
	_, err := plan.Decode(message, s, plan.Strict)

	if len(excess) != 2 || excess[0].Pod.Object.Name != "a1" || excess[1].Pod.Object.Name != "a2" || len(returns) != 2 {
		t.Errorf("beyond the limits %v, taken back %v", excess, returns)
	}
	if got := reasonOf(t, err); got != plan.MixedUnits {
		t.Errorf("two pods alike in two units: %q", got)
	}
}

// Whatever bytes the optimiser sends, the decoder returns a typed refusal or a plan that no
// node is too small for; it never panics.
func FuzzDecode(f *testing.F) {
	for _, message := range []*contract.Plan{
		{SnapshotId: "s1", Placements: placements("three", "n2"), Moves: moves("two", "n2", "n1")},
		{SnapshotId: "s1", Evictions: evictions("one", "n1")},
		{SnapshotId: "s1", Placements: placements("three", "n9")},
		{SnapshotId: "other"},
	} {
		encoded, err := proto.Marshal(message)
		testobjects.Must(f, err)
		f.Add(encoded, true)
	}
	f.Fuzz(func(t *testing.T, encoded []byte, strict bool) {
		var message contract.Plan
		if proto.Unmarshal(encoded, &message) != nil {
			return
		}
		policy := plan.Paper
		if strict {
			policy = plan.Strict
		}
		s := figureOne()

		decoded, err := plan.Decode(&message, s, policy)

		if err != nil {
			var refused *plan.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("untyped refusal: %v", err)
			}
			return
		}
		used := map[string]resources.Vector{}
		after := decoded.NodesAfter()
		for uid, pod := range s.Pods {
			on := pod.Node
			if changed, ok := after[uid]; ok {
				on = changed
			}
			used[on] = used[on].Plus(pod.Requests)
		}
		for name, node := range s.Nodes {
			if !used[name].FitsIn(node.Allocatable) {
				t.Fatalf("node %s is too small for an accepted plan: %v", name, &message)
			}
		}
	})
}

// One pod of eight GPUs is more than two of one, where devices are counted; a plan of the optimiser must be better by what
// it was asked to maximize.
func TestAPlanIsBetterByWhatItMaximizes(t *testing.T) {
	eightForTwo := contract.Plan{SnapshotId: "s1", Placements: placements("eight", "n1"), Evictions: evictions("one", "n1", "other", "n1")}
	twoForEight := contract.Plan{SnapshotId: "s1", Placements: placements("one", "n1", "other", "n1"), Evictions: evictions("eight", "n1")}
	for name, c := range map[string]struct {
		message *contract.Plan
		devices bool
		want    plan.Reason
	}{
		"eight for two, devices": {&eightForTwo, true, ""}, "eight for two, pods": {&eightForTwo, false, plan.NotBetter},
		"two for eight, devices": {&twoForEight, true, plan.NotBetter}, "two for eight, pods": {&twoForEight, false, ""},
	} {
		runs := map[*contract.Plan][2]string{&eightForTwo: {"", "n1"}, &twoForEight: {"n1", ""}}[c.message]
		s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1")}, Rules: snapshot.Rules{
			SchedulerName: "default-scheduler", CountsDevices: c.devices}, Pods: []*v1.Pod{
			pod("eight", runs[0], "4G", 0), pod("one", runs[1], "2G", 0), pod("other", runs[1], "2G", 0)}})
		if c.devices {
			s.Pods["eight"].Worth, s.Pods["one"].Worth, s.Pods["other"].Worth = 800, 100, 100
		}
		_, err := plan.Decode(c.message, s, plan.Paper)

		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// sharing has two nodes whose two devices pods share, and two pods that ask for such: one waits, one runs. A third asks for none.
func sharing() *snapshot.Snapshot {
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1"), node("n2")},
		Pods:  []*v1.Pod{pod("waits", "", "1G", 0), pod("runs", "n1", "1G", 0), pod("plain", "", "1G", 0)},
		Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
	s.Message.DeviceLayouts = []*contract.DeviceLayout{{Id: "two", Devices: []*contract.Device{{Name: "gpu-0"}, {Name: "gpu-1"}}}}
	s.Message.DeviceRequests = []*contract.DeviceRequest{{Id: "half"}}
	for _, one := range s.Message.Nodes {
		one.DeviceLayout = "two"
	}
	for _, class := range s.Message.PodClasses {
		if class.Id != s.Pods["plain"].Class {
			class.DeviceRequests = []string{"half"}
		}
	}
	return s
}

// Which devices pods get follows from the order in which they come: without one, or in an ambiguous one, the plan promises
// devices that nobody would get.
func TestPodsThatShareDevicesComeInTurn(t *testing.T) {
	turns := func(waits, runs, plain int32, devices ...int32) *contract.Plan {
		message := &contract.Plan{SnapshotId: "s1", Placements: placements("waits", "n1", "plain", "n1"), Moves: moves("runs", "n1", "n2")}
		message.Placements[0].Turn, message.Placements[0].Devices = waits, devices
		message.Moves[0].Turn, message.Placements[1].Turn = runs, plain
		return message
	}
	for name, c := range map[string]struct {
		message *contract.Plan
		want    plan.Reason
	}{
		"each has its turn":                {turns(2, 1, 0, 1), ""},
		"one has none":                     {turns(0, 1, 0), plan.WrongTurn},
		"two have the same":                {turns(1, 1, 0), plan.WrongTurn},
		"one that asks for no devices":     {turns(1, 2, 3), plan.WrongTurn},
		"a device that its node lacks":     {turns(1, 2, 0, 2), plan.UnknownDevice},
		"an index that is none":            {turns(1, 2, 0, -1), plan.UnknownDevice},
		"the same device twice for shares": {turns(1, 2, 0, 0, 0), ""},
	} {
		_, err := plan.Decode(c.message, sharing(), plan.Strict)

		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c.want)
		}
	}

	checked := testobjects.Value(plan.Decode(turns(2, 1, 0, 1), sharing(), plan.Strict))(t)
	if of := checked.Placements[0]; of.Turn != 2 || !slices.Equal(of.Devices, []string{"gpu-1"}) || checked.Moves[0].Turn != 1 {
		t.Errorf("steps %+v", checked.Steps())
	}
}
