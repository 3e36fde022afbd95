package executor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// devices are those of all nodes, which pods share. As the scheduler does, they give a pod the first with enough left; the share
// of a pod that is gone comes free a while later.
type devices struct {
	random  *rand.Rand
	each    int               // on a node
	share   map[types.UID]int // by owner
	held    map[types.UID]held
	lingers map[types.UID]int
	// story is which device each arrival got, by node.
	story map[string][]arrived
	// slow is for how many rounds a share outlives its pod, at most.
	slow int
}

type held struct {
	node          string
	device, share int
}

type arrived struct {
	uid    types.UID
	key    snapshot.ReplicaKey
	device int
}

const whole = 100

func newDevices(random *rand.Rand, each int) *devices {
	return &devices{random: random, each: each, share: map[types.UID]int{}, held: map[types.UID]held{}, lingers: map[types.UID]int{},
		story: map[string][]arrived{}, slow: 4}
}

// first is the device on the node that the pod would get, or -1.
func (d *devices) first(node string, share int) int {
	left := d.left(node)
	return slices.IndexFunc(left, func(left int) bool { return left >= share })
}

func (d *devices) left(node string) []int {
	left := slices.Repeat([]int{whole}, d.each)
	for _, one := range d.held {
		if one.node == node {
			left[one.device] -= one.share
		}
	}
	return left
}

// allocate says whether the node has a device for the pod, which it keeps even if its binding fails.
func (d *devices) allocate(pod *snapshot.Pod, node string, planned bool) bool {
	if !d.asks(pod) {
		return true
	}
	if has, again := d.held[pod.Object.UID]; again {
		return has.node == node
	}
	device := d.first(node, d.share[pod.Owner])
	if device < 0 {
		return false
	}
	d.put(pod, node, device)
	if planned {
		d.story[node] = append(d.story[node], arrived{pod.Object.UID, pod.ReplicaKey(), device})
	}
	return true
}

func (d *devices) asks(pod *snapshot.Pod) bool { return d != nil && d.share[pod.Owner] > 0 }

func (d *devices) put(pod *snapshot.Pod, node string, device int) {
	d.held[pod.Object.UID] = held{node, device, d.share[pod.Owner]}
}

func (d *devices) leave(uid types.UID) {
	if d == nil {
		return
	}
	if d.lingers[uid] = d.random.IntN(1 + d.slow); d.lingers[uid] == 0 {
		delete(d.held, uid)
	}
}

func (d *devices) tick() {
	if d == nil {
		return
	}
	for uid, rounds := range d.lingers {
		if d.lingers[uid] = rounds - 1; rounds <= 1 {
			delete(d.held, uid)
			delete(d.lingers, uid)
		}
	}
}

func (d *devices) holds(uid types.UID) bool { _, some := d.held[uid]; return some }

