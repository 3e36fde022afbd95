package simulation_test

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/stowage/stowage/scheduler/simulation"
)

const gib = int64(1) << 30

// What the simulation does beside the scheduler must not show in where pods end up.
func TestPodsEndUpWhereTheSchedulerPutsThem(t *testing.T) {
	gated := func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}} }
	foreign := func(p *v1.Pod) { p.Spec.SchedulerName = "other" }
	limited := func(p *v1.Pod) {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{
			Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("700m")},
		}
	}
	lowThenHigh := []v1.Pod{pod("low", 800, 1, withPriority(1)), pod("high", 800, 1, withPriority(2))}
	aGoes := []simulation.Change{{After: 1, PodGone: "default/a"}}
	for name, row := range map[string]struct {
		profile  string
		instance simulation.Instance
		want     map[string]string
		evicted  []string
	}{
		// The paper's opening example: the stock scheduler spreads two pods over two nodes, and then neither has room.
		"the third pod of figure 1 stays pending": {
			"deterministic",
			simulation.Instance{Nodes: nodes(2, 4000, 4*gib), Pods: []v1.Pod{
				pod("a", 100, 2*gib), pod("b", 100, 2*gib), pod("c", 100, 3*gib)}},
			map[string]string{"a": "node-000", "b": "node-001", "c": ""}, nil},
		// The scheduler wakes a pending pod when the pod that it waits for is bound.
		"a pod with an affinity to a later pod is tried again": {
			"deterministic",
			simulation.Instance{Nodes: nodes(3, 4000, 8*gib), Pods: []v1.Pod{
				pod("first", 100, gib), pod("follower", 100, gib, nextTo("leader")), pod("leader", 100, gib)}},
			map[string]string{"first": "node-000", "leader": "node-001", "follower": "node-001"}, nil},
		"placed pods count wherever they stand in the list": {
			"deterministic",
			simulation.Instance{Nodes: nodes(2, 1000, 8*gib), Pods: []v1.Pod{
				pod("new", 600, gib), pod("old", 600, gib, onNode("node-000"))}},
			map[string]string{"new": "node-001", "old": "node-000"}, nil},
		// Gated pods and those of another scheduler reach no queue, and nothing may wait for them.
		"pods of others stay pending": {
			"deterministic",
			simulation.Instance{Nodes: nodes(1, 1000, gib), Pods: []v1.Pod{
				pod("gated", 1, 1, gated), pod("foreign", 1, 1, foreign), pod("ours", 1, 1)}},
			map[string]string{"gated": "", "foreign": "", "ours": "node-000"}, nil},
		"a pod with limits alone requests as much": {
			"deterministic",
			simulation.Instance{Nodes: nodes(1, 1000, gib), Pods: []v1.Pod{pod("a", 0, 0, limited), pod("b", 0, 0, limited)}},
			map[string]string{"a": "node-000", "b": ""}, nil},
		// The scheduler tries it again and again, and a simulation must end all the same.
		"a pod without any node is pending": {
			"default", simulation.Instance{Pods: []v1.Pod{pod("a", 1, 1)}}, map[string]string{"a": ""}, nil},
		"the stock scheduler preempts": {
			"default", simulation.Instance{Nodes: nodes(1, 1000, gib), Pods: lowThenHigh},
			map[string]string{"low": "", "high": "node-000"}, []string{"default/low"}},
		"the deterministic profile does not": {
			"deterministic", simulation.Instance{Nodes: nodes(1, 1000, gib), Pods: lowThenHigh},
			map[string]string{"low": "node-000", "high": ""}, nil},
		// The scheduler's own hints wake it, as in a cluster.
		"a pending pod is tried again after a change": {
			"deterministic",
			simulation.Instance{Nodes: nodes(1, 1000, gib), Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1)},
				Changes: []simulation.Change{{After: 2, PodGone: "default/a"}}},
			map[string]string{"b": "node-000"}, []string{"default/a"}},
		// Their ReplicaSets replace them; without that, the count of running pods would be too low.
		"a preempted pod comes back where there is room": {
			"default",
			simulation.Instance{Replace: true, Nodes: []v1.Node{node("large", 1000, gib), node("small", 600, gib)},
				Pods: []v1.Pod{pod("low", 500, 1, withPriority(1)), pod("high", 900, 1, withPriority(2))}},
			map[string]string{"low": "small", "high": "large"}, []string{"default/low"}},
		"no pod comes back unasked": {
			"default",
			simulation.Instance{Nodes: []v1.Node{node("large", 1000, gib), node("small", 600, gib)},
				Pods: []v1.Pod{pod("low", 500, 1, withPriority(1)), pod("high", 900, 1, withPriority(2))}},
			map[string]string{"low": "", "high": "large"}, []string{"default/low"}},
		// The replacement of the first victim is the next victim, and its own replacement belongs to the same pod.
		"a pod is replaced as often as it is preempted": {
			"default",
			simulation.Instance{Replace: true, Nodes: []v1.Node{node("a", 1000, gib), node("b", 900, gib), node("c", 600, gib)},
				Pods: []v1.Pod{pod("low", 500, 1, withPriority(1)), pod("first", 950, 1, withPriority(3)),
					pod("second", 850, 1, withPriority(2))}},
			map[string]string{"low": "c", "first": "a", "second": "b"}, []string{"default/low"}},
		// It may not preempt pods of its own priority, and the run still ends.
		"a replacement without room is pending": {
			"default", simulation.Instance{Replace: true, Nodes: nodes(1, 1000, gib), Pods: lowThenHigh},
			map[string]string{"low": "", "high": "node-000"}, []string{"default/low"}},
		// A change takes it out of the instance, which is no preemption.
		"a pod that is removed on purpose stays away": {
			"default",
			simulation.Instance{Replace: true, Nodes: nodes(1, 1000, gib), Changes: aGoes,
				Pods: []v1.Pod{pod("a", 800, 1), pod("b", 800, 1)}},
			map[string]string{"a": "", "b": "node-000"}, []string{"default/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			row.instance.ID = name
			result := place(t, row.profile, row.instance)
			expectNodes(t, result, row.want)
			if !slices.Equal(result.Evicted, row.evicted) {
				t.Errorf("evicted %v, want %v", result.Evicted, row.evicted)
			}
		})
	}
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

// TestInstancesDoNotTouchEachOther: one simulator gives each instance what a fresh one would give it.
func TestInstancesDoNotTouchEachOther(t *testing.T) {
	shared := simulatorOf(t, profileFolder+"/deterministic.yaml")
	for seed := range uint64(10) {
		together := run(t, shared, randomInstance(seed))
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
		run(t, simulator, randomInstance(seed))
	}
	// The last goroutines end on their own after their context has ended: wait for that, without a sleep.
	deadline := time.Now().Add(2 * time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before 50 instances, %d after", before, after)
	}
}
