package executor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
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

	first := e.Activatable(free, none)
	var bound types.UID
	for _, pod := range first {
		bound = pod.UID
		e.Reserve(pod, "n0", true)
		break
	}
	free["n0"] = free["n0"].Minus(size(20, 20))
	second := e.Activatable(free, func(uid types.UID) bool { return uid == bound })

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
	before := e.Activatable(c.free(), none)

	e.Opened(moving.Object.UID)

	nodes, planned := e.Nodes(waiting.Object, func(node string) resources.Vector { return c.free()[node] })
	if after := e.Activatable(c.free(), none); len(before) != 1 || len(after) != 0 || !planned || len(nodes) != 0 {
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
	e.Activatable(c.free(), none)
	full := mustWait(waiting.Object)
	delete(c.running, leaving.Object.UID)
	e.Activatable(c.free(), none)

	if !first || !full || mustWait(waiting.Object) {
		t.Errorf("must wait: %v at first, %v while the node is full, %v afterwards, want true, true, false",
			first, full, mustWait(waiting.Object))
	}
	if mustWait(stranger.Object) {
		t.Error("a pod that is none of the plan's business must wait")
	}
}

// oneAway is a plan that moves three pods of one workload, of which one may be away at a time. The first is gone.
func oneAway(t *testing.T) (*fakeCluster, *executor.Execution) {
	t.Helper()
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100))
	of := &plan.Plan{}
	for i := range 3 {
		from := fmt.Sprintf("n%d", i)
		of.Moves = append(of.Moves, plan.Step{Pod: c.add("web", from, size(30, 30), 0), From: from, To: "n3"})
	}
	e := executor.New(of, c.free(), 1)
	for _, departure := range e.Next(c.free()) {
		leave(e, departure)
	}
	return c, e
}

// arrive binds a replacement.
func arrive(e *executor.Execution, pod *v1.Pod) {
	e.Note(pod)
	e.Reserve(pod, "n3", true)
	e.Bound(pod.UID)
}

func terminating(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{}
	return pod
}

// A pod that has a node does not serve yet. Were the next one evicted then, a workload of two would serve nobody.
func TestNextPodOfAWorkloadLeavesOnceTheLastReplacementHasBeenReady(t *testing.T) {
	ended := func(pod *v1.Pod) *v1.Pod {
		pod = ready(pod)
		pod.Status = v1.PodStatus{Phase: v1.PodSucceeded}
		return pod
	}
	for text, row := range map[string]struct {
		happens  func(*executor.Execution, *v1.Pod)
		starting int
	}{
		"it has a node": {arrive, 1},
		"it is ready":   {func(e *executor.Execution, pod *v1.Pod) { arrive(e, pod); e.Note(ready(pod)) }, 0},
		// A kubelet may be quicker than the report to the scheduler. Nothing would report the pod again.
		"it is ready before it is reported as bound": {func(e *executor.Execution, pod *v1.Pod) {
			e.Reserve(pod, "n3", true)
			e.Note(ready(pod))
			e.Bound(pod.UID)
		}, 0},
		"it is of a Job, and done before anybody sees it ready": {func(e *executor.Execution, pod *v1.Pod) { arrive(e, pod); e.Note(ended(pod)) }, 0},
	} {
		c, e := oneAway(t)
		replacement := c.object("web")
		row.happens(e, replacement)

		next, limited, starting := e.Next(c.free()), e.Limited(), e.Starting()

		if len(starting) != row.starting || len(next) != 1-row.starting || e.Progress().Starting != row.starting ||
			row.starting == 1 && (limited != 2 || starting[0].Name != replacement.Name) {
			t.Errorf("%s: wave %v, %d moves may not begin, waiting for %v", text, next, limited, starting)
		}
	}
}

// A replacement may be deleted before it is ready. The workload still lacks a pod until the next one is ready, or until it
// is clear that none comes, since the workload was scaled down.
func TestReplacementThatVanishesIsStillMissing(t *testing.T) {
	for text, c := range map[string]func(*executor.Execution, *v1.Pod){
		"terminating": func(e *executor.Execution, pod *v1.Pod) { e.Note(terminating(pod)) },
		"gone":        func(e *executor.Execution, pod *v1.Pod) { e.Forget(pod) },
	} {
		cluster, e := oneAway(t)
		replacement, successor := cluster.object("web"), cluster.object("web")
		arrive(e, replacement)
		c(e, replacement)
		without := e.Next(cluster.free())
		e.Note(successor)
		waiting, given := e.Next(cluster.free()), e.GiveUpVanished()
		e.Note(ready(successor))

		if next := e.Next(cluster.free()); len(without)+len(waiting) != 0 || given != 0 || len(next) != 1 {
			t.Errorf("%s: waves %v, %v, %v, %d given up; want only the last", text, without, waiting, next, given)
		}

		cluster, e = oneAway(t)
		arrive(e, replacement)
		c(e, replacement)
		given = e.GiveUpVanished()

		if next := e.Next(cluster.free()); given != 1 || len(next) != 1 {
			t.Errorf("%s: wave %v without a successor, %d given up", text, next, given)
		}
	}
}