// sharing fills a cluster in which some pods share devices, and makes a plan for other nodes and devices. The plan's order is
// one in which the first device is the planned one on each node; between nodes it is any.
func sharing(t *testing.T, random *rand.Rand) (*fakeCluster, *plan.Plan) {
	c := newFakeCluster(t, random, 2+random.IntN(4), size(1000, 1000).WithPods(110))
	c.devices = newDevices(random, 1+random.IntN(3))
	type slot struct {
		node   string
		device int
	}
	before, after := map[slot]int{}, map[slot]int{}
	place := func(taken map[slot]int, share int) (slot, bool) {
		for _, n := range random.Perm(len(c.nodes)) {
			for _, device := range random.Perm(c.devices.each) {
				at := slot{c.nodes[n], device}
				if taken[at]+share <= whole {
					taken[at] += share
					return at, true
				}
			}
		}
		return slot{}, false
	}
	of, coming := &plan.Plan{}, map[string][]plan.Step{}
	for owner := range 3 + random.IntN(8) {
		name, share := fmt.Sprintf("rs%d", owner), 10*(1+random.IntN(10))
		shares := random.IntN(5) > 0
		if shares {
			c.devices.share[types.UID(name)] = share
		}
		for range 1 + random.IntN(3) {
			from, runs := place(before, share)
			if random.IntN(6) == 0 && runs {
				before[from] -= share
				from, runs = slot{}, false
			}
			to, comes := place(after, share)
			if runs && random.IntN(3) == 0 && after[from]+share <= whole { // it stays
				if comes {
					after[to] -= share
				}
				after[from] += share
				to, comes = from, true
			}
			pod := c.add(name, from.node, size(int64(share), 1), int32(random.IntN(3)))
			if runs && shares {
				c.devices.put(pod, from.node, from.device)
			}
			step := plan.Step{Pod: pod, From: from.node, To: to.node, Devices: []string{fmt.Sprint(to.device)}}
			switch {
			case from.node == to.node && from != to && runs: // no plan moves a pod on its node: it stays after all
				after[to] -= share
				after[from] += share
			case from == to:
			case !comes:
				of.Evictions = append(of.Evictions, step)
			case shares:
				coming[to.node] = append(coming[to.node], step)
			case runs:
				of.Moves = append(of.Moves, step)
			default:
				of.Placements = append(of.Placements, step)
			}
		}
	}
	for _, load := range after {
		if load > whole {
			return nil, nil // since a pod stays that was to give way
		}
	}
	for _, steps := range coming {
		slices.SortStableFunc(steps, func(a, b plan.Step) int { return strings.Compare(a.Devices[0], b.Devices[0]) })
	}
	for turn := int32(1); len(coming) > 0; turn++ {
		nodes := slices.Sorted(maps.Keys(coming))
		node := nodes[random.IntN(len(nodes))]
		next := coming[node][0]
		if coming[node] = coming[node][1:]; len(coming[node]) == 0 {
			delete(coming, node)
		}
		next.Turn, next.Devices = turn, nil
		if next.From == "" {
			of.Placements = append(of.Placements, next)
		} else {
			of.Moves = append(of.Moves, next)
		}
	}
	c.foretell(of)
	return c, of
}

// foretell has each step name the device that the first fit gives its pod in the order of the plan.
func (c *fakeCluster) foretell(of *plan.Plan) {
	then := *c.devices
	then.held = maps.Clone(then.held)
	for _, pod := range of.Disrupted() {
		delete(then.held, pod.Object.UID)
	}
	var arrivals []*plan.Step
	for _, steps := range [][]plan.Step{of.Placements, of.Moves} {
		for i := range steps {
			if steps[i].Turn > 0 {
				arrivals = append(arrivals, &steps[i])
			}
		}
	}
	slices.SortFunc(arrivals, func(a, b *plan.Step) int { return int(a.Turn - b.Turn) })
	for i, step := range arrivals {
		device := then.first(step.To, then.share[step.Pod.Owner])
		if device < 0 {
			c.t.Fatalf("%+v finds no device in its turn", step)
		}
		step.Devices = []string{fmt.Sprint(device)}
		then.held[types.UID(fmt.Sprint("arrival-", i))] = held{step.To, device, then.share[step.Pod.Owner]}
	}
}

// planned is which devices the plan says that arrivals get, by node and in order; equal to what the story says.
func planned(of *plan.Plan) map[string][]string {
	steps := slices.DeleteFunc(slices.Concat(of.Placements, of.Moves), func(s plan.Step) bool { return s.Turn == 0 })
	slices.SortFunc(steps, func(a, b plan.Step) int { return int(a.Turn - b.Turn) })
	found := map[string][]string{}
	for _, step := range steps {
		found[step.To] = append(found[step.To], fmt.Sprint(step.Pod.Owner, " ", step.Devices))
	}
	return found
}

func (d *devices) told() map[string][]string {
	found := map[string][]string{}
	for node, came := range d.story {
		for _, one := range came {
			found[node] = append(found[node], fmt.Sprintf("%s [%d]", one.key.Owner, one.device))
		}
	}
	return found
}

