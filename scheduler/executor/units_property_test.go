package executor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// uniteSome has some of the workloads of a plan be units, alone or with others. None of a unit's pods is left unplaced.
func (c *fakeCluster) uniteSome(of *plan.Plan) {
	c.units = map[snapshot.ReplicaKey]string{}
	evicted, keys := sets.New[snapshot.ReplicaKey](), sets.New[snapshot.ReplicaKey]()
	for _, step := range of.Evictions {
		evicted.Insert(step.Pod.ReplicaKey())
	}
	for _, step := range slices.Concat(of.Placements, of.Moves) {
		keys.Insert(step.Pod.ReplicaKey())
	}
	inOrder := slices.SortedFunc(maps.Keys(keys.Difference(evicted)), func(a, b snapshot.ReplicaKey) int {
		return slices.Compare([]byte(a.Owner), []byte(b.Owner))
	})
	name := ""
	for i, key := range inOrder {
		switch c.random.IntN(3) {
		case 0:
			name = ""
		case 1:
			name = fmt.Sprintf("gang/%d", i)
		}
		if name != "" {
			c.units[key] = name
		}
	}
	for _, list := range [][]plan.Step{of.Placements, of.Moves} {
		for i := range list {
			list[i].Unit = c.units[list[i].Pod.ReplicaKey()]
		}
	}
}

// scheduleUnits has the units come of which all can, as the scheduler does with a pod group: it tries all of its pods,
// and reserves for them once enough fit.
func (c *fakeCluster) scheduleUnits(e *executor.Execution) {
	if len(c.units) == 0 {
		return
	}
	for _, live := range c.pending {
		e.Note(live.pod.Object)
	}
	e.Activatable(c.free(), func(uid types.UID) bool { return c.running[uid] != nil })
	for _, name := range slices.Sorted(maps.Keys(sets.New(slices.Collect(maps.Values(c.units))...))) {
		if lacks, ready := e.Lacks(name); lacks && ready {
			c.tryUnit(e, name)
		}
	}
}

func (c *fakeCluster) tryUnit(e *executor.Execution, name string) {
	trial, room, nodes := e.Try(), c.free(), map[*livePod]string{}
	for _, live := range c.pending {
		if c.units[live.pod.ReplicaKey()] != name {
			continue
		}
		found, _ := trial.Nodes(live.pod.Object, func(node string) resources.Vector { return room[node] })
		if len(found) == 0 {
			continue
		}
		node := slices.Min(found)
		trial.Take(live.pod.Object, node)
		nodes[live], room[node] = node, room[node].Minus(live.pod.Requests)
	}
	if len(nodes) < e.Lacking(name) {
		return // the scheduler binds none
	}
	tried := c.pending
	c.pending = nil
	for _, live := range tried {
		if node := nodes[live]; node == "" || !c.reserve(e, live, node, true) {
			c.pending = append(c.pending, live)
		}
	}
}

// Whatever the plan, and whichever of its workloads are units: each unit comes as soon as all of it can, no node ever
// exceeds its capacity, and the plan ends with every pod in its place.
func TestUnitsComeWholeAndAlwaysDo(t *testing.T) {
	for _, races := range []bool{false, true} {
		for _, atOnce := range []int{0, 1} {
			units := 0
			for seed := range plansUnderWay(t, 200) {
				c, of := randomPlan(t, rand.New(rand.NewPCG(seed, 2)))
				c.races = races
				c.uniteSome(of)
				units += len(c.units)

				e, _ := c.execute(of, atOnce)

				for uid, state := range e.States() {
					if state == packingplan.Waiting || state == packingplan.Evicted {
						t.Fatalf("seed %d, %d at once: pod %s is left %s", seed, atOnce, uid, state)
					}
				}
			}
			if units == 0 {
				t.Error("no plan had a unit; the test shows less than it says")
			}
		}
	}
}
