package executor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// randomPlan fills a world and makes a plan from one feasible assignment to another one.
func randomPlan(t *testing.T, random *rand.Rand) (*world, *plan.Plan) {
	w := newWorld(t, random, 2+random.IntN(5), size(1000, 1000))
	after := w.free()
	place := func(free map[string]resources.Vector, requests resources.Vector) string {
		for _, i := range random.Perm(len(w.nodes)) {
			if node := w.nodes[i]; requests.FitsIn(free[node]) {
				free[node] = free[node].Minus(requests)
				return node
			}
		}
		return ""
	}
	for node := range after {
		after[node] = resources.Vector{CPUMilli: 1000, MemoryBytes: 1000, Pods: 110}
	}
	w.capacity.Pods = 110
	before := map[string]resources.Vector{}
	for node, room := range after {
		before[node] = room
	}
	of := &plan.Plan{}
	for owner := range 3 + random.IntN(12) {
		requests := size(int64(50+random.IntN(550)), int64(50+random.IntN(550)))
		for range 1 + random.IntN(3) {
			from, to := "", place(after, requests)
			if random.IntN(6) > 0 {
				from = place(before, requests)
			}
			pod := w.add(fmt.Sprintf("rs%d", owner), from, requests, int32(random.IntN(3)))
			switch {
			case from == to:
			case from == "":
				of.Placements = append(of.Placements, plan.Placement{Pod: pod, Node: to})
			case to == "":
				of.Evictions = append(of.Evictions, plan.Eviction{Pod: pod, Node: from})
			default:
				of.Moves = append(of.Moves, plan.Move{Pod: pod, From: from, To: to})
			}
		}
	}
	return w, of
}

// Whatever the plan, also one full of circles: no node is ever over its capacity, nothing moves
// before there is room for it, and the plan ends with every pod in its place.
func TestWavesNeverExceedCapacityAndAlwaysEnd(t *testing.T) {
	circles := 0
	for seed := range uint64(1500) {
		w, of := randomPlan(t, rand.New(rand.NewPCG(seed, 1)))

		e, early := w.carryOut(of)

		circles += early
		for uid, state := range e.States() {
			if state == executor.Waiting || state == executor.Evicted {
				t.Fatalf("seed %d: pod %s is left %s", seed, uid, state)
			}
		}
	}
	if circles == 0 {
		t.Error("no plan had a circle; the test shows less than it says")
	}
}

// Two full nodes swap their pods: one pod has to go first, and only one.
func TestCircleIsBrokenByTheShortestGap(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	slow := w.add("slow", "n0", size(100, 100), 0)
	quick := w.add("quick", "n1", size(100, 100), 0)
	seconds := int64(5)
	quick.Object.Spec.TerminationGracePeriodSeconds = &seconds
	of := &plan.Plan{Moves: []plan.Move{{Pod: slow, From: "n0", To: "n1"}, {Pod: quick, From: "n1", To: "n0"}}}

	wave := executor.New(of, w.free(), 0).Next(w.free())

	if len(wave) != 1 || wave[0].Pod != quick || !wave[0].Early {
		t.Fatalf("first wave = %+v, want the pod that terminates quickly, early", wave)
	}
	if _, early := w.carryOut(of); early != 1 {
		t.Errorf("%d pods went early, want 1", early)
	}
}

// A waiting pod with room to come to is waited for, unless it is known to wait for one of the others.
func TestHurriedPodGoesAlthoughAnotherIsExpected(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	first, second := w.add("first", "n0", size(60, 60), 0), w.add("second", "n1", size(60, 60), 0)
	waiting := w.add("waiting", "", size(30, 30), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Move{{Pod: first, From: "n0", To: "n1"}, {Pod: second, From: "n1", To: "n0"}},
		Placements: []plan.Placement{{Pod: waiting, Node: "n0"}}}, w.free(), 0)

	patient := e.Next(w.free())
	e.AllowEarly(second.Object.UID)
	hurried := e.Next(w.free())

	if len(patient) != 0 || len(hurried) != 1 || hurried[0].Pod != second || !hurried[0].Early {
		t.Errorf("first wave %+v, then %+v; want nobody, then the second pod", patient, hurried)
	}
	if uid, some := e.Unblock(w.free()); !some || uid != first.Object.UID {
		t.Errorf("unblocked %q, want the other one", uid)
	}
	if uid, some := e.Unblock(w.free()); some {
		t.Errorf("unblocked %q, though nobody is left", uid)
	}
}

