package draining_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/draining"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
)

var limits = draining.Limits{AtOnce: 1, Step: 20 * time.Second, Ready: 120 * time.Second}

// world is a cluster whose controllers replace an evicted pod at once, and whose scheduler and kubelets do as they are told.
type world struct {
	drain *draining.Run
	nodes []draining.Node
	now   time.Time
	pods  map[types.UID]*v1.Pod
	of    map[types.UID]types.UID
	want  map[types.UID]int
	// goes is where the scheduler puts replacements; "" leaves them waiting. starts says whether they become ready.
	goes   string
	starts bool
	// slow pods are still there after their eviction.
	slow      bool
	strangers map[string]string
	evicted   []types.UID
	names     int
}

// podOn is a pod on a node; "" leaves it waiting.
func podOn(node string, uid types.UID, ready bool) *v1.Pod {
	made := testobjects.Pod("", "", "").Name(string(uid)).UID(string(uid)).Node(node).Obj()
	if ready {
		made.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	}
	return made
}

// start has workloads a and b with a pod on each of the nodes n1 and n2, which are to be emptied.
func start(states ...packingplan.NodeState) *world {
	w := &world{now: time.Unix(0, 0), pods: map[types.UID]*v1.Pod{}, of: map[types.UID]types.UID{},
		want: map[types.UID]int{}, goes: "n9", starts: true, strangers: map[string]string{}}
	for i, name := range []string{"n1", "n2"} {
		node := draining.Node{NodeToEmpty: &packingplan.NodeToEmpty{Name: name, State: packingplan.NodePlanned}}
		if i < len(states) {
			node.State = states[i]
		}
		for _, workload := range []types.UID{"a", "b"} {
			uid := types.UID(string(workload) + "-" + name)
			w.pods[uid] = podOn(name, uid, true)
			w.of[uid] = workload
			w.want[workload]++
			node.Moves = append(node.Moves, &packingplan.Step{PodUID: string(uid), OwnerUID: string(workload)})
		}
		w.nodes = append(w.nodes, node)
	}
	w.drain = draining.New(w.nodes, limits, w.now)
	return w
}

func (w *world) seen() draining.Seen {
	seen := draining.Seen{Workloads: map[types.UID]draining.Workload{}, Here: map[types.UID]*v1.Pod{}, Strangers: w.strangers}
	for workload, wanted := range w.want {
		seen.Workloads[workload] = draining.Workload{Wanted: wanted}
	}
	for uid, pod := range w.pods {
		if strings.Contains(string(uid), "-n") {
			seen.Here[uid] = pod
		}
		if w.drain.Leaving(uid) {
			continue // terminating
		}
		of := seen.Workloads[w.of[uid]]
		of.Pods = append(of.Pods, pod)
		seen.Workloads[w.of[uid]] = of
	}
	return seen
}

// step does what the drain says, and lets a second pass.
func (w *world) step() (evicted []types.UID) {
	evicted = w.drain.Next(w.seen(), w.now)
	for _, uid := range evicted {
		w.drain.Evicted(uid, w.now)
		w.evicted = append(w.evicted, uid)
		w.names++
		name := types.UID(fmt.Sprintf("%s+%d", w.of[uid], w.names))
		w.pods[name] = podOn(w.goes, name, w.starts && w.goes != "")
		w.of[name] = w.of[uid]
		if !w.slow {
			delete(w.pods, uid)
		}
	}
	w.now = w.now.Add(time.Second)
	return evicted
}

// run steps until nothing is left, or a minute of steps.
func (w *world) run() {
	for i := 0; i < 600 && !w.drain.Done(); i++ {
		w.step()
	}
}

func (w *world) states() string {
	text := ""
	for _, node := range w.nodes {
		text += string(node.State) + " "
	}
	return strings.TrimSpace(text)
}

// A pod that has a node does not serve yet: no further pod of its workload goes before it is ready.
func TestAWorkloadLosesNoFurtherPodBeforeItIsWhole(t *testing.T) {
	w := start()
	w.starts = false

	for range 100 {
		w.step()
	}

	if len(w.evicted) != 2 || w.states() != "Emptying Planned" {
		t.Fatalf("evicted %v, states %s", w.evicted, w.states())
	}
	for uid, pod := range w.pods {
		w.pods[uid] = podOn(pod.Spec.NodeName, uid, true)
	}
	w.starts = true
	w.run()
	if w.states() != "Emptied Emptied" {
		t.Errorf("states %s", w.states())
	}
}

// A workload that lacks a pod for another reason must not lose one more.
func TestAWorkloadThatLacksAPodAnyhowIsLeftAlone(t *testing.T) {
	w := start()
	w.want["a"]++

	first := w.step()

	if len(first) != 1 || first[0] != "b-n1" {
		t.Errorf("evicted %v, want the pod of the other workload alone", first)
	}
}

