package executor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// fakeCluster is a small cluster that follows the executor: evicted pods terminate for a while; replacements are created
// under new names, and bound where the plan's places and the room allow it, as the scheduler's Filter plugins would do.
// They start for a while before they are ready.
//
// With races, everything comes late and at any moment: evictions are refused while other pods are scheduled, waves go out
// between the steps of a scheduling cycle, replacements are created and bindings reported a while later.
type fakeCluster struct {
	t        *testing.T
	random   *rand.Rand
	races    bool
	atOnce   int
	capacity resources.Vector
	nodes    []string
	running  map[types.UID]*livePod
	pending  []*livePod
	// created are the replacements that no watch has shown yet.
	created []*livePod
	// others are the pods that are away, by owner, for another reason than a move.
	others map[types.UID]int
	// unanswered are the pods of which nobody knows that they were evicted.
	unanswered sets.Set[types.UID]
	early      int
	names      int
	// devices are those of the nodes; nil: there are none.
	devices *devices
	// units are those of the plan, by the keys of their pods.
	units map[snapshot.ReplicaKey]string
}

type livePod struct {
	pod        *snapshot.Pod
	roundsLeft int // rounds until a terminating pod is gone; 0 is not terminating
	startsFor  int // rounds until it is ready; 0 is ready
	comesIn    int // rounds until a watch shows it
	bindsFor   int // rounds until its binding is reported, or fails; 0 is bound
}

// sometimes is true once in n times where there are races.
func (c *fakeCluster) sometimes(n int) bool { return c.races && c.random.IntN(n) == 0 }

// ready is the pod as its kubelet reports it once it serves.
func ready(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.Spec.NodeName = "some"
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	return pod
}

func size(cpu, memory int64) resources.Vector {
	return resources.OfList(v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(cpu, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.DecimalSI)}).WithPods(1)
}

func newFakeCluster(t *testing.T, random *rand.Rand, nodes int, capacity resources.Vector) *fakeCluster {
	c := &fakeCluster{t: t, random: random, capacity: capacity, running: map[types.UID]*livePod{}, unanswered: sets.Set[types.UID]{}}
	for i := range nodes {
		c.nodes = append(c.nodes, fmt.Sprintf("n%d", i))
	}
	return c
}

// object makes a pod of the owner; all pods of an owner are of one class.
func (c *fakeCluster) object(owner string) *v1.Pod {
	c.names++
	name := fmt.Sprintf("%s-%d", owner, c.names)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{testobjects.ReplicaSet(owner)}
		pod.OwnerReferences[0].UID = types.UID(owner)
	}
	return pod
}

func (c *fakeCluster) add(owner, node string, requests resources.Vector, priority int32) *snapshot.Pod {
	object := c.object(owner)
	pod := &snapshot.Pod{Object: object, Class: snapshot.Classes{}.ID(object), Owner: types.UID(owner),
		Node: node, Requests: requests, Priority: priority}
	if node == "" {
		c.pending = append(c.pending, &livePod{pod: pod})
	} else {
		c.running[object.UID] = &livePod{pod: pod}
	}
	return pod
}

func (c *fakeCluster) free() map[string]resources.Vector {
	free := map[string]resources.Vector{}
	for _, node := range c.nodes {
		free[node] = c.capacity
	}
	for _, live := range c.running {
		free[live.pod.Node] = free[live.pod.Node].Minus(live.pod.Requests)
	}
	return free
}

