package simulation_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/simulation"
)

// TestPreemptedPodsComeBackWhereThereIsRoom: their ReplicaSets replace them; without that, the count of running pods would
// be too low.
func TestPreemptedPodsComeBackWhereThereIsRoom(t *testing.T) {
	instance := simulation.Instance{
		ID:    "replaced",
		Nodes: []v1.Node{node("large", 1000, gib), node("small", 600, gib)},
		Pods:  []v1.Pod{pod("low", 500, 1, withPriority(1)), pod("high", 900, 1, withPriority(2))},
	}
	expectNodes(t, place(t, "default", instance), map[string]string{"low": "", "high": "large"})
	instance.Replace = true
	result := place(t, "default", instance)
	expectNodes(t, result, map[string]string{"low": "small", "high": "large"})
	if !slices.Equal(result.Evicted, []string{"default/low"}) {
		t.Errorf("low should be reported as evicted although it runs again, got %v", result.Evicted)
	}
}

// TestAPodIsReplacedAsOftenAsItIsPreempted: the replacement of the first victim is the next victim, and its own
// replacement belongs to the same pod.
func TestAPodIsReplacedAsOftenAsItIsPreempted(t *testing.T) {
	result := place(t, "default", simulation.Instance{
		ID:    "twice",
		Nodes: []v1.Node{node("a", 1000, gib), node("b", 900, gib), node("c", 600, gib)},
		Pods: []v1.Pod{
			pod("low", 500, 1, withPriority(1)),
			pod("first", 950, 1, withPriority(3)),
			pod("second", 850, 1, withPriority(2)),
		},
		Replace: true,
	})
	expectNodes(t, result, map[string]string{"low": "c", "first": "a", "second": "b"})
}

// TestAReplacementWithoutRoomIsPending: it may not preempt pods of its own priority, and the run still ends.
func TestAReplacementWithoutRoomIsPending(t *testing.T) {
	result := place(t, "default", simulation.Instance{
		ID:      "pending",
		Nodes:   nodes(1, 1000, gib),
		Pods:    []v1.Pod{pod("low", 800, 1, withPriority(1)), pod("high", 800, 1, withPriority(2))},
		Replace: true,
	})
	expectNodes(t, result, map[string]string{"low": "", "high": "node-000"})
}

// TestAPodThatIsRemovedOnPurposeStaysAway: a change takes it out of the instance, which is no preemption.
func TestAPodThatIsRemovedOnPurposeStaysAway(t *testing.T) {
	result := place(t, "default", simulation.Instance{
		ID:      "removed",
		Nodes:   nodes(1, 1000, gib),
		Pods:    []v1.Pod{pod("a", 800, 1), pod("b", 800, 1)},
		Changes: []simulation.Change{{After: 1, PodGone: "default/a"}},
		Replace: true,
	})
	expectNodes(t, result, map[string]string{"a": "", "b": "node-000"})
}

// TestPreemptionIsRepeatable: among equal victims, those that started last are preempted, and their start times must not
// depend on the wall clock.
func TestPreemptionIsRepeatable(t *testing.T) {
	configuration, err := simulation.LoadConfiguration(profileFolder + "/default.yaml")
	if err != nil {
		t.Fatal(err)
	}
	configuration.Parallelism = 1
	simulator := simulatorFrom(t, configuration)
	instance := simulation.Instance{ID: "repeat", Nodes: nodes(12, 1000, gib), Replace: true}
	for i := range 24 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("low-%02d", i), 500, 1, withPriority(1)))
	}
	for i := range 6 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("high-%d", i), 700, 1, withPriority(2)))
	}
	first, err := simulator.Run(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Evicted) < 12 {
		t.Fatalf("both pods of a node must go for a high one, got %v", first.Evicted)
	}
	for range 10 {
		again, err := simulator.Run(t.Context(), instance)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(first.Placements, again.Placements) {
			t.Errorf("%v, then %v", first.Placements, again.Placements)
		}
	}
}