// Whatever the plan, whoever waits for whom, and however long claims outlive their pods: on each node pods come in the order of
// the plan, after all that leave have gone and their devices are free. So the scheduler's first fit gives each the device that
// the plan says, also where bindings fail and come late.
func TestPodsGetTheDevicesOfThePlanInTheirTurn(t *testing.T) {
	plans, circles := 0, 0
	for _, races := range []bool{false, true} {
		for seed := range plansUnderWay(t, 700) {
			c, of := sharing(t, rand.New(rand.NewPCG(seed, 2)))
			if c == nil || of.Empty() {
				continue
			}
			plans++
			c.races = races
			foreseen := planned(of)

			e, early := c.execute(of, 0)

			circles += early
			for _, move := range of.Moves {
				stays := move.Turn > 0 && e.States()[move.Pod.Object.UID] == packingplan.NotNeeded
				if stays && len(foreseen[move.From]) == 1 { // in the place of the only one to come
					delete(foreseen, move.From)
				}
			}
			if got := c.devices.told(); !maps.EqualFunc(got, foreseen, slices.Equal[[]string]) {
				t.Fatalf("seed %d, races %t: devices %v, want %v", seed, races, got, foreseen)
			}
		}
	}
	t.Logf("%d plans, %d pods went early", plans, circles)
	if circles == 0 || plans < 300 {
		t.Error("the test shows less than it says")
	}
}

// exchange is a plan of two pods that exchange their nodes, each of one device, and of one that comes after the first of them.
func exchange(t *testing.T) (c *fakeCluster, of *plan.Plan, one, other, waits *snapshot.Pod) {
	c = newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 2, size(100, 100).WithPods(10))
	c.devices = newDevices(c.random, 1)
	for owner, share := range map[types.UID]int{"one": 80, "other": 70, "waits": 30} {
		c.devices.share[owner] = share
	}
	one, other, waits = c.add("one", "n0", size(10, 10), 0), c.add("other", "n1", size(10, 10), 0), c.add("waits", "", size(10, 10), 0)
	c.devices.put(one, "n0", 0)
	c.devices.put(other, "n1", 0)
	return c, &plan.Plan{Placements: []plan.Step{{Pod: waits, To: "n0", Turn: 3}},
		Moves: []plan.Step{{Pod: one, From: "n0", To: "n1", Turn: 2}, {Pod: other, From: "n1", To: "n0", Turn: 1}}}, one, other, waits
}

// A garbage collector deletes the claims of a pod that is gone, up to a second later. Who comes until then gets another device,
// or none. It is so after a restart, too, when the pod is known from the plan's object alone.
func TestNobodyComesWhileClaimsOfThoseWhoLeftHoldDevices(t *testing.T) {
	c, of, one, other, waits := exchange(t)
	held := true
	holds := func(uid types.UID) bool { return uid == one.Object.UID && held }
	begin := func(of *plan.Plan) *executor.Execution {
		e := executor.New(of, c.free(), 0)
		e.HoldsDevices(holds)
		return e
	}
	comes := func(e *executor.Execution, pod *snapshot.Pod) bool {
		e.Note(pod.Object)
		nodes, planned := e.Nodes(pod.Object, func(string) resources.Vector { return c.capacity })
		return planned && slices.Equal(nodes, []string{"n0"})
	}
	e := begin(of)
	wave := e.Next(c.free())
	if len(wave) != 1 || wave[0].Pod != one || !wave[0].Early {
		t.Fatalf("first leave %v, want the pod on the node of the first turn", namesOf(wave))
	}
	e.Opened(one.Object.UID)
	e.Evicted(one.Object.UID)
	if next := e.Next(c.free()); len(next) > 0 {
		t.Errorf("%v leave before the other is gone", namesOf(next))
	}
	e.Gone(one.Object.UID)
	if next := e.Next(c.free()); e.AwaitsClaims() != 1 || len(next) > 0 {
		t.Errorf("%d pods hold devices; %v leave", e.AwaitsClaims(), namesOf(next))
	}

	later := begin(&plan.Plan{Placements: []plan.Step{{Pod: waits, To: "n0", Turn: 3}}})
	later.Left([]*packingplan.Step{{PodUID: string(one.Object.UID), From: "n0"}})
	if comes(later, waits) || later.Reserve(waits.Object, "n0", true) {
		t.Error("a pod comes although the device is held by who left before the restart")
	}
	held = false
	if next := e.Next(c.free()); e.AwaitsClaims() != 0 || len(next) != 1 || next[0].Pod != other || next[0].Early {
		t.Errorf("%d pods hold devices; %v leave", e.AwaitsClaims(), namesOf(next))
	}
	if !comes(later, waits) || !later.Reserve(waits.Object, "n0", true) {
		t.Error("a pod does not come although the device is free")
	}
}