// Evictions that turn out not to be needed are spared, the most important pods first.
func TestNeedlessEvictionsAreSpared(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 1, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	low := w.add("low", "n0", size(30, 30), 1)
	middle := w.add("middle", "n0", size(30, 30), 2)
	high := w.add("high", "", size(60, 60), 3)
	of := &plan.Plan{Placements: []plan.Placement{{Pod: high, Node: "n0"}},
		Evictions: []plan.Eviction{{Pod: low, Node: "n0"}, {Pod: middle, Node: "n0"}}}

	states := executor.New(of, w.free(), 0).States()

	if states[low.Object.UID] != executor.Waiting || states[middle.Object.UID] != executor.NotNeeded {
		t.Errorf("states = %v, want only the pod of lowest priority to go", states)
	}
}

// Replacements come back under new names: places are counted by owner and node, and an extra
// pod of the same owner gets none.
func TestPlacesAreCountedByOwnerAndNode(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 3, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	first := w.add("rs", "n0", size(10, 10), 0)
	second := w.add("rs", "n0", size(10, 10), 0)
	of := &plan.Plan{Moves: []plan.Move{{Pod: first, From: "n0", To: "n1"}, {Pod: second, From: "n0", To: "n1"}}}
	e := executor.New(of, w.free(), 0)
	free := func(node string) resources.Vector { return w.free()[node] }
	a, b, extra, other := w.object("rs"), w.object("rs"), w.object("rs"), w.object("other")

	if _, planned := e.Nodes(a, free); planned {
		t.Error("a place is open before its pod was evicted")
	}
	e.Opened(first.Object.UID)
	e.Opened(second.Object.UID)
	if nodes, planned := e.Nodes(a, free); !planned || len(nodes) != 1 || nodes[0] != "n1" {
		t.Errorf("nodes = %v, want n1", nodes)
	}
	if _, planned := e.Nodes(other, free); planned {
		t.Error("a place is open to a stranger")
	}
	if !e.Reserve(a, "n1") || !e.Reserve(b, "n1") {
		t.Fatal("two places, but not two reservations")
	}
	if e.Reserve(extra, "n1") {
		t.Error("a third pod got one of two places")
	}
	e.Unreserve(b.UID)
	e.Unreserve(b.UID)
	if !e.Reserve(extra, "n1") {
		t.Error("the place given back is not open again")
	}
	if e.Reserve(b, "n1") {
		t.Error("giving a place back twice opened two")
	}
}

// An eviction that is refused for now closes its place again: it is none while the pod stays.
func TestRefusedEvictionClosesItsPlace(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	pod := w.add("rs", "n0", size(10, 10), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Move{{Pod: pod, From: "n0", To: "n1"}}}, w.free(), 0)

	e.Opened(pod.Object.UID)
	e.Refused(pod.Object.UID)

	if e.Reserve(w.object("rs"), "n1") {
		t.Error("the place is still open")
	}
	if wave := e.Next(w.free()); len(wave) != 1 || wave[0].Pod != pod {
		t.Errorf("next wave = %v, want the pod again", wave)
	}
}

// A waiting pod does not overtake a replacement whose room is being made.
func TestWaitingPodDoesNotTakeTheRoomOfAReplacement(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	blocker := w.add("blocker", "n1", size(60, 60), 0)
	moved := w.add("moved", "n0", size(40, 40), 0)
	waiting := w.add("waiting", "", size(60, 60), 1)
	of := &plan.Plan{Placements: []plan.Placement{{Pod: waiting, Node: "n1"}},
		Moves:     []plan.Move{{Pod: moved, From: "n0", To: "n1"}},
		Evictions: []plan.Eviction{{Pod: blocker, Node: "n1"}}}
	e := executor.New(of, w.free(), 0)
	e.Opened(moved.Object.UID)

	short := map[string]resources.Vector{"n1": size(60, 60)}
	nodes, planned := e.Nodes(waiting.Object, func(node string) resources.Vector { return short[node] })

	if !planned || len(nodes) != 0 {
		t.Errorf("nodes = %v, planned = %v; want it to wait for its place", nodes, planned)
	}
}

