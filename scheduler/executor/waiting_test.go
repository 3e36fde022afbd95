package executor_test

import (
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

func nobody(types.UID) bool { return false }

// rushHour is a plan that sends four waiting pods of one owner to a node that has room for two, and one to another
// node that is full.
func rushHour(t *testing.T) (*world, *executor.Execution) {
	t.Helper()
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	w.add("steady", "n0", size(60, 60), 0)
	w.add("steady", "n1", size(100, 100), 0)
	of := &plan.Plan{}
	for i := range 5 {
		node := "n0"
		if i == 4 {
			node = "n1"
		}
		of.Placements = append(of.Placements, plan.Placement{Pod: w.add("waiting", "", size(20, 20), 0), Node: node})
	}
	e := executor.New(of, w.free(), 0)
	for _, placement := range of.Placements {
		e.Note(placement.Pod.Object)
	}
	return w, e
}

// Each pod that is woken up in vain costs a cycle and a write of its status.
func TestNoMorePodsAreReadyThanHaveRoom(t *testing.T) {
	w, e := rushHour(t)

	if ready := e.Ready(w.free(), nobody); len(ready) != 2 {
		t.Errorf("%d pods are ready, want the two that have room", len(ready))
	}
}

// What is being bound has its place already: another one is ready in its stead only if there is another place.
func TestPodThatIsBeingBoundIsNotReady(t *testing.T) {
	w, e := rushHour(t)
	var bound types.UID
	for _, pod := range e.Ready(w.free(), nobody) {
		bound = pod.UID
		e.Reserve(pod, "n0")
		break
	}
	free := w.free()
	free["n0"] = free["n0"].Minus(size(20, 20))

	ready := e.Ready(free, func(uid types.UID) bool { return uid == bound })

	if _, again := ready[string(bound)]; len(ready) != 1 || again {
		t.Errorf("ready: %v, want one, and not %s", ready, bound)
	}
}

// A replacement of a move comes first: a pod that merely waits does not take the room it is about to need.
func TestWaitingPodIsNotReadyForTheRoomOfAReplacement(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	moving := w.add("moving", "n1", size(60, 60), 0)
	waiting := w.add("waiting", "", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Move{{Pod: moving, From: "n1", To: "n0"}},
		Placements: []plan.Placement{{Pod: waiting, Node: "n0"}}}, w.free(), 0)
	e.Note(waiting.Object)
	before := e.Ready(w.free(), nobody)

	e.Opened(moving.Object.UID)

	if after := e.Ready(w.free(), nobody); len(before) != 1 || len(after) != 0 {
		t.Errorf("ready: %d before the move and %d after, want 1 and 0", len(before), len(after))
	}
}

// Whoever would only learn in a cycle of its own that its place is still taken waits before the queue.
func TestPlannedPodMustWaitUntilItsPlaceHasRoom(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 1, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	leaving := w.add("leaving", "n0", size(60, 60), 0)
	waiting := w.add("waiting", "", size(60, 60), 1)
	stranger := w.add("stranger", "", size(60, 60), 1)
	e := executor.New(&plan.Plan{Evictions: []plan.Eviction{{Pod: leaving, Node: "n0"}},
		Placements: []plan.Placement{{Pod: waiting, Node: "n0"}}}, w.free(), 0)

	first := e.MustWait(waiting.Object)
	e.Ready(w.free(), nobody)
	full := e.MustWait(waiting.Object)
	delete(w.running, leaving.Object.UID)
	e.Ready(w.free(), nobody)

	if !first || !full || e.MustWait(waiting.Object) {
		t.Errorf("must wait: %v at first, %v while the node is full, %v afterwards, want true, true, false",
			first, full, e.MustWait(waiting.Object))
	}
	if e.MustWait(stranger.Object) {
		t.Error("a pod that is none of the plan's business must wait")
	}
}
