package executor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// randomPlan fills a cluster and makes a plan from one feasible assignment to another one.
func randomPlan(t *testing.T, random *rand.Rand) (*fakeCluster, *plan.Plan) {
	c := newFakeCluster(t, random, 2+random.IntN(5), size(1000, 1000))
	c.capacity = c.capacity.WithPods(110)
	after := c.free()
	before := maps.Clone(after)
	place := func(free map[string]resources.Vector, requests resources.Vector) string {
		for _, i := range random.Perm(len(c.nodes)) {
			if node := c.nodes[i]; requests.FitsIn(free[node]) {
				free[node] = free[node].Minus(requests)
				return node
			}
		}
		return ""
	}
	of := &plan.Plan{}
	for owner := range 3 + random.IntN(12) {
		requests := size(int64(50+random.IntN(550)), int64(50+random.IntN(550)))
		for range 1 + random.IntN(3) {
			from, to := "", place(after, requests)
			if random.IntN(6) > 0 {
				from = place(before, requests)
			}
			pod := c.add(fmt.Sprintf("rs%d", owner), from, requests, int32(random.IntN(3)))
			switch {
			case from == to:
			case from == "":
				of.Placements = append(of.Placements, plan.Step{Pod: pod, To: to})
			case to == "":
				of.Evictions = append(of.Evictions, plan.Step{Pod: pod, From: from})
			default:
				of.Moves = append(of.Moves, plan.Step{Pod: pod, From: from, To: to})
			}
		}
	}
	return c, of
}

// plansUnderWay is how many random plans a test carries out; PLANS in the environment has it try more.
func plansUnderWay(t *testing.T, usual int) uint64 {
	t.Helper()
	if wanted := os.Getenv("PLANS"); wanted != "" {
		plans, err := strconv.ParseUint(wanted, 10, 64)
		if err != nil {
			t.Fatalf("PLANS: %v", err)
		}
		return plans
	}
	return uint64(usual)
}

// Whatever the plan, even with many cycles, and however few pods of an owner may be away at a time: no node ever exceeds
// its capacity, no pod moves before there is room for it, no place loses its room to a pod of the plan, and the plan ends
// with every pod in its place. With races, too: replicas are alike, so whichever comes first takes a place.
func TestWavesNeverExceedCapacityAndAlwaysEnd(t *testing.T) {
	for _, races := range []bool{false, true} {
		for _, atOnce := range []int{0, 1, 2} {
			circles := 0
			for seed := range plansUnderWay(t, 500) {
				c, of := randomPlan(t, rand.New(rand.NewPCG(seed, 1)))
				c.races = races

				e, early := c.execute(of, atOnce)

				circles += early
				for uid, state := range e.States() {
					if state == packingplan.Waiting || state == packingplan.Evicted {
						t.Fatalf("seed %d, %d at once: pod %s is left %s", seed, atOnce, uid, state)
					}
				}
			}
			if circles == 0 {
				t.Error("no plan had a circle; the test shows less than it says")
			}
		}
	}
}

// The pods of a workload may leave one at a time only. The first waits for room that another workload's pod leaves once
// the second has left, which may not: it takes the second one's place, and the second gets its own.
func TestReplacementTakesThePlaceOfAPodThatMayNotLeaveYet(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
	first, second := c.add("rs", "n0", size(60, 60), 0), c.add("rs", "n1", size(60, 60), 0)
	other := c.add("other", "n2", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n2"}, {Pod: second, From: "n1", To: "n0"},
		{Pod: other, From: "n2", To: "n1"}}}, c.free(), 1)
	e.AllowEarly(first.Object.UID)
	c.evict(e, executor.Departure{Pod: first, To: "n2", Early: true})
	for range 3 {
		c.tick(e)
	}

	for range 30 {
		for _, departure := range e.Next(c.free()) {
			c.evict(e, departure)
		}
		c.tick(e)
	}

	if states := e.States(); !e.Progress().Done() || states[first.Object.UID] != packingplan.Bound {
		t.Errorf("states %v, want all done", states)
	}
	// The next process must look for the replacements where they went.
	told := []*packingplan.Step{{PodUID: string(first.Object.UID), To: "n2", State: "Waiting"}, {PodUID: string(second.Object.UID), To: "n0"}}
	changed, again := e.Describe(told), e.Describe(told)
	if !changed || again || told[0].To != "n0" || told[1].To != "n2" || told[0].State != packingplan.Bound {
		t.Errorf("changed %t, then %t; targets %+v, %+v, want those of the first two exchanged", changed, again, told[0], told[1])
	}
}

