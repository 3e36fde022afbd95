package executor_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

// The scheduler tries all pods of a group before it reserves for any of them. Two that are alike must not try the same
// place, though its node has room for both.
func TestPodsOfATrialHaveDifferentPlaces(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	of := &plan.Plan{}
	for _, node := range []string{"n0", "n1"} {
		of.Placements = append(of.Placements, plan.Step{Pod: c.add("web", "", size(20, 20), 0), To: node})
	}
	extra, stranger := c.object("web"), c.object("stranger")
	e := executor.New(of, c.free(), 0)
	trial, room := e.Try(), c.free()
	free := func(node string) resources.Vector { return room[node] }
	take := func(pod *v1.Pod, node string) { trial.Take(pod, node); room[node] = room[node].Minus(size(20, 20)) }

	both, _ := trial.Nodes(of.Placements[0].Pod.Object, free)
	take(of.Placements[0].Pod.Object, "n0")
	one, _ := trial.Nodes(of.Placements[1].Pod.Object, free)
	take(of.Placements[1].Pod.Object, "n1")
	left, planned := trial.Nodes(extra, free)
	_, strange := trial.Nodes(stranger, free)
	trial.GiveBack(of.Placements[1].Pod.Object.UID)
	trial.GiveBack(of.Placements[1].Pod.Object.UID)
	again, _ := trial.Nodes(extra, free)

	if len(both) != 2 || !slices.Equal(one, []string{"n1"}) || len(left) != 0 || !slices.Equal(again, one) ||
		!planned || strange {
		t.Errorf("nodes %v, then %v, then %v (planned %t, a stranger %t), and %v once one place was given back",
			both, one, left, planned, strange, again)
	}
	if room := e.Outstanding(); !room["n0"].Equal(size(20, 20)) || !room["n1"].Equal(size(20, 20)) {
		t.Errorf("the execution counts %v", room)
	}
	if !e.Reserve(extra, "n0", true) {
		t.Error("a place is taken after the trial")
	}
}

// A replacement that is tried counts twice: on the copy of its node, and as one that is still to come there. A pod of
// the same group that was waiting must not lack the room of both.
func TestAReplacementOfATrialTakesItsRoomOnce(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	moving, waits := c.add("moving", "n1", size(60, 60), 0), c.add("waits", "", size(40, 40), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: moving, From: "n1", To: "n0", Unit: "u"}},
		Placements: []plan.Step{{Pod: waits, To: "n0", Unit: "u"}}}, c.free(), 0)
	e.Opened(moving.Object.UID)
	e.Evicted(moving.Object.UID)
	replacement, trial, room := c.object("moving"), e.Try(), c.free()
	free := func(node string) resources.Vector { return room[node] }

	first, _ := trial.Nodes(replacement, free)
	trial.Take(replacement, "n0")
	room["n0"] = room["n0"].Minus(size(60, 60))
	second, _ := trial.Nodes(waits.Object, free)

	if want := []string{"n0"}; !slices.Equal(first, want) || !slices.Equal(second, want) {
		t.Errorf("nodes %v for the replacement, then %v for the other pod", first, second)
	}
}

// Without a plan there is nothing to count.
func TestATrialWithoutAPlanPlansNothing(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100))
	pod := c.object("web")
	trial := (*executor.Execution)(nil).Try()
	trial.Take(pod, "n0")
	trial.GiveBack(pod.UID)

	if nodes, planned := trial.Nodes(pod, nil); planned || len(nodes) > 0 {
		t.Errorf("planned %t, nodes %v", planned, nodes)
	}
}
