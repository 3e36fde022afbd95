package plan_test

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// figureOne is the paper's figure 1: two nodes of 4 GB, pods of 2, 2 and 3 GB, the last pending.
// Beside them: a cordoned node, a pod that may not be moved, and one no plan can place.
func figureOne() *snapshot.Snapshot {
	cordoned := node("n3")
	cordoned.Spec.Unschedulable = true
	return snapshot.Build(snapshot.Input{
		ID:    "s1",
		Nodes: []*v1.Node{node("n1"), node("n2"), cordoned},
		Pods: []*v1.Pod{
			pod("one", "n1", "2G", 0), pod("two", "n2", "2G", 0), pod("three", "", "3G", 0),
			pod("fixed", "n1", "0", 0, func(p *v1.Pod) { p.OwnerReferences = nil }),
			pod("claim", "", "0", 0, func(p *v1.Pod) {
				p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}}
			}),
		},
		Rules: snapshot.Rules{SchedulerName: "default-scheduler"},
	})
}

func node(name string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("4G"),
		v1.ResourcePods: resource.MustParse("4")}}}
}

func pod(name, on, memory string, priority int32, changes ...func(*v1.Pod)) *v1.Pod {
	yes := true
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: name, UID: types.UID("rs-" + name), Controller: &yes}}},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", NodeName: on, Priority: &priority,
			Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceMemory: resource.MustParse(memory)}}}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
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
	message := &contract.Plan{SnapshotId: "s1", Optimal: true,
		Placements: placements("three", "n2"), Moves: moves("two", "n2", "n1")}

	got, err := plan.Decode(message, figureOne(), plan.Strict)

	if err != nil {
		t.Fatal(err)
	}
	after := got.NodesAfter()
	if after["two"] != "n1" || after["three"] != "n2" || len(after) != 2 || !got.Optimal {
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
		"pod twice":        {&contract.Plan{Placements: placements("three", "n2", "three", "n2")}, plan.DuplicatePod},
		"moved and gone":   {&contract.Plan{Moves: good, Evictions: evictions("two", "n2")}, plan.DuplicatePod},
		"placed but runs":  {&contract.Plan{Placements: placements("one", "n2")}, plan.NotPending},
		"moved but waits":  {&contract.Plan{Moves: moves("three", "n1", "n2")}, plan.NotRunning},
		"wrong from":       {&contract.Plan{Moves: moves("two", "n1", "n2")}, plan.WrongNode},
		"moved to itself":  {&contract.Plan{Moves: moves("two", "n2", "n2")}, plan.SameNode},
		"immovable":        {&contract.Plan{Evictions: evictions("fixed", "n1")}, plan.Immovable},
		"unsupported":      {&contract.Plan{Placements: placements("claim", "n1")}, plan.UnsupportedPod},
		"too little room":  {&contract.Plan{Placements: placements("three", "n2")}, plan.OverCapacity},
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
		_, err := plan.Decode(c.message, figureOne(), plan.Strict)

		var refused *plan.RefusedError
		if !errors.As(err, &refused) || refused.Reason != c.want {
			t.Errorf("%s: %v, want a refusal for %s", name, err, c.want)
		}
	}
}

// To empty a node, pods may be moved although no pod is gained, but no pod may be displaced.
func TestConsolidationMovesAndEvictsNoPod(t *testing.T) {
	s := figureOne()
	emptying := &contract.Plan{SnapshotId: "s1", Moves: moves("two", "n2", "n1")}
	if _, err := plan.Decode(emptying, s, plan.Consolidate); err != nil {
		t.Errorf("a move that empties a node: %v", err)
	}
	var refused *plan.RefusedError
	if _, err := plan.Decode(emptying, s, plan.Strict); !errors.As(err, &refused) || refused.Reason != plan.NotBetter {
		t.Errorf("strict policy: %v, want a refusal for %s", err, plan.NotBetter)
	}
	evicting := &contract.Plan{SnapshotId: "s1", Evictions: evictions("two", "n2")}
	if _, err := plan.Decode(evicting, s, plan.Consolidate); !errors.As(err, &refused) || refused.Reason != plan.UnjustEviction {
		t.Errorf("an eviction: %v, want a refusal for %s", err, plan.UnjustEviction)
	}
}

// Only strictly higher priority justifies an eviction, unless the paper's own policy is asked for.
func TestStrictPolicyProtectsPodsOfEqualPriority(t *testing.T) {
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1")}, Pods: []*v1.Pod{
		pod("big", "n1", "4G", 5), pod("small-1", "", "2G", 5), pod("small-2", "", "2G", 5), pod("vip", "", "1G", 9),
	}, Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
	trade := &contract.Plan{SnapshotId: "s1", Placements: placements("small-1", "n1", "small-2", "n1"),
		Evictions: evictions("big", "n1")}
	forHigher := &contract.Plan{SnapshotId: "s1", Placements: placements("vip", "n1"), Evictions: evictions("big", "n1")}

	if _, err := plan.Decode(trade, s, plan.Paper); err != nil {
		t.Errorf("paper policy: %v", err)
	}
	var refused *plan.RefusedError
	if _, err := plan.Decode(trade, s, plan.Strict); !errors.As(err, &refused) || refused.Reason != plan.UnjustEviction {
		t.Errorf("strict policy: %v, want a refusal for %s", err, plan.UnjustEviction)
	}
	if _, err := plan.Decode(forHigher, s, plan.Strict); err != nil {
		t.Errorf("a pod of higher priority: %v", err)
	}
}