// What finds no place elsewhere goes back: its node is given up, and no further one is begun before it has one.
func TestAReplacementWithoutAPlaceEndsTheEmptyingOfItsNode(t *testing.T) {
	w := start()
	w.goes = ""
	for w.states() != "GivenUp Planned" {
		if w.now.Sub(time.Unix(0, 0)) > time.Minute {
			t.Fatalf("states %s", w.states())
		}
		w.step()
	}
	if got := w.now.Sub(time.Unix(0, 0)); got < limits.Step || got > limits.Step+5*time.Second {
		t.Errorf("given up after %s", got)
	}

	w.step()
	if w.states() != "GivenUp Planned" || len(w.evicted) != 2 {
		t.Fatalf("states %s, evicted %v, while pods wait", w.states(), w.evicted)
	}
	for uid, pod := range w.pods {
		if pod.Spec.NodeName == "" {
			w.pods[uid] = podOn("n1", uid, true)
		}
	}
	w.goes = "n9"
	w.run()
	if w.states() != "GivenUp Emptied" {
		t.Errorf("states %s", w.states())
	}
}

// A budget may allow an eviction in a moment, but not for ever.
func TestABudgetThatStaysSpentEndsTheEmptyingOfItsNode(t *testing.T) {
	w := start()
	for w.states() != "GivenUp Planned" {
		if len(w.drain.Next(w.seen(), w.now)) > 0 {
			w.drain.PutOff("the budget is spent")
		}
		if w.now = w.now.Add(time.Second); w.now.Sub(time.Unix(0, 0)) > time.Minute {
			t.Fatalf("states %s", w.states())
		}
	}

	if got := w.nodes[0].Message; got != "the budget is spent" {
		t.Errorf("message %q", got)
	}
}

// A pod may take its grace period to end.
func TestAPodGetsItsGracePeriod(t *testing.T) {
	w := start()
	w.slow = true
	for range 40 {
		w.step()
	}
	if w.states() != "Emptying Planned" {
		t.Fatalf("states %s within the grace period", w.states())
	}

	for uid := range w.pods {
		if w.drain.Leaving(uid) {
			delete(w.pods, uid)
		}
	}
	w.step()

	if got := w.nodes[0].State; got != packingplan.NodeEmptied {
		t.Errorf("n1 is %s", got)
	}
}

// A process that takes over knows from the plan which nodes are done, and from the cluster which pods are away: it evicts
// none too many.
func TestAnotherProcessGoesOn(t *testing.T) {
	w := start(packingplan.NodeEmptied, packingplan.NodeEmptying)
	for _, uid := range []types.UID{"a-n1", "b-n1", "a-n2"} {
		delete(w.pods, uid)
	}
	w.pods["a+1"], w.pods["b+1"], w.pods["a+2"] = podOn("n9", "a+1", true), podOn("n9", "b+1", true), podOn("n9", "a+2", false)
	w.of["a+1"], w.of["b+1"], w.of["a+2"] = "a", "b", "a"

	w.step()
	if len(w.evicted) != 1 || w.evicted[0] != "b-n2" || w.states() != "Emptied Emptying" {
		t.Fatalf("evicted %v, states %s", w.evicted, w.states())
	}
	w.pods["a+2"] = podOn("n9", "a+2", true)
	w.run()

	if w.states() != "Emptied Emptied" || len(w.evicted) != 1 {
		t.Errorf("states %s, evicted %v", w.states(), w.evicted)
	}
}

// The pods of a node go before those of the next one. A node that is not empty in the end is given up, so that its other
// pods need not go; where replacements find no place or do not serve, nothing more is done.
func TestHowTheEmptyingOfNodesEnds(t *testing.T) {
	for text, row := range map[string]struct {
		happens                   func(*world)
		states, left, messageOfN1 string
	}{
		"all goes well":                  {func(*world) {}, "Emptied Emptied", "n1 n1 n2 n2 ", ""},
		"replacements find no place":     {func(w *world) { w.goes = "" }, "GivenUp GivenUp", "n1 n1 ", ""},
		"replacements do not serve":      {func(w *world) { w.starts = false }, "Emptied GivenUp", "n1 n1 ", ""},
		"a node gets a pod all the same": {func(w *world) { w.strangers["n1"] = "default/tolerant" }, "GivenUp Emptied", "n2 n2 ", "default/tolerant"},
		"a pod has become protected": {func(w *world) {
			for _, uid := range w.drain.Next(w.seen(), w.now) {
				w.drain.Forbidden(uid, "opted out", w.now)
			}
		}, "GivenUp Emptied", "n2 n2 ", "opted out"},
	} {
		t.Run(text, func(t *testing.T) {
			w := start()
			row.happens(w)

			w.run()

			left := ""
			for _, uid := range w.evicted {
				left += strings.TrimLeft(string(uid), "ab-") + " "
			}
			if message := w.nodes[0].Message; w.states() != row.states || left != row.left || !strings.Contains(message, row.messageOfN1) {
				t.Errorf("states %s, pods left %s, n1: %q", w.states(), left, message)
			}
		})
	}
}