// evict does what the plugin, the API and the controller do.
func (c *fakeCluster) evict(e *executor.Execution, departure executor.Departure) {
	uid := departure.Pod.Object.UID
	live := c.running[uid]
	e.Opened(uid)
	if live == nil || live.roundsLeft > 0 {
		if !c.unanswered.Has(uid) {
			c.t.Fatalf("pod %s is evicted twice", uid)
		}
		c.unanswered.Delete(uid)
		if e.Evicted(uid); live == nil {
			e.Gone(uid)
		}
		return
	}
	if c.sometimes(3) {
		c.schedulePending(e) // before the API answers
	}
	if c.sometimes(4) {
		e.Refused(uid)
		return
	}
	if departure.Early {
		c.early++
	}
	lost := c.sometimes(4)
	switch {
	case lost && c.sometimes(2):
		e.Unanswered(uid)
		return
	case lost:
		c.unanswered.Insert(uid)
		e.Unanswered(uid)
	default:
		e.Evicted(uid)
	}
	live.roundsLeft = 1 + c.random.IntN(3)
	c.add(string(live.pod.Owner), "", live.pod.Requests, live.pod.Priority)
	if c.sometimes(2) {
		last := len(c.pending) - 1
		c.pending[last].comesIn = 1 + c.random.IntN(3)
		c.created, c.pending = append(c.created, c.pending[last]), c.pending[:last]
	}
	alone := c.units[departure.Pod.ReplicaKey()] == ""
	owner := departure.Pod.Owner
	if departure.To != "" && c.atOnce > 0 && alone && c.away()[owner]-c.others[owner] > c.atOnce {
		c.t.Fatalf("more than %d pods of %s are away", c.atOnce, owner)
	}
}

// sendWave evicts the next pods.
func (c *fakeCluster) sendWave(e *executor.Execution) {
	for _, departure := range c.wave(e) {
		c.evict(e, departure)
	}
}

// tick is one time step: terminating pods leave, pending pods are tried in random order.
func (c *fakeCluster) tick(e *executor.Execution) {
	for uid, live := range c.running {
		if live.bindsFor > 0 {
			if live.bindsFor--; live.bindsFor == 0 {
				c.bind(e, live)
			}
			continue
		}
		if live.startsFor > 0 {
			if live.startsFor--; live.startsFor == 0 {
				e.Note(ready(live.pod.Object))
			}
		}
		if live.roundsLeft == 0 {
			continue
		}
		if live.roundsLeft--; live.roundsLeft == 0 {
			delete(c.running, uid)
			c.devices.leave(uid)
			e.Gone(uid)
		}
	}
	c.devices.tick()
	c.created = slices.DeleteFunc(c.created, func(live *livePod) bool {
		if live.comesIn--; live.comesIn == 0 {
			c.pending = append(c.pending, live)
		}
		return live.comesIn == 0
	})
	c.scheduleUnits(e)
	c.schedulePending(e)
	c.checkCapacity()
	c.checkRoomOfPlan(e)
}

func (c *fakeCluster) schedulePending(e *executor.Execution) {
	c.random.Shuffle(len(c.pending), func(i, j int) { c.pending[i], c.pending[j] = c.pending[j], c.pending[i] })
	tried := c.pending
	c.pending = nil
	for _, live := range tried {
		if !c.schedule(e, live) {
			c.pending = append(c.pending, live)
		}
	}
}

// schedule is one scheduling cycle.
func (c *fakeCluster) schedule(e *executor.Execution, live *livePod) bool {
	if lacks, _ := e.Lacks(c.units[live.pod.ReplicaKey()]); lacks {
		return false // it comes with the others of its unit
	}
	free := c.free()
	targets, planned := e.Nodes(live.pod.Object, func(node string) resources.Vector { return free[node] })
	if e.Plans(live.pod.Object) != planned {
		c.t.Fatalf("planned: %t, although it has the nodes %v: %t", !planned, targets, planned)
	}
	if !planned {
		outstanding := e.Outstanding()
		for _, node := range c.nodes {
			if live.pod.Requests.FitsIn(free[node].Minus(outstanding[node])) && (!c.devices.asks(live.pod) || !e.InTurn().Has(node)) {
				targets = append(targets, node)
			}
		}
	}
	for _, node := range targets {
		if !live.pod.Requests.FitsIn(free[node]) || !c.devices.allocate(live.pod, node, planned) {
			continue
		}
		return c.reserve(e, live, node, planned)
	}
	return false
}