// A pod whose own node is the target of another replica stays, once the other has taken the place that it was to
// have.
func TestPodStaysInThePlaceThatWasAnothersTarget(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
	first, second := c.add("rs", "n0", size(60, 60), 0), c.add("rs", "n1", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n1"}, {Pod: second, From: "n1", To: "n2"}}},
		c.free(), 1)
	c.evict(e, executor.Departure{Pod: first, To: "n1", Early: true})

	if limited := e.Limited(); limited != 1 {
		t.Errorf("%d moves may not begin, want that of the second pod", limited)
	}
	wave := e.Next(c.free())
	for range 30 {
		c.tick(e)
	}

	if state := e.States()[second.Object.UID]; len(wave) > 0 || state != packingplan.NotNeeded || !e.Progress().Done() {
		t.Errorf("wave %v, second pod %s, %+v; want none, not needed, all done", wave, state, e.Progress())
	}
}

// Two full nodes swap their pods: one pod has to go first, and only one.
func TestCycleIsBrokenByTheShortestGap(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	slow := c.add("slow", "n0", size(100, 100), 0)
	quick := c.add("quick", "n1", size(100, 100), 0)
	seconds := int64(5)
	quick.Object.Spec.TerminationGracePeriodSeconds = &seconds
	of := &plan.Plan{Moves: []plan.Step{{Pod: slow, From: "n0", To: "n1"}, {Pod: quick, From: "n1", To: "n0"}}}

	wave := executor.New(of, c.free(), 0).Next(c.free())

	if len(wave) != 1 || wave[0].Pod != quick || !wave[0].Early {
		t.Fatalf("first wave = %+v, want the pod that terminates quickly, early", wave)
	}
	if _, early := c.execute(of, 0); early != 1 {
		t.Errorf("%d pods went early, want 1", early)
	}
}

// Cycles that have nothing to do with each other are broken at the same time, one pod of each: one after the other, a plan of
// hundreds would take as many times the time that a pod takes to end and to start.
func TestEachCycleIsBrokenByItself(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 8, size(100, 100).WithPods(10))
	of := &plan.Plan{}
	for i := range 8 {
		from, to := fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i^1)
		of.Moves = append(of.Moves, plan.Step{Pod: c.add(fmt.Sprintf("rs%d", i), from, size(100, 100), 0), From: from, To: to})
	}

	wave := executor.New(of, c.free(), 1).Next(c.free())

	from := map[string]bool{}
	for _, departure := range wave {
		from[departure.Pod.Node] = departure.Early
	}
	for i := 0; i < 8; i += 2 {
		if a, b := fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i+1); from[a] == from[b] {
			t.Errorf("of %s and %s not exactly one is left early: %v", a, b, from)
		}
	}
	if _, early := c.execute(of, 1); early != 4 {
		t.Errorf("%d pods went early, want one of each of 4 cycles", early)
	}
}

// A pod that takes long to end, or to come, holds up those alone that need its room, or its place. If all waited until no pod
// was under way anywhere, a plan of many cycles would take as long as all of these together.
func TestACycleDoesNotWaitForPodsElsewhere(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 5, size(100, 100).WithPods(10))
	add := func(name, node string) *snapshot.Pod { return c.add(name, node, size(100, 100), 0) }
	a, b, one, other := add("a", "n0"), add("b", "n1"), add("c", "n2"), add("d", "n3")
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: a, From: "n0", To: "n1"}, {Pod: b, From: "n1", To: "n0"},
		{Pod: one, From: "n2", To: "n3"}, {Pod: other, From: "n3", To: "n2"}}}, c.free(), 0)
	first := e.Next(c.free())
	if names := namesOf(first); !slices.Equal(names, []string{"a-1", "c-3"}) {
		t.Fatalf("at first %v leave, want one of each cycle", names)
	}
	e.Opened(a.Object.UID)
	e.Evicted(a.Object.UID) // and terminates for long
	e.Opened(one.Object.UID)
	e.Refused(one.Object.UID)

	if names := namesOf(e.Next(c.free())); !slices.Equal(names, []string{"c-3"}) {
		t.Errorf("while a terminates, %v leave, want c alone: b waits for the place of a's replacement", names)
	}
}

