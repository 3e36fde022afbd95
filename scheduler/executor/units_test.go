package executor_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
)

// gang is a plan of two units: a pod by itself, and two pods that move from n0 to n1 and n2. One of the two finds no room
// as long as the pod by itself is there.
func gang(t *testing.T) (c *fakeCluster, of *plan.Plan) {
	c = newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100).WithPods(10))
	first, second := c.add("gang", "n0", size(50, 50), 0), c.add("gang", "n0", size(50, 50), 0)
	alone := c.add("alone", "n2", size(80, 80), 0)
	return c, &plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n1", Unit: "gang"},
		{Pod: second, From: "n0", To: "n2", Unit: "gang"}, {Pod: alone, From: "n2", To: "n3"}}}
}

func namesOf(wave []executor.Departure) (names []string) {
	for _, one := range wave {
		names = append(names, one.Pod.Object.Name)
	}
	slices.Sort(names)
	return names
}

// One pod of a unit that had left alone would serve nobody, on neither node. All leave, even if their workload may lose one
// pod at a time, and a refused eviction is tried again, although its workload has lost a pod and other moves want the room.
func TestPodsOfAUnitLeaveTogether(t *testing.T) {
	c, of := gang(t)
	e := executor.New(of, c.free(), 1)

	first := c.wave(e)
	e.Opened("alone-3")
	e.Evicted("alone-3")
	delete(c.running, "alone-3")
	e.Gone("alone-3")
	second := c.wave(e)
	e.Opened("gang-1")
	held := e.InFlight()
	e.Refused("gang-2")
	closed := e.InFlight()["n1"]
	e.Opened("gang-1")
	e.Evicted("gang-1")
	e.Refused("gang-2")
	third := c.wave(e)

	if got := namesOf(first); !slices.Equal(got, []string{"alone-3"}) {
		t.Errorf("first leave %v", got)
	}
	if got := namesOf(second); !slices.Equal(got, []string{"gang-1", "gang-2"}) {
		t.Errorf("then leave %v", got)
	}
	if want := size(50, 50); !held["n1"].Equal(want) || !held["n2"].Equal(want) || !closed.IsZero() || !e.InFlight()["n2"].Equal(want) {
		t.Errorf("places for %v, then %v, then %v", held, closed, e.InFlight())
	}
	if got := namesOf(third); !slices.Equal(got, []string{"gang-2"}) {
		t.Errorf("at last leave %v", got)
	}
}

// A pod of the unit may have left, although the eviction was not answered: the other ones follow it, even if refused once.
func TestUnitStaysOpenWhileAnEvictionIsUnanswered(t *testing.T) {
	c, of := gang(t)
	e := executor.New(of, c.free(), 1)

	e.Opened("gang-1")
	e.Unanswered("gang-1")
	e.Refused("gang-2")
	unsure := e.InFlight()["n1"]
	e.Refused("gang-1")

	if !unsure.Equal(size(50, 50)) || !e.InFlight()["n1"].IsZero() {
		t.Errorf("places for %v, and for %v once both were refused", unsure, e.InFlight()["n1"])
	}
}

// A cycle of moves is broken for a whole unit.
func TestUnitIsUnblockedWhole(t *testing.T) {
	c, of := gang(t)
	of.Moves[2].To = "n0"

	e := executor.New(of, c.free(), 0)

	if uids := e.Unblock(c.free()); len(uids) != 1 && len(uids) != 2 || slices.Contains(uids, "gang-1") != slices.Contains(uids, "gang-2") {
		t.Errorf("unblocked %v", uids)
	}
	if got := namesOf(e.Next(c.free())); slices.Contains(got, "gang-1") != slices.Contains(got, "gang-2") || len(got) == 0 {
		t.Errorf("leave %v", got)
	}
}

