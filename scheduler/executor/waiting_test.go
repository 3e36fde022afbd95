package executor_test

import (
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

func none(types.UID) bool { return false }

// Each pod that is activated in vain costs a cycle and a status write: no more are ready than have room. One that is being
// bound already has its place, and another is ready only if there is another place.
func TestNoMorePodsAreReadyThanHaveRoom(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	c.add("steady", "n0", size(60, 60), 0)
	c.add("steady", "n1", size(100, 100), 0)
	of := &plan.Plan{}
	for _, node := range []string{"n0", "n0", "n0", "n0", "n1"} {
		of.Placements = append(of.Placements, plan.Step{Pod: c.add("waiting", "", size(20, 20), 0), To: node})
	}
	e := executor.New(of, c.free(), 0)
	for _, placement := range of.Placements {
		e.Note(placement.Pod.Object)
	}
	free := c.free()

	first := e.Ready(free, none)
	var bound types.UID
	for _, pod := range first {
		bound = pod.UID
		e.Reserve(pod, "n0", true)
		break
	}
	free["n0"] = free["n0"].Minus(size(20, 20))
	second := e.Ready(free, func(uid types.UID) bool { return uid == bound })

	if _, again := second[string(bound)]; len(first) != 2 || len(second) != 1 || again {
		t.Errorf("ready: %v, then %v; want the two that have room, then one and not %s", first, second, bound)
	}
}

// A replacement of a move comes first: a pod that merely waits must not take the room that the replacement will need, nor
// overtake it.
func TestWaitingPodDoesNotTakeTheRoomOfAReplacement(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	moving := c.add("moving", "n1", size(60, 60), 0)
	waiting := c.add("waiting", "", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: moving, From: "n1", To: "n0"}},
		Placements: []plan.Step{{Pod: waiting, To: "n0"}}}, c.free(), 0)
	e.Note(waiting.Object)
	before := e.Ready(c.free(), none)

	e.Opened(moving.Object.UID)

	nodes, planned := e.Nodes(waiting.Object, func(node string) resources.Vector { return c.free()[node] })
	if after := e.Ready(c.free(), none); len(before) != 1 || len(after) != 0 || !planned || len(nodes) != 0 {
		t.Errorf("ready: %d before the move and %d after, nodes %v, planned %t; want 1 and 0, none, true", len(before), len(after), nodes, planned)
	}
}

// A pod whose place has no room yet waits outside the active queue, instead of failing a cycle.
func TestPlannedPodMustWaitUntilItsPlaceHasRoom(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100).WithPods(10))
	leaving := c.add("leaving", "n0", size(60, 60), 0)
	waiting := c.add("waiting", "", size(60, 60), 1)
	stranger := c.add("stranger", "", size(60, 60), 1)
	e := executor.New(&plan.Plan{Evictions: []plan.Step{{Pod: leaving, From: "n0"}},
		Placements: []plan.Step{{Pod: waiting, To: "n0"}}}, c.free(), 0)

	mustWait := func(pod *v1.Pod) bool {
		nodes, planned := e.Nodes(pod, nil)
		return planned && len(nodes) == 0
	}
	first := mustWait(waiting.Object)
	e.Ready(c.free(), none)
	full := mustWait(waiting.Object)
	delete(c.running, leaving.Object.UID)
	e.Ready(c.free(), none)

	if !first || !full || mustWait(waiting.Object) {
		t.Errorf("must wait: %v at first, %v while the node is full, %v afterwards, want true, true, false",
			first, full, mustWait(waiting.Object))
	}
	if mustWait(stranger.Object) {
		t.Error("a pod that is none of the plan's business must wait")
	}
}