// The execution waits for a pod that has room at its place, unless that pod is known to wait for one of the others.
func TestEarlyPodIsEvictedAlthoughAnotherIsExpected(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	first, second := c.add("first", "n0", size(60, 60), 0), c.add("second", "n1", size(60, 60), 0)
	waiting := c.add("waiting", "", size(30, 30), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n1"}, {Pod: second, From: "n1", To: "n0"}},
		Placements: []plan.Step{{Pod: waiting, To: "n0"}}}, c.free(), 0)

	patient := e.Next(c.free())
	e.AllowEarly(second.Object.UID)
	early := e.Next(c.free())

	if len(patient) != 0 || len(early) != 1 || early[0].Pod != second || !early[0].Early {
		t.Errorf("first wave %+v, then %+v; want no pods, then the second pod", patient, early)
	}
	if uids := e.Unblock(c.free()); len(uids) != 1 || uids[0] != first.Object.UID {
		t.Errorf("unblocked %v, want the other one", uids)
	}
	if uids := e.Unblock(c.free()); len(uids) != 0 {
		t.Errorf("unblocked %v, although no pod is left", uids)
	}
}

// Evictions that turn out not to be needed are skipped, those of the most important pods first.
func TestUnneededEvictionsAreSkipped(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100).WithPods(10))
	low := c.add("low", "n0", size(30, 30), 1)
	middle := c.add("middle", "n0", size(30, 30), 2)
	high := c.add("high", "", size(60, 60), 3)
	of := &plan.Plan{Placements: []plan.Step{{Pod: high, To: "n0"}},
		Evictions: []plan.Step{{Pod: low, From: "n0"}, {Pod: middle, From: "n0"}}}

	states := executor.New(of, c.free(), 0).States()

	if states[low.Object.UID] != packingplan.Waiting || states[middle.Object.UID] != packingplan.NotNeeded {
		t.Errorf("states = %v, want only the pod of lowest priority to go", states)
	}
}

// Replacements come back under new names: places are counted by owner and node, and an extra
// pod of the same owner gets none.
func TestPlacesAreCountedByOwnerAndNode(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
	first := c.add("rs", "n0", size(10, 10), 0)
	second := c.add("rs", "n0", size(10, 10), 0)
	of := &plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n1"}, {Pod: second, From: "n0", To: "n1"}}}
	e := executor.New(of, c.free(), 0)
	free := func(node string) resources.Vector { return c.free()[node] }
	a, b, extra, other := c.object("rs"), c.object("rs"), c.object("rs"), c.object("other")

	if _, planned := e.Nodes(a, free); planned {
		t.Error("a place is open before its pod was evicted")
	}
	for _, uid := range []types.UID{first.Object.UID, second.Object.UID} {
		e.Opened(uid)
		e.Evicted(uid)
	}
	if nodes, planned := e.Nodes(a, free); !planned || len(nodes) != 1 || nodes[0] != "n1" {
		t.Errorf("nodes = %v, want n1", nodes)
	}
	if _, planned := e.Nodes(other, free); planned {
		t.Error("a place is open to a stranger")
	}
	if !e.Reserve(a, "n1", true) || !e.Reserve(b, "n1", true) {
		t.Fatal("two places, but not two reservations")
	}
	if e.Reserve(extra, "n1", false) {
		t.Error("a third pod got one of two places")
	}
	e.Unreserve(b.UID)
	e.Unreserve(b.UID)
	if !e.Reserve(extra, "n1", false) {
		t.Error("the place given back is not open again")
	}
	if e.Reserve(b, "n1", false) {
		t.Error("giving a place back twice opened two")
	}
}

// An eviction that is refused for now closes its place again, as long as the pod stays.
func TestRefusedEvictionClosesItsPlace(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	pod := c.add("rs", "n0", size(10, 10), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: pod, From: "n0", To: "n1"}}}, c.free(), 0)

	e.Opened(pod.Object.UID)
	e.Refused(pod.Object.UID)

	if e.Reserve(c.object("rs"), "n1", false) {
		t.Error("the place is still open")
	}
	if wave := e.Next(c.free()); len(wave) != 1 || wave[0].Pod != pod {
		t.Errorf("next wave = %v, want the pod again", wave)
	}
}

