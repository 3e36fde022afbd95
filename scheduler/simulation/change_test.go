package simulation_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

// TestChangesHappenWhenTheyAreDue: between the second pod and the third, and not before.
func TestChangesHappenWhenTheyAreDue(t *testing.T) {
	cordoned := node("node-000", 1000, gib)
	cordoned.Spec.Unschedulable = true
	added := node("node-009", 1000, gib)
	for name, row := range map[string]struct {
		changes []simulation.Change
		third   string
	}{
		"nothing":           {nil, ""},
		"a pod gone":        {[]simulation.Change{{After: 2, PodGone: "default/a"}}, "node-000"},
		"too late":          {[]simulation.Change{{After: 3, Node: &cordoned}}, ""},
		"a node more":       {[]simulation.Change{{After: 2, Node: &added}}, "node-009"},
		"room on a cordon":  {[]simulation.Change{{After: 2, PodGone: "a"}, {After: 2, Node: &cordoned}}, ""},
		"a node gone, late": {[]simulation.Change{{After: 3, NodeGone: "node-001"}}, ""},
	} {
		result := place(t, "deterministic", simulation.Instance{
			ID: name, Nodes: nodes(2, 1000, gib), Changes: row.changes,
			Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1), pod("c", 600, 1)},
		})
		if got := result.Placements["default/c"]; got != row.third {
			t.Errorf("%s: the third pod should be on %q, is on %q", name, row.third, got)
		}
	}
}

// TestPodsThatAreTriedOnceLeaveAgain: what comes free later is for those who come later.
func TestPodsThatAreTriedOnceLeaveAgain(t *testing.T) {
	for once, want := range map[bool][2]string{false: {"node-000", ""}, true: {"", "node-000"}} {
		result := place(t, "deterministic", simulation.Instance{
			ID: "once", Nodes: nodes(1, 1000, gib), Once: once, Changes: []simulation.Change{{After: 2, PodGone: "default/a"}},
			Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1), pod("c", 600, 1)},
		})
		if got := [2]string{result.Placements["default/b"], result.Placements["default/c"]}; got != want {
			t.Errorf("once %t: %q, want %q", once, got, want)
		}
		if once && (result.Reasons["default/b"] == "" || !slices.Equal(result.Evicted, []string{"default/a"})) {
			t.Errorf("a pod that left again was not preempted, and has a reason: %q, %q", result.Evicted, result.Reasons)
		}
	}
}

// TestPodsMayArriveAtOnce: more of them than a watch of the object tracker holds, and the most urgent first.
func TestPodsMayArriveAtOnce(t *testing.T) {
	instance := simulation.Instance{ID: "burst", Nodes: nodes(3, 100_000, 64*gib), Arrival: simulation.AtOnce, Measure: true}
	for i := range 300 {
		instance.Pods = append(instance.Pods, pod("pod-"+string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26)), 1000, 1))
	}
	instance.Pods = append(instance.Pods, pod("urgent", 100_000, 1, withPriority(9)))
	result := place(t, "deterministic", instance)
	expectNodes(t, result, map[string]string{"urgent": "node-000"})
	if m := result.Measurement; m == nil || m.Arrived != 301 || m.PodsSeconds <= 0 || m.CPUSeconds <= 0 {
		t.Errorf("the run should have been measured: %+v", m)
	}
}

// TestPreemptionIsRepeatable: among equal victims, those that started last are preempted, and their start times must not
// depend on the wall clock.
func TestPreemptionIsRepeatable(t *testing.T) {
	configuration := testobjects.Value(simulation.LoadConfiguration(profileFolder + "/default.yaml"))(t)
	configuration.Parallelism = 1
	simulator := simulatorFrom(t, configuration)
	instance := simulation.Instance{ID: "repeat", Nodes: nodes(12, 1000, gib), Replace: true}
	for i := range 24 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("low-%02d", i), 500, 1, withPriority(1)))
	}
	for i := range 6 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("high-%d", i), 700, 1, withPriority(2)))
	}
	first := run(t, simulator, instance)
	if len(first.Evicted) < 12 {
		t.Fatalf("both pods of a node must go for a high one, got %v", first.Evicted)
	}
	for range 10 {
		if again := run(t, simulator, instance); !maps.Equal(first.Placements, again.Placements) {
			t.Errorf("%v, then %v", first.Placements, again.Placements)
		}
	}
}