// reserve has the pod have the node. It reports false if it cannot be bound.
func (c *fakeCluster) reserve(e *executor.Execution, live *livePod, node string, planned bool) bool {
	live.pod.Node = node
	c.running[live.pod.Object.UID] = live // assumed: its room is taken before Reserve
	if c.sometimes(3) {
		e.Next(c.free()) // looked at while the pod counts on its node and in the plan
	}
	e.Reserve(live.pod.Object, node, planned)
	if live.bindsFor = 0; c.sometimes(2) {
		live.bindsFor = 1 + c.random.IntN(3)
		return true
	}
	return c.bind(e, live)
}

// bind ends a binding. It reports false if that failed, and has the pod wait again.
func (c *fakeCluster) bind(e *executor.Execution, live *livePod) bool {
	pod := live.pod.Object
	if c.random.IntN(8) == 0 {
		delete(c.running, pod.UID)
		live.pod.Node = ""
		e.Unreserve(pod.UID)
		if c.races {
			c.created, live.comesIn = append(c.created, live), 1
			return true
		}
		return false
	}
	live.startsFor = c.random.IntN(4)
	if live.startsFor == 0 { // its kubelet is quicker than the report that it is bound
		e.Note(ready(pod))
	}
	e.Bound(pod.UID)
	return true
}

// checkRoomOfPlan checks that the plan's places have room once the plan's pods have left: nothing but a change from
// outside may take it.
func (c *fakeCluster) checkRoomOfPlan(e *executor.Execution) {
	c.t.Helper()
	room, departing := c.free(), e.Departing()
	for uid, live := range c.running {
		if departing.Has(uid) {
			room[live.pod.Node] = room[live.pod.Node].Plus(live.pod.Requests)
		}
	}
	for node, needed := range e.Outstanding() {
		if short := needed.ShortOf(room[node]); short != "" {
			c.t.Fatalf("node %s lacks %s for the places of the plan: %+v of %+v", node, short, needed, room[node])
		}
	}
}

// away counts the pods that have no node, or are not ready, by owner.
func (c *fakeCluster) away() map[types.UID]int {
	away := map[types.UID]int{}
	for _, live := range c.pending {
		away[live.pod.Owner]++
	}
	for _, live := range c.created {
		away[live.pod.Owner]++
	}
	for _, live := range c.running {
		if live.startsFor > 0 || live.bindsFor > 0 {
			away[live.pod.Owner]++
		}
	}
	return away
}

func (c *fakeCluster) checkCapacity() {
	c.t.Helper()
	for node, room := range c.free() {
		if room.Of(v1.ResourceCPU) < 0 || room.Of(v1.ResourceMemory) < 0 {
			c.t.Fatalf("node %s is over its capacity: %+v left", node, room)
		}
	}
}

// execute carries the plan out and returns how many pods were evicted early. atOnce is how many pods of an owner may be
// away at a time, 0 any number.
func (c *fakeCluster) execute(of *plan.Plan, atOnce int) (e *executor.Execution, early int) {
	c.t.Helper()
	e = executor.New(of, c.free(), atOnce)
	if c.devices != nil {
		e.HoldsDevices(c.devices.holds)
	}
	c.atOnce, c.early, c.others = atOnce, 0, c.away()
	for _, eviction := range of.Evictions {
		c.others[eviction.Pod.Owner]++
	}
	for range 400 {
		if e.Progress().Done() {
			return e, c.early
		}
		c.sendWave(e)
		c.tick(e)
	}
	c.t.Fatalf("the plan does not end: %+v, %v", e.Progress(), e.States())
	return e, c.early
}

// wave gets the next wave and checks invariant 1: every moved pod has room at its target, beside all outstanding arrivals
// there.
func (c *fakeCluster) wave(e *executor.Execution) []executor.Departure {
	c.t.Helper()
	wave := e.Next(c.free())
	room := c.free()
	for node, needed := range e.InFlight() {
		room[node] = room[node].Minus(needed)
	}
	for _, departure := range wave {
		if departure.To == "" || departure.Early {
			continue
		}
		if !departure.Pod.Requests.FitsIn(room[departure.To]) {
			c.t.Fatalf("pod %s is evicted before %s has room for it", departure.Pod.Object.Name, departure.To)
		}
		room[departure.To] = room[departure.To].Minus(departure.Pod.Requests)
	}
	return wave
}