// A scheduling cycle for some pods of a unit is in vain while another one has no room. If a pod of it never comes, what is
// held for the others is in the way.
func TestUnitArrivesWholeOrIsGivenUp(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	steady := c.add("steady", "n1", size(80, 80), 0)
	first, second := c.add("gang", "", size(50, 50), 0), c.add("gang", "", size(50, 50), 0)
	of := &plan.Plan{Placements: []plan.Step{{Pod: first, To: "n0", Unit: "gang"}, {Pod: second, To: "n1", Unit: "gang"}}}
	e := executor.New(of, c.free(), 0)
	e.Note(first.Object)
	e.Note(second.Object)

	before := e.Activatable(c.free(), none)
	delete(c.running, steady.Object.UID)
	together := e.Activatable(c.free(), none)
	e.Forget(second.Object)
	alone := e.Activatable(c.free(), none)

	if len(before) != 0 || len(together) != 2 || len(alone) != 0 {
		t.Errorf("ready: %d, then %d, then %d; want 0, 2, 0", len(before), len(together), len(alone))
	}
	if given := e.GiveUpVanished(); given != 2 || !e.Progress().Done() {
		t.Errorf("gave %d places up, %+v", given, e.Progress())
	}
}

// Where a waiting pod of a unit has gone for good, its running pods stay. An eviction is needless only with those beside it.
func TestUnitStaysWhole(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
	bare, moving := c.add("", "", size(10, 10), 5), c.add("gang", "n0", size(10, 10), 5)
	bare.Owner = bare.Object.UID
	one, two := c.add("pair", "n1", size(50, 50), 0), c.add("pair", "n2", size(50, 50), 0)
	high := c.add("high", "", size(80, 80), 9)
	of := &plan.Plan{Placements: []plan.Step{{Pod: bare, To: "n1", Unit: "gang"}, {Pod: high, To: "n2"}},
		Moves:     []plan.Step{{Pod: moving, From: "n0", To: "n1", Unit: "gang"}},
		Evictions: []plan.Step{{Pod: one, From: "n1", Unit: "pair"}, {Pod: two, From: "n2", Unit: "pair"}}}
	e := executor.New(of, c.free(), 0)

	before := e.States()
	e.Forget(bare.Object)

	states := e.States()
	if before[one.Object.UID] != packingplan.Waiting || before[two.Object.UID] != packingplan.Waiting || before[moving.Object.UID] != packingplan.Waiting {
		t.Errorf("states %v", before)
	}
	if states[moving.Object.UID] != packingplan.NotNeeded || e.Progress().Arrivals != 1 || states[one.Object.UID] != packingplan.Waiting {
		t.Errorf("states %v after it has gone, %+v", states, e.Progress())
	}
}

// A pod that came before the others of its unit would hold room, and wait there for those that have none. It waits
// where it takes nothing.
func TestNoPodOfAUnitHasANodeBeforeAllHave(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	steady := c.add("steady", "n1", size(80, 80), 0)
	first, second := c.add("a", "", size(50, 50), 0), c.add("b", "", size(50, 50), 0)
	of := &plan.Plan{Placements: []plan.Step{{Pod: first, To: "n0", Unit: "gang/a"},
		{Pod: second, To: "n1", Unit: "gang/a"}}}
	e := executor.New(of, c.free(), 0)
	e.Note(first.Object)
	e.Note(second.Object)
	look := func() (nodes []string, lacks, ready bool) {
		e.Activatable(c.free(), none)
		nodes, _ = e.Nodes(first.Object, nil)
		lacks, ready = e.Lacks("gang/a")
		return nodes, lacks, ready
	}

	early, lacks, readyEarly := look()
	delete(c.running, steady.Object.UID)
	nodes, _, ready := look()
	e.Reserve(first.Object, "n0", true)
	e.Reserve(second.Object, "n1", true)
	left, _ := e.Lacks("gang/a")
	other, _ := e.Lacks("gang/b")

	if len(early) != 0 || !lacks || readyEarly {
		t.Errorf("nodes %v while one pod has no room; lacks pods %t, ready %t", early, lacks, readyEarly)
	}
	if !slices.Equal(nodes, []string{"n0"}) || !ready || left || other {
		t.Errorf("then nodes %v, ready %t; lacks pods once both have places: %t, another unit: %t", nodes, ready, left, other)
	}
}

