package simulation_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

func continued(t *testing.T, asked simulation.Question) simulation.Continued {
	t.Helper()
	asked.Continue = 60
	answer := answered(t, asked)
	if answer.Continued == nil {
		t.Fatalf("nothing was continued: %+v", answer.Verdicts)
	}
	return *answer.Continued
}

// TestWhatWaitsIsPlacedAsThingsAre, and of the others the scheduler says what keeps them.
func TestWhatWaitsIsPlacedAsThingsAre(t *testing.T) {
	got := continued(t, figure1())

	if want := map[string]string{"default/wants": "n2"}; !maps.Equal(got.Placements, want) {
		t.Errorf("placements = %v, want %v", got.Placements, want)
	}
	want := map[string]string{"default/three": "0/2 nodes are available: 2 Insufficient memory."}
	if !maps.Equal(got.Reasons, want) {
		t.Errorf("reasons = %v, want %v", got.Reasons, want)
	}
}

// TestWhatWaitsIsPlacedAfterThePlan: moved pods are on their new nodes, evicted ones are gone, and placed ones are there.
func TestWhatWaitsIsPlacedAfterThePlan(t *testing.T) {
	best := steps(placed("three", "n1"), moved("one", "n1", "n2"))
	urgent := pod("urgent", 0, 4*gib, func(p *v1.Pod) { p.Spec.Priority = ptr.To(int32(9)) })
	for name, row := range map[string]struct {
		plan  *contract.Plan
		later v1.Pod
		want  map[string]string
	}{
		"the old place is free, the new one is taken": {
			best, pod("later", 0, gib), map[string]string{"default/wants": "n2", "default/later": "n1"}},
		"there is no room for two": {best, pod("later", 0, 2*gib), map[string]string{"default/wants": "n2"}},
		"the room of the evicted is free": {
			steps(placed("urgent", "n1"), evicted("one", "n1")), pod("later", 0, 2*gib),
			map[string]string{"default/wants": "n2", "default/later": "n2"}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := figure1(row.plan)
			asked.Pods = append(asked.Pods, urgent, row.later)
			if got := continued(t, asked); !maps.Equal(got.Placements, row.want) {
				t.Errorf("placements = %v, want %v; reasons %v", got.Placements, row.want, got.Reasons)
			}
		})
	}
}

// TestNothingIsContinuedAfterARefusedPlan: that is no state of the cluster.
func TestNothingIsContinuedAfterARefusedPlan(t *testing.T) {
	asked := figure1(steps(placed("three", "n1")))
	asked.Continue = 60

	if answer := answered(t, asked); answer.Continued != nil {
		t.Errorf("%+v after %+v", answer.Continued, answer.Verdicts)
	}
}

// TestOfEqualPodsOneIsTriedUntilItHasANode: each try takes as long as there are nodes. A pod that waits for another one is
// tried again when that has come, and so are those behind it.
func TestOfEqualPodsOneIsTriedUntilItHasANode(t *testing.T) {
	named := func(name string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Labels = map[string]string{"name": name} }
	}
	asked := question(simulation.Instance{
		Nodes: []v1.Node{node("n1", 4000, 4*gib)},
		Pods: []v1.Pod{
			pod("huge-1", 0, 5*gib, named("huge")), pod("huge-2", 0, 5*gib, named("huge")),
			pod("next-1", 0, gib, named("next"), nextTo("leader")), pod("next-2", 0, gib, named("next"), nextTo("leader")),
			pod("leader", 0, gib),
		}})

	got := continued(t, asked)

	if len(got.Placements) != 3 || got.Placements["default/next-2"] != "n1" {
		t.Errorf("placements = %v", got.Placements)
	}
	if _, first := got.Reasons["default/huge-1"]; !first || len(got.Reasons) != 1 {
		t.Errorf("reasons = %v", got.Reasons)
	}
}

// TestWhoseTurnDoesNotComeInTimeIsCounted and has no reason: the scheduler has none.
func TestWhoseTurnDoesNotComeInTimeIsCounted(t *testing.T) {
	asked := figure1()
	asked.Continue = 1e-9

	got := answered(t, asked).Continued

	if got.Untried != 2 || len(got.Placements)+len(got.Reasons) > 0 {
		t.Errorf("%+v", got)
	}
}

// TestAPlanBeyondALimitIsRefused with the pods that are too many: some limits are not in the contract.
func TestAPlanBeyondALimitIsRefused(t *testing.T) {
	asked := figure1(steps(placed("three", "n1"), moved("one", "n1", "n2"), moved("kept-1", "n1", "n2")))
	asked.Arguments = json.RawMessage(`{"evictSingletons": true, "evictNotReady": true, "limits": {"maxPerNode": 1}}`)

	verdict := answered(t, asked).Verdicts[0]

	if verdict.Accepted || verdict.Reason != "limit" || verdict.Detail != "limit-per-node" ||
		len(verdict.Pods) != 1 || verdict.Pods[0] != "default/kept-1" {
		t.Errorf("%+v", verdict)
	}
}

// TestAPendingPodHasTheReasonOfItsLastTry, and a pod that is placed or was never tried has none.
func TestAPendingPodHasTheReasonOfItsLastTry(t *testing.T) {
	gated := func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}} }
	result, err := simulatorOf(t, profileFolder+"/deterministic.yaml").Run(context.Background(), simulation.Instance{
		ID: "one", Nodes: nodes(2, 1000, gib),
		Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1), pod("c", 600, 1), pod("gated", 1, 1, gated)}})
	testobjects.Must(t, err)

	want := map[string]string{"default/c": "0/2 nodes are available: 2 Insufficient cpu."}
	if !maps.Equal(result.Reasons, want) {
		t.Errorf("reasons = %v, want %v", result.Reasons, want)
	}
}
