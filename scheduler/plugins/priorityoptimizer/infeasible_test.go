package priorityoptimizer

import (
	"strings"
	"testing"
	"time"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// sentTo is a plan that sends a pod of 1 CPU to each of the nodes.
func sentTo(nodes ...string) *activePlan {
	of := &plan.Plan{}
	for _, node := range nodes {
		of.Placements = append(of.Placements, plan.Placement{Node: node,
			Pod: &snapshot.Pod{Object: testPod(node, 1, 0), Requests: resources.Vector{CPUMilli: 1000}}})
	}
	return &activePlan{execution: executor.New(of, nil, 0)}
}

// The larger a plan, the more likely some node seems to be full for an instant: that is no reason to abort the plan as
// long as it is another node each time.
func TestPlanIsNotGivenUpForRoomThatLacksForAnInstant(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	free := map[string]resources.Vector{"a": {CPUMilli: 1000}, "b": {CPUMilli: 1000}}

	for i := range 100 {
		full := map[string]resources.Vector{"a": free["a"], "b": free["b"]}
		delete(full, []string{"a", "b"}[i%2])
		if why := active.missingRoom(active.execution.Outstanding(), full, now.Add(time.Duration(i)*100*time.Millisecond)); why != "" {
			t.Fatalf("aborted in pass %d: %s", i, why)
		}
	}
}

// Continuing a plan whose target has been filled by other pods would disrupt more pods for nothing.
func TestPlanIsGivenUpForRoomThatLacksForGood(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	free := map[string]resources.Vector{"a": {CPUMilli: 1000}, "b": {CPUMilli: 500}}

	first := active.missingRoom(active.execution.Outstanding(), free, now)
	last := active.missingRoom(active.execution.Outstanding(), free, now.Add(minShortage))

	if first != "" || !strings.Contains(last, `"b" has too little cpu`) {
		t.Errorf("first %q, then %q", first, last)
	}
}
