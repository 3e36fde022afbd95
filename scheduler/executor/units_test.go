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
