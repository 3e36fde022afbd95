package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage/stowage/scheduler/simulation"
)

const gib = int64(1) << 30

// TestTheThirdPodOfFigure1StaysPending is the paper's opening example: the stock scheduler spreads two
// pods over two nodes, and then neither has room for the third.
func TestTheThirdPodOfFigure1StaysPending(t *testing.T) {
	result := place(t, "deterministic", simulation.Instance{
		ID:    "figure-1",
		Nodes: nodes(2, 4000, 4*gib),
		Pods:  []v1.Pod{pod("a", 100, 2*gib), pod("b", 100, 2*gib), pod("c", 100, 3*gib)},
	})
	expectNodes(t, result, map[string]string{"a": "node-000", "b": "node-001", "c": ""})
}

// TestTiesGoToTheFirstOfManyNodes runs the whole scheduler over more identical nodes than a score has
// values, added in no order. Each pod makes its node the worse, so the pods go round by name.
func TestTiesGoToTheFirstOfManyNodes(t *testing.T) {
	const count = 160
	instance := simulation.Instance{ID: "ties", Nodes: nodes(count, 4000, 8*gib)}
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(count, func(i, j int) {
		instance.Nodes[i], instance.Nodes[j] = instance.Nodes[j], instance.Nodes[i]
	})
	want := map[string]string{}
	for i := range 2 * count {
		name := fmt.Sprintf("pod-%03d", i)
		instance.Pods = append(instance.Pods, pod(name, 1000, gib))
		want[name] = fmt.Sprintf("node-%03d", i%count)
	}
	expectNodes(t, place(t, "deterministic", instance), want)
}

// TestTheOrderOfNodesDoesNotMatter: in the deterministic profile a placement depends on the nodes' names
// and on nothing that a cluster's start may shuffle.
func TestTheOrderOfNodesDoesNotMatter(t *testing.T) {
	for seed := range uint64(5) {
		instance := randomInstance(seed)
		before := place(t, "deterministic", instance)
		slices.Reverse(instance.Nodes)
		if after := place(t, "deterministic", instance); !maps.Equal(before.Placements, after.Placements) {
			t.Errorf("seed %d: placements differ with the nodes reversed", seed)
		}
	}
}

// TestAPodWithAnAffinityToALaterPodIsTriedAgain: the scheduler wakes a pending pod when the pod it waits
// for is bound, and so must the simulation.
func TestAPodWithAnAffinityToALaterPodIsTriedAgain(t *testing.T) {
	result := place(t, "deterministic", simulation.Instance{
		ID:    "affinity",
		Nodes: nodes(3, 4000, 8*gib),
		Pods:  []v1.Pod{pod("first", 100, gib), pod("follower", 100, gib, nextTo("leader")), pod("leader", 100, gib)},
	})
	expectNodes(t, result, map[string]string{"first": "node-000", "leader": "node-001", "follower": "node-001"})
}

// TestPlacedPodsCountWhereverTheyStandInTheList: they are there before the first pod is tried.
func TestPlacedPodsCountWhereverTheyStandInTheList(t *testing.T) {
	result := place(t, "deterministic", simulation.Instance{
		ID:    "placed",
		Nodes: nodes(2, 1000, 8*gib),
		Pods:  []v1.Pod{pod("new", 600, gib), pod("old", 600, gib, onNode("node-000"))},
	})
	expectNodes(t, result, map[string]string{"new": "node-001", "old": "node-000"})
}

// TestPodsOfOtherSchedulersStayPending: gated pods and those of another scheduler reach no queue, and nothing may
// wait for them.
func TestPodsOfOtherSchedulersStayPending(t *testing.T) {
	gated := func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}} }
	foreign := func(p *v1.Pod) { p.Spec.SchedulerName = "other" }
	result := place(t, "deterministic", simulation.Instance{
		ID:    "pending",
		Nodes: nodes(1, 1000, gib),
		Pods:  []v1.Pod{pod("gated", 1, 1, gated), pod("foreign", 1, 1, foreign), pod("ours", 1, 1)},
	})
	expectNodes(t, result, map[string]string{"gated": "", "foreign": "", "ours": "node-000"})
}

// TestPodsAreDefaultedAsTheAPIServerDoes: a pod with limits only requests as much.
func TestPodsAreDefaultedAsTheAPIServerDoes(t *testing.T) {
	limited := func(p *v1.Pod) {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("700m")},
		}
	}
	result := place(t, "deterministic", simulation.Instance{
		ID:    "defaults",
		Nodes: nodes(1, 1000, gib),
		Pods:  []v1.Pod{pod("a", 0, 0, limited), pod("b", 0, 0, limited)},
	})
	expectNodes(t, result, map[string]string{"a": "node-000", "b": ""})
}

// TestPreemptionEvictsInTheStockProfile: the stock scheduler makes room, and the result names the preempted pods.
func TestPreemptionEvictsInTheStockProfile(t *testing.T) {
	instance := simulation.Instance{
		ID:    "preemption",
		Nodes: nodes(1, 1000, gib),
		Pods:  []v1.Pod{pod("low", 800, 1, withPriority(1)), pod("high", 800, 1, withPriority(2))},
	}
	stock := place(t, "default", instance)
	expectNodes(t, stock, map[string]string{"low": "", "high": "node-000"})
	if !slices.Equal(stock.Evicted, []string{"default/low"}) {
		t.Errorf("want default/low evicted, got %v", stock.Evicted)
	}
	expectNodes(t, place(t, "deterministic", instance), map[string]string{"low": "node-000", "high": ""})
}

// TestInstancesDoNotTouchEachOther: one simulator gives each instance what a fresh one would give it.
func TestInstancesDoNotTouchEachOther(t *testing.T) {
	shared := simulatorOf(t, profileFolder+"/deterministic.yaml")
	for seed := range uint64(10) {
		together, err := shared.Run(context.Background(), randomInstance(seed))
		if err != nil {
			t.Fatal(err)
		}
		if alone := place(t, "deterministic", randomInstance(seed)); !maps.Equal(alone.Placements, together.Placements) {
			t.Errorf("seed %d: placements differ from those of a fresh simulator", seed)
		}
	}
}

// TestNoGoroutineSurvivesItsInstance: a process that fills thousands of instances must not grow.
func TestNoGoroutineSurvivesItsInstance(t *testing.T) {
	simulator := simulatorOf(t, profileFolder+"/deterministic.yaml")
	before := runtime.NumGoroutine()
	for seed := range uint64(50) {
		if _, err := simulator.Run(context.Background(), randomInstance(seed)); err != nil {
			t.Fatal(err)
		}
	}
	// The last goroutines end on their own after their context has ended: wait for that, without a sleep.
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before 50 instances, %d after", before, after)
	}
}

// TestACancelledRunEnds: the process must stop on a signal even in the middle of an instance.
func TestACancelledRunEnds(t *testing.T) {
	simulator := simulatorOf(t, profileFolder+"/deterministic.yaml")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := simulator.Run(ctx, randomInstance(1)); err == nil {
		t.Error("a cancelled run should be an error")
	}
}
