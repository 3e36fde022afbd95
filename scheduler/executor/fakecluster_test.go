package executor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// fakeCluster is a small cluster that follows the executor: evicted pods terminate for a while; replacements are created
// at once under new names, and bound where the plan's places and the room allow it, as the scheduler's Filter plugins
// would do. They start for a while before they are ready.
type fakeCluster struct {
	t        *testing.T
	random   *rand.Rand
	capacity resources.Vector
	nodes    []string
	running  map[types.UID]*livePod
	pending  []*livePod
	names    int
}

type livePod struct {
	pod        *snapshot.Pod
	roundsLeft int // rounds until a terminating pod is gone; 0 is not terminating
	startsFor  int // rounds until it is ready; 0 is ready
}

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
	c := &fakeCluster{t: t, random: random, capacity: capacity, running: map[types.UID]*livePod{}}
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
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &yes}}
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

// evict does what the API and the controller do.
func (c *fakeCluster) evict(e *executor.Execution, departure executor.Departure) {
	uid := departure.Pod.Object.UID
	live := c.running[uid]
	if live == nil || live.roundsLeft > 0 {
		c.t.Fatalf("pod %s is evicted twice", uid)
	}
	e.Opened(uid)
	e.Evicted(uid)
	live.roundsLeft = 1 + c.random.IntN(3)
	c.add(string(live.pod.Owner), "", live.pod.Requests, live.pod.Priority)
}

// tick is one time step: terminating pods leave, pending pods are tried in random order.
func (c *fakeCluster) tick(e *executor.Execution) {
	for uid, live := range c.running {
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
			e.Gone(uid)
		}
	}
	c.random.Shuffle(len(c.pending), func(i, j int) { c.pending[i], c.pending[j] = c.pending[j], c.pending[i] })
	var still []*livePod
	for _, live := range c.pending {
		if !c.schedule(e, live) {
			still = append(still, live)
		}
	}
	c.pending = still
	c.checkCapacity()
}

// schedule is one scheduling cycle.
func (c *fakeCluster) schedule(e *executor.Execution, live *livePod) bool {
	free := c.free()
	targets, planned := e.Nodes(live.pod.Object, func(node string) resources.Vector { return free[node] })
	if e.Plans(live.pod.Object) != planned {
		c.t.Fatalf("planned: %t, although it has the nodes %v: %t", !planned, targets, planned)
	}
	if !planned {
		outstanding := e.Outstanding()
		for _, node := range c.nodes {
			if live.pod.Requests.FitsIn(free[node].Minus(outstanding[node])) {
				targets = append(targets, node)
			}
		}
	}
	for _, node := range targets {
		if !live.pod.Requests.FitsIn(free[node]) {
			continue
		}
		e.Reserve(live.pod.Object, node)
		if c.random.IntN(8) == 0 { // a binding that fails
			e.Unreserve(live.pod.Object.UID)
			return false
		}
		live.pod.Node, live.startsFor = node, c.random.IntN(4)
		if live.startsFor == 0 { // its kubelet is quicker than the report that it is bound
			e.Note(ready(live.pod.Object))
		}
		c.running[live.pod.Object.UID] = live
		e.Bound(live.pod.Object.UID)
		return true
	}
	return false
}

// away counts the pods that have no node, or are not ready, by owner.
func (c *fakeCluster) away() map[types.UID]int {
	away := map[types.UID]int{}
	for _, live := range c.pending {
		away[live.pod.Owner]++
	}
	for _, live := range c.running {
		if live.startsFor > 0 {
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
	others := c.away() // pods that are not away for a move
	for _, eviction := range of.Evictions {
		others[eviction.Pod.Owner]++
	}
	for range 400 {
		if e.Progress().Done() {
			return e, early
		}
		for _, departure := range c.wave(e) {
			if departure.Early {
				early++
			}
			c.evict(e, departure)
			if owner := departure.Pod.Owner; departure.Move && atOnce > 0 && c.away()[owner]-others[owner] > atOnce {
				c.t.Fatalf("more than %d pods of %s are away", atOnce, owner)
			}
		}
		c.tick(e)
	}
	c.t.Fatalf("the plan does not end: %+v", e.Progress())
	return e, early
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
		if !departure.Move || departure.Early {
			continue
		}
		to := e.Targets()[departure.Pod.Object.UID]
		if !departure.Pod.Requests.FitsIn(room[to]) {
			c.t.Fatalf("pod %s is evicted before %s has room for it", departure.Pod.Object.Name, to)
		}
		room[to] = room[to].Minus(departure.Pod.Requests)
	}
	return wave
}