// A replica that waited anyway must not take the place of a move that may still be refused: the pod would stay, with
// no place left, and so would the room that the plan needs on its node. Once the pod leaves for certain, any pod may come.
func TestPlaceIsNotTakenBeforeItsPodLeavesForCertain(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	pod, waits := c.add("rs", "n0", size(60, 60), 0), c.add("rs", "", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: pod, From: "n0", To: "n1"}}}, c.free(), 0)
	e.Note(waits.Object)
	takers := func() (pods int) {
		nodes, planned := e.Nodes(waits.Object, func(node string) resources.Vector { return c.free()[node] })
		if !planned {
			t.Error("the pod is not kept off other nodes")
		}
		activated := e.Activatable(c.free(), func(types.UID) bool { return false })
		took := e.Reserve(waits.Object, "n1", true)
		if e.Unreserve(waits.Object.UID); took != (len(nodes) > 0) || took != (len(activated) > 0) {
			t.Errorf("took the place: %t, with the nodes %v, activated %v", took, nodes, activated)
		}
		return len(nodes)
	}

	e.Opened(pod.Object.UID)
	asked := takers()
	e.Evicted(pod.Object.UID)

	if certain := takers(); asked != 0 || certain != 1 {
		t.Errorf("%d nodes while the eviction is asked for, %d after it", asked, certain)
	}
}

// An eviction may have been carried out although its answer was lost. Its place stays open, since the replacement must not go
// anywhere else, and no other pod of its owner leaves; but the eviction is tried again.
func TestUnansweredEvictionKeepsItsPlaceOpen(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
	pod, other := c.add("rs", "n0", size(10, 10), 0), c.add("rs", "n0", size(10, 10), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: pod, From: "n0", To: "n1"}, {Pod: other, From: "n0", To: "n2"}}}, c.free(), 1)

	e.Opened(pod.Object.UID)
	e.Unanswered(pod.Object.UID)

	if wave := e.Next(c.free()); len(wave) != 1 || wave[0].Pod != pod {
		t.Errorf("next wave = %v, want the pod again", wave)
	}
	replacement := c.object("rs")
	if nodes, planned := e.Nodes(replacement, func(node string) resources.Vector { return c.free()[node] }); !planned || len(nodes) > 0 {
		t.Errorf("planned: %t, with the nodes %v; want that it waits for its place", planned, nodes)
	}
	e.Evicted(pod.Object.UID)
	e.Gone(pod.Object.UID)
	if !e.Reserve(replacement, "n1", true) {
		t.Fatal("the place is closed")
	}
	e.Bound(replacement.UID)
	e.Note(ready(replacement))
	if wave := e.Next(c.free()); len(wave) != 1 || wave[0].Pod != other {
		t.Errorf("last wave = %v, want the other pod", wave)
	}
}

// Pods outside the plan only get what is free beyond the room of all outstanding arrivals.
func TestOutstandingRoomCoversArrivalsThatHaveNotBegun(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	pod := c.add("rs", "n0", size(10, 20), 0)
	bare := c.add("", "", size(1, 2), 0)
	bare.Owner = types.UID("")
	of := &plan.Plan{Moves: []plan.Step{{Pod: pod, From: "n0", To: "n1"}},
		Placements: []plan.Step{{Pod: bare, To: "n1"}}}

	needed := executor.New(of, c.free(), 0).Outstanding()["n1"]

	if !needed.Equal(size(11, 22).WithPods(2)) {
		t.Errorf("outstanding = %+v, want both arrivals", needed)
	}
}

// One pod of the workload may be moved at a time, and each still terminates when its replacement arrives. Every arrival
// must count for a move of its own, or the workload counts as unavailable for ever and the plan makes no progress.
func TestEachArrivalIsThatOfOneMoveAlthoughThePodsStillTerminate(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100))
	of := &plan.Plan{}
	for i := range 3 {
		from := fmt.Sprintf("n%d", i)
		of.Moves = append(of.Moves, plan.Step{Pod: c.add("web", from, size(30, 30), 0), From: from, To: "n3"})
	}
	e := executor.New(of, c.free(), 1)
	var sent []types.UID

	for range of.Moves {
		wave := e.Next(c.free())
		if len(wave) != 1 {
			t.Fatalf("after %v the wave is %v; want one more pod", sent, wave)
		}
		uid := wave[0].Pod.Object.UID
		e.Opened(uid)
		e.Evicted(uid)
		sent = append(sent, uid)
		replacement := c.object("web")
		arrive(e, replacement)
		e.Note(ready(replacement))
	}
	for _, uid := range sent {
		e.Gone(uid)
	}

	if !e.Progress().Done() {
		t.Errorf("progress %+v", e.Progress())
	}
	for uid, state := range e.States() {
		if state != packingplan.Bound {
			t.Errorf("move of %s is %s", uid, state)
		}
	}
}