// A place that is dropped may be taken by any pod. A later process must neither hold it again nor send a pod there: it is
// that of the pod that is gone, also where it was meant for one that waits.
func TestPlacesThatAreDroppedAreToldToLaterProcesses(t *testing.T) {
	for first := range 2 { // whichever of the places is dropped
		c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100))
		of, told := &plan.Plan{}, []*packingplan.Step{}
		for i := range 2 {
			pod, node := c.add("web", "", size(60, 60), 0), c.nodes[(first+i)%2]
			of.Placements = append(of.Placements, plan.Step{Pod: pod, To: node})
			told = append(told, &packingplan.Step{PodUID: string(pod.Object.UID), OwnerUID: "web", Class: pod.Class, To: node})
		}
		e, stays := executor.New(of, c.free(), 0), of.Placements[1].Pod.Object
		e.Note(of.Placements[0].Pod.Object)
		e.Note(stays)

		e.Forget(of.Placements[0].Pod.Object)
		given, changed := e.GiveUpVanished(), e.Describe(told)

		nodes, _ := e.Nodes(stays, func(string) resources.Vector { return size(100, 100) })
		if given != 1 || !changed || e.Describe(told) || len(nodes) != 1 || told[1].To != nodes[0] || told[1].State != "" ||
			told[0].To == nodes[0] || told[0].State != packingplan.NotNeeded {
			t.Errorf("%d given up; the pod that waits may go to %v; told %+v, %+v", given, nodes, told[0], told[1])
		}
	}
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100))
	bare := c.add("", "", size(60, 60), 0)
	bare.Owner = bare.Object.UID
	told := []*packingplan.Step{{PodUID: string(bare.Object.UID), Class: bare.Class, To: "n0"}}
	e := executor.New(&plan.Plan{Placements: []plan.Step{{Pod: bare, To: "n0"}}}, c.free(), 0)
	e.Forget(bare.Object)

	if changed := e.Describe(told); !changed || told[0].State != packingplan.NotNeeded {
		t.Errorf("a pod without a controller: changed %t, told %+v", changed, told[0])
	}
}

// The replacement of a pod that a former process evicted has come. If it goes before a further process takes the plan over,
// that must not wait for another one: the pods that come then are placed wherever there is room.
func TestArrivalForAMoveOfAFormerProcessIsTold(t *testing.T) {
	for _, named := range []bool{false, true} { // whether the plan names the pod that arrives
		c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100))
		pod := c.add("web", "", size(60, 60), 0)
		step := func(uid, from, to string, state packingplan.State) *packingplan.Step {
			return &packingplan.Step{PodUID: uid, OwnerUID: "web", Class: pod.Class, From: from, To: to, State: state}
		}
		told := []*packingplan.Step{step("gone", "n1", "n0", packingplan.Gone)}
		of := &plan.Plan{Placements: []plan.Step{{Pod: pod, To: "n0"}}}
		if named {
			told = append(told, step(string(pod.Object.UID), "", "n1", ""))
			of.Placements = append(of.Placements, plan.Step{Pod: c.add("web", "", size(60, 60), 0), To: "n1"})
		}
		e := executor.New(of, c.free(), 0)

		took, bound := e.Reserve(pod.Object, "n0", true), e.Bound(pod.Object.UID)

		changed := e.Describe(told)
		switch {
		case !took || !bound || !changed || e.Describe(told):
			t.Errorf("named %t: took %t, bound %t, changed %t", named, took, bound, changed)
		case !named && told[0].State != packingplan.Bound:
			t.Errorf("the move is %s", told[0].State)
		case named && (told[0].State != packingplan.Gone || told[0].To != "n1" || told[1].To != "n0"):
			t.Errorf("told %+v, %+v, want their targets exchanged", told[0], told[1])
		}
	}
}

// A pod whose target gets its room as soon as a replacement elsewhere is ready does not go before that.
func TestNoPodGoesEarlyForAReplacementThatIsStarting(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 5, size(100, 100))
	first, second, other := c.add("web", "n0", size(60, 60), 0), c.add("web", "n1", size(60, 60), 0), c.add("other", "n4", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n3"}, {Pod: second, From: "n1", To: "n2"},
		{Pod: other, From: "n4", To: "n1"}}}, c.free(), 1)
	e.Next(c.free())
	leave(e, executor.Departure{Pod: first})
	replacement := c.object("web")
	arrive(e, replacement)

	meanwhile := e.Next(c.free())
	e.Note(ready(replacement))

	if next := e.Next(c.free()); len(meanwhile) != 0 || len(next) != 1 || next[0].Pod != second {
		t.Errorf("waves %v, then %v; want none, then the second pod", meanwhile, next)
	}
}

// leave has the pod of a departure leave at once.
func leave(e *executor.Execution, departure executor.Departure) {
	uid := departure.Pod.Object.UID
	e.Opened(uid)
	e.Evicted(uid)
	e.Gone(uid)
}
