package executor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// world is a small cluster that obeys the executor: evicted pods linger for a while, then go;
// replacements come at once under new names and are bound where the plan's places and the room
// allow it, as the scheduler's Filter plugins would.
type world struct {
	t        *testing.T
	random   *rand.Rand
	capacity resources.Vector
	nodes    []string
	running  map[types.UID]*livePod
	pending  []*livePod
	names    int
}

type livePod struct {
	pod     *snapshot.Pod
	lingers int // rounds until a terminating pod is gone; 0 is not terminating
}

func size(cpu, memory int64) resources.Vector {
	return resources.Vector{CPUMilli: cpu, MemoryBytes: memory, Pods: 1}
}

func newWorld(t *testing.T, random *rand.Rand, nodes int, capacity resources.Vector) *world {
	w := &world{t: t, random: random, capacity: capacity, running: map[types.UID]*livePod{}}
	for i := range nodes {
		w.nodes = append(w.nodes, fmt.Sprintf("n%d", i))
	}
	return w
}

// object makes a pod of the owner; all pods of an owner are of one class.
func (w *world) object(owner string) *v1.Pod {
	w.names++
	name := fmt.Sprintf("%s-%d", owner, w.names)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	if owner != "" {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &yes}}
	}
	return pod
}

func (w *world) add(owner, node string, requests resources.Vector, priority int32) *snapshot.Pod {
	object := w.object(owner)
	pod := &snapshot.Pod{Object: object, Class: snapshot.Classes{}.ID(object), Owner: types.UID(owner),
		Node: node, Requests: requests, Priority: priority}
	if node == "" {
		w.pending = append(w.pending, &livePod{pod: pod})
	} else {
		w.running[object.UID] = &livePod{pod: pod}
	}
	return pod
}

func (w *world) free() map[string]resources.Vector {
	free := map[string]resources.Vector{}
	for _, node := range w.nodes {
		free[node] = w.capacity
	}
	for _, live := range w.running {
		free[live.pod.Node] = free[live.pod.Node].Minus(live.pod.Requests)
	}
	return free
}

// evict does what the API and the controller do.
func (w *world) evict(e *executor.Execution, departure executor.Departure) {
	uid := departure.Pod.Object.UID
	live := w.running[uid]
	if live == nil || live.lingers > 0 {
		w.t.Fatalf("pod %s is evicted twice", uid)
	}
	e.Opened(uid)
	e.Evicted(uid)
	live.lingers = 1 + w.random.IntN(3)
	w.add(string(live.pod.Owner), "", live.pod.Requests, live.pod.Priority)
}

// tick lets time pass: terminating pods go, pending pods are tried in random order.
func (w *world) tick(e *executor.Execution) {
	for uid, live := range w.running {
		if live.lingers == 0 {
			continue
		}
		if live.lingers--; live.lingers == 0 {
			delete(w.running, uid)
			e.Gone(uid)
		}
	}
	w.random.Shuffle(len(w.pending), func(i, j int) { w.pending[i], w.pending[j] = w.pending[j], w.pending[i] })
	var still []*livePod
	for _, live := range w.pending {
		if !w.schedule(e, live) {
			still = append(still, live)
		}
	}
	w.pending = still
	w.checkCapacity()
}

// schedule is one scheduling cycle.
func (w *world) schedule(e *executor.Execution, live *livePod) bool {
	free := w.free()
	targets, planned := e.Nodes(live.pod.Object, func(node string) resources.Vector { return free[node] })
	if !planned {
		outstanding := e.Outstanding()
		for _, node := range w.nodes {
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
		if w.random.IntN(8) == 0 { // a binding that fails
			e.Unreserve(live.pod.Object.UID)
			return false
		}
		live.pod.Node = node
		w.running[live.pod.Object.UID] = live
		e.Bound(live.pod.Object.UID)
		return true
	}
	return false
}

func (w *world) checkCapacity() {
	w.t.Helper()
	for node, room := range w.free() {
		if room.CPUMilli < 0 || room.MemoryBytes < 0 {
			w.t.Fatalf("node %s is over its capacity: %+v left", node, room)
		}
	}
}

// carryOut runs the plan to its end and returns how many pods were evicted early.
func (w *world) carryOut(of *plan.Plan) (e *executor.Execution, early int) {
	w.t.Helper()
	e = executor.New(of, w.free(), 0)
	for range 400 {
		if e.Progress().Done() {
			return e, early
		}
		for _, departure := range w.wave(e, of) {
			if departure.Early {
				early++
			}
			w.evict(e, departure)
		}
		w.tick(e)
	}
	w.t.Fatalf("the plan does not end: %+v", e.Progress())
	return e, early
}

// wave asks for the next wave and checks invariant 1: whatever moves has room at its target, on
// top of everything that is on its way there.
func (w *world) wave(e *executor.Execution, of *plan.Plan) []executor.Departure {
	w.t.Helper()
	room := w.free()
	targets := of.NodesAfter()
	for node, needed := range e.InFlight() {
		room[node] = room[node].Minus(needed)
	}
	wave := e.Next(w.free())
	for _, departure := range wave {
		if !departure.Move || departure.Early {
			continue
		}
		to := targets[departure.Pod.Object.UID]
		if !departure.Pod.Requests.FitsIn(room[to]) {
			w.t.Fatalf("pod %s is evicted before %s has room for it", departure.Pod.Object.Name, to)
		}
		room[to] = room[to].Minus(departure.Pod.Requests)
	}
	return wave
}