// A waiting pod may be deleted while the plan makes room for it. Its place goes to its replacement; if there is none, the
// plan must not wait for it for ever.
func TestPlaceOfAPodThatIsGoneIsDroppedWithoutAReplacement(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100))
	bare, web := c.add("", "", size(10, 10), 0), c.add("web", "", size(10, 10), 0)
	gone := c.add("gone", "", size(10, 10), 0)
	bare.Owner = ""
	e := executor.New(&plan.Plan{Placements: []plan.Step{
		{Pod: bare, To: "n0"}, {Pod: web, To: "n0"}, {Pod: gone, To: "n0"}}}, c.free(), 1)
	for _, pod := range []*snapshot.Pod{bare, web, gone} {
		e.Note(pod.Object)
		e.Forget(pod.Object)
	}
	afterBare := e.Progress().Arrivals

	e.Note(c.object("web"))
	given := e.GiveUpVanished()

	if afterBare != 2 || given != 1 || e.Progress().Arrivals != 1 {
		t.Errorf("%d places without the bare pod, %d dropped, %+v", afterBare, given, e.Progress())
	}
	if nodes, planned := e.Nodes(c.object("web"), func(string) resources.Vector { return size(100, 100) }); !planned || len(nodes) != 1 {
		t.Errorf("the one that came has %v", nodes)
	}
}

// A pod that still terminates has no replacement yet: none has vanished, and the replicas that wait keep their places.
func TestPlaceOfAWaitingPodIsKeptWhileAReplicaLeaves(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100))
	waits, leaves := c.add("web", "", size(10, 10), 0), c.add("web", "n0", size(10, 10), 0)
	e := executor.New(&plan.Plan{Placements: []plan.Step{{Pod: waits, To: "n1"}},
		Moves: []plan.Step{{Pod: leaves, From: "n0", To: "n2"}}}, c.free(), 1)
	e.Note(waits.Object)
	e.Opened(leaves.Object.UID)
	e.Evicted(leaves.Object.UID)
	while := e.GiveUpVanished()
	e.Gone(leaves.Object.UID)

	if after := e.GiveUpVanished(); while != 0 || after != 1 {
		t.Errorf("%d places are given up while it leaves, %d after that", while, after)
	}
}

// What a former process was still making room for counts: an eviction without which that does not fit is needed.
func TestEvictionForAPodThatIsStillToBeCreatedIsNeeded(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100))
	low := c.add("low", "n0", size(60, 60), 0)
	e := executor.New(&plan.Plan{Evictions: []plan.Step{{Pod: low, From: "n0"}}}, c.free(), 1)
	without := e.States()[low.Object.UID]

	expected := &packingplan.Record{}
	expected.Status.Classes = []packingplan.Class{{ID: "k", Requests: size(60, 60).List()}}
	expected.Status.Steps = []*packingplan.Step{{Pod: "default/high-1", OwnerUID: "high", Class: "k", From: "n1", To: "n0"}}
	e.Expect(executor.PlacesOf(expected, nil))

	if with := e.States()[low.Object.UID]; without != packingplan.NotNeeded || with != packingplan.Waiting {
		t.Errorf("%s without a pod to come, %s with one", without, with)
	}
}

// Another process reads from the plan's object which places are left: a waiting pod and a move may have exchanged theirs.
func TestPlaceThatAWaitingPodHasLeftToAMoveIsTold(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100))
	waits, stays := c.add("web", "", size(10, 10), 0), c.add("web", "n1", size(10, 10), 0)
	e := executor.New(&plan.Plan{Placements: []plan.Step{{Pod: waits, To: "n1"}},
		Moves: []plan.Step{{Pod: stays, From: "n1", To: "n2"}}}, c.free(), 1)
	told := func(pod *snapshot.Pod, from, to string) *packingplan.Step {
		return &packingplan.Step{PodUID: string(pod.Object.UID), OwnerUID: "web", Class: pod.Class, From: from, To: to}
	}
	steps := []*packingplan.Step{told(waits, "", "n1"), told(stays, "n1", "n2")}

	took := e.Reserve(waits.Object, "n2", true)

	if changed := e.Describe(steps); !took || !changed || steps[0].To != "n2" || steps[1].State != packingplan.NotNeeded {
		t.Errorf("took %v; the waiting pod goes to %s, the move to %s is %s", took, steps[0].To, steps[1].To, steps[1].State)
	}
}