// A binding that fails leaves the claim with its device. A replica that came instead would get another one.
func TestWhoseBindingFailedKeepsItsTurn(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 1, size(100, 100).WithPods(10))
	c.devices = newDevices(c.random, 2)
	first, second, last := c.add("rs", "", size(10, 10), 0), c.add("rs", "", size(10, 10), 0), c.add("other", "", size(10, 10), 0)
	e := executor.New(&plan.Plan{Placements: []plan.Step{{Pod: first, To: "n0", Turn: 1}, {Pod: second, To: "n0", Turn: 2},
		{Pod: last, To: "n0", Turn: 3}}}, c.free(), 0)
	holder := first.Object.UID
	e.HoldsDevices(func(uid types.UID) bool { return uid == holder })
	reserve := func(pod *snapshot.Pod) bool { return e.Reserve(pod.Object, "n0", true) }

	if reserve(last) || !reserve(first) || reserve(second) {
		t.Error("not the first alone may come")
	}
	e.Unreserve(first.Object.UID)
	if reserve(second) || reserve(last) || !reserve(first) {
		t.Error("not who has a device already may come")
	}
	e.Unreserve(first.Object.UID)
	holder = ""
	if !reserve(second) {
		t.Error("a replica may not come although nobody has its device")
	}
	e.Bound(second.Object.UID)
	if left := e.InTurn(); !left.Has("n0") || reserve(last) || !reserve(first) {
		t.Error("the second turn is not that of the other replica")
	}
	e.Bound(first.Object.UID)
	if !reserve(last) || len(e.InTurn()) > 0 || !e.Bound(last.Object.UID) || !e.Progress().Done() {
		t.Errorf("turns are left on %v, %+v", e.InTurn(), e.Progress())
	}
}

// Where moves exchange their targets, turns and devices stay with the places: the plan's object is all that a later process has.
func TestTheObjectOfAPlanTellsWhoseTurnIsWhich(t *testing.T) {
	steps := []*packingplan.Step{
		{PodUID: "a", OwnerUID: "rs", From: "n0", To: "n1", Turn: 1, Devices: []string{"x"}},
		{PodUID: "b", OwnerUID: "rs", From: "n0", To: "n2", Turn: 5, Devices: []string{"y"}},
		{PodUID: "c", OwnerUID: "other", To: "n2", Turn: 3, Devices: []string{"z"}}}
	turns := executor.TurnsOf(steps)
	steps[0].To, steps[1].To = steps[1].To, steps[0].To

	turns.Deal(steps, func(*packingplan.Step) int { return 0 })

	for i, want := range []packingplan.Step{{Turn: 5, Devices: []string{"y"}}, {Turn: 1, Devices: []string{"x"}}, {Turn: 3, Devices: []string{"z"}}} {
		if got := steps[i]; got.Turn != want.Turn || !slices.Equal(got.Devices, want.Devices) {
			t.Errorf("step %s has turn %d and devices %v", got.PodUID, got.Turn, got.Devices)
		}
	}
}
