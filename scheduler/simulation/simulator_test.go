package simulation_test

import (
	"maps"
	"runtime"
	"slices"
	"strings"
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
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("700m")}}
	}
	replacing := func(nodes []v1.Node, pods ...v1.Pod) simulation.Instance {
		return simulation.Instance{Nodes: nodes, Pods: pods, Replace: true}
	}
	with := func(nodes []v1.Node, pods ...v1.Pod) simulation.Instance {
		return simulation.Instance{Nodes: nodes, Pods: pods}
	}
	aGoes := func(after int, instance simulation.Instance) simulation.Instance {
		instance.Changes = []simulation.Change{{After: after, PodGone: "default/a"}}
		return instance
	}
	one, sizes := nodes(1, 1000, gib), []v1.Node{node("large", 1000, gib), node("small", 600, gib)}
	three := []v1.Node{node("a", 1000, gib), node("b", 900, gib), node("c", 600, gib)}
	low, high := pod("low", 800, 1, withPriority(1)), pod("high", 800, 1, withPriority(2))
	less, more := pod("low", 500, 1, withPriority(1)), pod("high", 900, 1, withPriority(2))
	for name, row := range map[string]struct {
		profile  string
		instance simulation.Instance
		// want are pods with their nodes, evicted those that were preempted or removed.
		want, evicted string
	}{
		// The paper's opening example: the stock scheduler spreads two pods over two nodes, and then neither has room.
		"the third pod of figure 1 stays pending": {"deterministic",
			with(nodes(2, 4000, 4*gib), pod("a", 100, 2*gib), pod("b", 100, 2*gib), pod("c", 100, 3*gib)), "a@node-000 b@node-001 c@", ""},
		// The scheduler wakes a pending pod when the pod that it waits for is bound.
		"a pod with an affinity to a later pod is tried again": {"deterministic",
			with(nodes(3, 4000, 8*gib), pod("first", 100, gib), pod("follower", 100, gib, nextTo("leader")), pod("leader", 100, gib)),
			"first@node-000 leader@node-001 follower@node-001", ""},
		"placed pods count wherever they stand in the list": {"deterministic",
			with(nodes(2, 1000, 8*gib), pod("new", 600, gib), pod("old", 600, gib, onNode("node-000"))), "new@node-001 old@node-000", ""},
		// Gated pods and those of another scheduler reach no queue, and nothing may wait for them.
		"pods of others stay pending": {"deterministic",
			with(one, pod("gated", 1, 1, gated), pod("foreign", 1, 1, foreign), pod("ours", 1, 1)), "gated@ foreign@ ours@node-000", ""},
		"a pod with limits alone requests as much": {"deterministic",
			with(one, pod("a", 0, 0, limited), pod("b", 0, 0, limited)), "a@node-000 b@", ""},
		// The scheduler tries it again and again, and a simulation must end all the same.
		"a pod without any node is pending":  {"default", with(nil, pod("a", 1, 1)), "a@", ""},
		"the stock scheduler preempts":       {"default", with(one, low, high), "low@ high@node-000", "default/low"},
		"the deterministic profile does not": {"deterministic", with(one, low, high), "low@node-000 high@", ""},
		// The scheduler's own hints wake it, as in a cluster.
		"a pending pod is tried again after a change": {"deterministic",
			aGoes(2, with(one, pod("a", 600, 1), pod("b", 600, 1))), "b@node-000", "default/a"},
		// Their ReplicaSets replace them; without that, the count of running pods would be too low.
		"a preempted pod comes back where there is room": {"default", replacing(sizes, less, more), "low@small high@large", "default/low"},
		"no pod comes back unasked":                      {"default", with(sizes, less, more), "low@ high@large", "default/low"},
		// The replacement of the first victim is the next victim, and its own replacement belongs to the same pod.
		"a pod is replaced as often as it is preempted": {"default",
			replacing(three, less, pod("first", 950, 1, withPriority(3)), pod("second", 850, 1, withPriority(2))),
			"low@c first@a second@b", "default/low"},
		// It may not preempt pods of its own priority, and the run still ends.
		"a replacement without room is pending": {"default", replacing(one, low, high), "low@ high@node-000", "default/low"},
		// A change takes it out of the instance, which is no preemption.
		"a pod that is removed on purpose stays away": {"default",
			aGoes(1, replacing(one, pod("a", 800, 1), pod("b", 800, 1))), "a@ b@node-000", "default/a"},
	} {
		t.Run(name, func(t *testing.T) {
			row.instance.ID = name
			result := place(t, row.profile, row.instance)
			for _, want := range strings.Fields(row.want) {
				pod, node, _ := strings.Cut(want, "@")
				expectNodes(t, result, map[string]string{pod: node})
			}
			if got := strings.Join(result.Evicted, " "); got != row.evicted {
				t.Errorf("evicted %s, want %s", got, row.evicted)
			}
		})
	}
}

// TestAPlacementDependsOnItsInstanceAlone: in the deterministic profile on the nodes' names, and on nothing that a cluster's
// start may shuffle; and one simulator gives each instance what a fresh one would give it.
func TestAPlacementDependsOnItsInstanceAlone(t *testing.T) {
	shared := simulatorOf(t, profileFolder+"/deterministic.yaml")
	for seed := range uint64(10) {
		instance := randomInstance(seed)
		alone, together := place(t, "deterministic", instance), run(t, shared, instance)
		slices.Reverse(instance.Nodes)
		reversed := run(t, shared, instance)
		if !maps.Equal(alone.Placements, together.Placements) || !maps.Equal(alone.Placements, reversed.Placements) {
			t.Errorf("seed %d: placements differ from those of a fresh simulator, or with the nodes reversed", seed)
		}
		if alone.Measurement != nil { // results of equal instances are compared byte by byte
			t.Errorf("measured unasked: %+v", alone.Measurement)
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