// Outsiders only get what is free beyond the room of all arrivals to come.
func TestOutstandingRoomCoversArrivalsThatHaveNotBegun(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 2, resources.Vector{CPUMilli: 100, MemoryBytes: 100, Pods: 10})
	pod := w.add("rs", "n0", size(10, 20), 0)
	bare := w.add("", "", size(1, 2), 0)
	bare.Owner = types.UID("")
	of := &plan.Plan{Moves: []plan.Move{{Pod: pod, From: "n0", To: "n1"}},
		Placements: []plan.Placement{{Pod: bare, Node: "n1"}}}

	needed := executor.New(of, w.free(), 0).Outstanding()["n1"]

	if needed.CPUMilli != 11 || needed.MemoryBytes != 22 || needed.Pods != 2 {
		t.Errorf("outstanding = %+v, want both arrivals", needed)
	}
}

// One pod of the workload may be away at a time, and each still terminates when its replacement arrives. Every
// arrival must be credited to a move of its own, or the workload counts as away for ever and the plan stands still.
func TestEachArrivalIsThatOfOneMoveAlthoughThePodsStillTerminate(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100))
	of := &plan.Plan{}
	for i := range 3 {
		from := fmt.Sprintf("n%d", i)
		of.Moves = append(of.Moves, plan.Move{Pod: w.add("web", from, size(30, 30), 0), From: from, To: "n3"})
	}
	e := executor.New(of, w.free(), 1)
	var sent []types.UID

	for range of.Moves {
		wave := e.Next(w.free())
		if len(wave) != 1 {
			t.Fatalf("after %v the wave is %v; want one more pod", sent, wave)
		}
		uid := wave[0].Pod.Object.UID
		e.Opened(uid)
		e.Evicted(uid)
		sent = append(sent, uid)
		replacement := w.object("web")
		e.Reserve(replacement, "n3")
		e.Bound(replacement.UID)
	}
	for _, uid := range sent {
		e.Gone(uid)
	}

	if !e.Progress().Done() {
		t.Errorf("progress %+v", e.Progress())
	}
	for uid, state := range e.States() {
		if state != executor.Bound {
			t.Errorf("move of %s is %s", uid, state)
		}
	}
}

// A waiting pod may be deleted while the plan makes room for it. Its place goes to the one that its controller creates
// in its stead; where nobody comes the plan must not wait for it for good.
func TestPlaceOfAPodThatIsGoneIsGivenUpWhereNobodyComesInstead(t *testing.T) {
	w := newWorld(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100))
	bare, web := w.add("", "", size(10, 10), 0), w.add("web", "", size(10, 10), 0)
	gone := w.add("gone", "", size(10, 10), 0)
	bare.Owner = ""
	e := executor.New(&plan.Plan{Placements: []plan.Placement{
		{Pod: bare, Node: "n0"}, {Pod: web, Node: "n0"}, {Pod: gone, Node: "n0"}}}, w.free(), 1)
	for _, pod := range []*snapshot.Pod{bare, web, gone} {
		e.Note(pod.Object)
		e.Forget(pod.Object)
	}
	afterBare := e.Progress().Arrivals

	e.Note(w.object("web"))
	given := e.GiveUpVanished()

	if afterBare != 2 || given != 1 || e.Progress().Arrivals != 1 {
		t.Errorf("%d places without the bare pod, %d given up, %+v", afterBare, given, e.Progress())
	}
	if nodes, planned := e.Nodes(w.object("web"), func(string) resources.Vector { return size(100, 100) }); !planned || len(nodes) != 1 {
		t.Errorf("the one that came has %v", nodes)
	}
}