// A unit that could come cannot any more once one of its pods is gone.
func TestUnitIsNotReadyWithoutThePodThatIsGone(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	first, second := c.add("a", "", size(50, 50), 0), c.add("b", "", size(50, 50), 0)
	e := executor.New(&plan.Plan{Placements: []plan.Step{{Pod: first, To: "n0", Unit: "u"},
		{Pod: second, To: "n1", Unit: "u"}}}, c.free(), 0)
	e.Note(first.Object)
	e.Note(second.Object)
	e.Activatable(c.free(), none)

	_, before := e.Lacks("u")
	e.Forget(second.Object)

	if _, after := e.Lacks("u"); !before || after {
		t.Errorf("ready: %t, and %t without the pod", before, after)
	}
}

// halfAway is a unit of two pods that move and one that waits. One has left.
func halfAway(t *testing.T) (c *fakeCluster, e *executor.Execution, waits *plan.Step) {
	t.Helper()
	c = newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100).WithPods(10))
	first, second := c.add("a", "n0", size(50, 50), 0), c.add("b", "n0", size(50, 50), 0)
	third := c.add("c", "", size(50, 50), 0)
	of := &plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n1", Unit: "u"},
		{Pod: second, From: "n0", To: "n2", Unit: "u"}}, Placements: []plan.Step{{Pod: third, To: "n3", Unit: "u"}}}
	e = executor.New(of, c.free(), 1)
	e.Note(third.Object)
	e.Opened(first.Object.UID)
	e.Evicted(first.Object.UID)
	return c, e, &of.Placements[0]
}

// A pod that has left for its unit cannot be called back. Where another one will never come, the others come all the
// same.
func TestUnitThatHasBegunIsNotGivenUp(t *testing.T) {
	c, e, waits := halfAway(t)

	e.Forget(waits.Pod.Object)
	given := e.GiveUpVanished()

	if names := namesOf(c.wave(e)); given != 1 || !slices.Equal(names, []string{"b-2"}) {
		t.Errorf("gave %d places up, and %v leave; want one, and that the other pod leaves", given, names)
	}
	if left := e.Progress(); left.Arrivals != 2 || left.Departures != 2 {
		t.Errorf("left %+v", left)
	}
}

// Another process took a pod off its node, and its replacement does not exist yet. The rest of the unit follows,
// although its workload lacks a pod, and comes with that replacement.
func TestUnitOfAFormerProcessGoesOn(t *testing.T) {
	for text, c := range map[string]struct {
		carriedOn []string
		leaves    []string
	}{"begun": {[]string{"u"}, []string{"web-1"}}, "not begun": {nil, nil}} {
		cluster := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 3, size(100, 100).WithPods(10))
		moving, replacement := cluster.add("web", "n0", size(50, 50), 0), cluster.object("web")
		e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: moving, From: "n0", To: "n1", Unit: "u"}}}, cluster.free(), 1)
		e.Expect(awaited(moving.Class, "n2", "u"))
		e.CarryOn(c.carriedOn...)
		starts := cluster.object("web") // of another move; it is not ready
		e.AwaitReady(starts)

		e.Note(replacement)
		alone := e.Activatable(cluster.free(), none)

		if names := namesOf(cluster.wave(e)); !slices.Equal(names, c.leaves) || len(alone) != 0 {
			t.Errorf("%s: leave %v, ready without the rest: %d", text, names, len(alone))
		}
	}
}

// awaited is the place of a replacement that a former process was waiting for.
func awaited(class, node, unit string) *executor.Places {
	record := &packingplan.Record{}
	record.Status.Classes = []packingplan.Class{{ID: class}}
	record.Status.Steps = []*packingplan.Step{{Pod: "default/gone", PodUID: "gone", OwnerUID: "web", Class: class,
		From: "n0", To: node, State: packingplan.Gone, Unit: unit}}
	return executor.PlacesOf(record, nil)
}