// A gain in a low tier never pays for a loss in a higher one.
func TestHigherTiersAreComparedFirst(t *testing.T) {
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1")}, Pods: []*v1.Pod{
		pod("high", "n1", "4G", 5), pod("low-1", "", "2G", 1), pod("low-2", "", "2G", 1),
	}, Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
	message := &contract.Plan{SnapshotId: "s1", Placements: placements("low-1", "n1", "low-2", "n1"),
		Evictions: evictions("high", "n1")}

	_, err := plan.Decode(message, s, plan.Paper)

	var refused *plan.RefusedError
	if !errors.As(err, &refused) || refused.Reason != plan.NotBetter {
		t.Errorf("%v, want a refusal for %s", err, plan.NotBetter)
	}
}

// In each tier, the fewest disruptions are second to the most pods: no pod of a higher priority is moved only for pods of
// lower ones.
func TestNoPodIsDisruptedForLowerPrioritiesAlone(t *testing.T) {
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1"), node("n2")}, Pods: []*v1.Pod{
		pod("high", "n1", "2G", 5), pod("next", "", "1G", 5), pod("low", "", "3G", 1),
	}, Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})
	forLow := &contract.Plan{SnapshotId: "s1", Placements: placements("low", "n1"), Moves: moves("high", "n1", "n2")}
	forBoth := &contract.Plan{SnapshotId: "s1", Placements: placements("low", "n1", "next", "n2"), Moves: moves("high", "n1", "n2")}

	var refused *plan.RefusedError
	if _, err := plan.Decode(forLow, s, plan.Strict); !errors.As(err, &refused) || refused.Reason != plan.NotBetter {
		t.Errorf("for a pod of lower priority: %v, want a refusal for %s", err, plan.NotBetter)
	}
	if _, err := plan.Decode(forBoth, s, plan.Strict); err != nil {
		t.Errorf("for one of its own priority too: %v", err)
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

		var refused *plan.RefusedError
		if errors.As(err, &refused) != (want != "") || refused != nil && refused.Reason != want {
			t.Errorf("%s on %s: %v, want %q", pair[0], pair[1], err, want)
		}
	}
	if open, leaving := s.Message.Nodes[0].Allocatable, s.Message.Nodes[1].Allocatable; open.Pods == 0 || leaving.Pods != 0 {
		t.Errorf("the optimiser gets room for %d pods on n1 and %d on n2, want none on n2", open.Pods, leaving.Pods)
	}
}

// The number of pods is a resource like any other.
func TestPodCountIsACapacity(t *testing.T) {
	pods := []*v1.Pod{}
	for _, name := range []string{"a", "b", "c", "d"} {
		pods = append(pods, pod(name, "n1", "0", 0))
	}
	s := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1")},
		Pods: append(pods, pod("fifth", "", "0", 0)), Rules: snapshot.Rules{SchedulerName: "default-scheduler"}})

	_, err := plan.Decode(&contract.Plan{SnapshotId: "s1", Placements: placements("fifth", "n1")}, s, plan.Strict)

	var refused *plan.RefusedError
	if !errors.As(err, &refused) || refused.Reason != plan.OverCapacity {
		t.Errorf("%v, want a refusal for %s", err, plan.OverCapacity)
	}
}

// A node that has changed may reject the pod for any reason, which the plan could not know.
func TestPlanForAChangedNodeIsRefused(t *testing.T) {
	before := figureOne()
	decoded, err := plan.Decode(&contract.Plan{SnapshotId: "s1", Placements: placements("three", "n2"),
		Moves: moves("two", "n2", "n1")}, before, plan.Strict)
	if err != nil {
		t.Fatal(err)
	}
	tainted := node("n2")
	tainted.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
	now := snapshot.Build(snapshot.Input{ID: "s1", Nodes: []*v1.Node{node("n1"), tainted}})

	var refused *plan.RefusedError
	if err := plan.CheckNodesUnchanged(decoded, before, now); !errors.As(err, &refused) || refused.Reason != plan.NodeChanged {
		t.Errorf("%v, want a refusal for %s", err, plan.NodeChanged)
	}
	if err := plan.CheckNodesUnchanged(decoded, before, figureOne()); err != nil {
		t.Errorf("unchanged nodes: %v", err)
	}
}

// A node may be deleted and created again between two snapshots, for instance when another scheduler takes over: that is
// a change, not a reason to crash.
func TestANodeThatComesOrGoesHasChanged(t *testing.T) {
	with, without := figureOne(), snapshot.Build(snapshot.Input{ID: "s1"})
	checked, err := plan.Decode(&contract.Plan{SnapshotId: "s1", Placements: placements("three", "n2"),
		Moves: moves("two", "n2", "n1")}, with, plan.Strict)
	if err != nil {
		t.Fatal(err)
	}
	for _, looks := range [][2]*snapshot.Snapshot{{with, without}, {without, with}, {without, without}} {
		var refused *plan.RefusedError
		if err := plan.CheckNodesUnchanged(checked, looks[0], looks[1]); !errors.As(err, &refused) || refused.Reason != plan.NodeChanged {
			t.Errorf("%v, want a refusal for %s", err, plan.NodeChanged)
		}
	}
	if err := plan.CheckNodesUnchanged(checked, with, with); err != nil {
		t.Error(err)
	}
}
