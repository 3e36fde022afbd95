package rehearsal_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
)

// Each step is checked in the state that the steps before it lead to: PreFilter's counts of pods must follow each step.
func TestEachStepIsCheckedInTheStateAfterTheStepsBeforeIt(t *testing.T) {
	conflicting, hermit := pod("conflicting", "a1", "1G"), pod("hermit", "a1", "1G", apartFrom("new"))
	waits, apart := pod("new", "", "1G"), pod("new", "", "1G", apartFrom("conflicting"))
	required, beside := pod("required", "", "1G"), pod("new", "", "1G", besideOf("required"))
	for name, c := range map[string]struct {
		pods  []*v1.Pod
		steps string
		want  map[string]string
	}{
		"the conflicting pod leaves the zone first":     {[]*v1.Pod{conflicting, apart}, "conflicting>b1 new>a2", nil},
		"the conflicting pod stays in the zone":         {[]*v1.Pod{conflicting, apart}, "conflicting>a3 new>a2", map[string]string{"new on a2": "InterPodAffinity"}},
		"an arriving pod conflicts with one that stays": {[]*v1.Pod{hermit, waits}, "new>a2", map[string]string{"new on a2": "InterPodAffinity"}},
		"a required pod comes with it":                  {[]*v1.Pod{required, beside}, "new>a2 required>a1", nil},
		"the required pod goes elsewhere":               {[]*v1.Pod{required, beside}, "new>a2 required>b1", map[string]string{"new on a2": "InterPodAffinity"}},
		"who keeps apart from others comes before them": {[]*v1.Pod{pod("hermit", "", "1G", apartFrom("new")), waits}, "hermit>a1 new>a2",
			map[string]string{"new on a2": "InterPodAffinity"}},
		"two full nodes swap their pods": {[]*v1.Pod{pod("one", "a1", "4G"), pod("two", "a2", "4G")}, "one>a2 two>a1", nil},
		"there is no room":               {[]*v1.Pod{pod("one", "a1", "4G"), waits}, "new>a1", map[string]string{"new on a1": "NodeResourcesFit"}},
	} {
		at := newCluster(t, &refusing{}, nodes("a1", "a2", "a3", "b1"), c.pods...)

		if got := at.replay(t, at.planOf(c.steps)); !maps.Equal(got, c.want) {
			t.Errorf("%s: refused %v, want %v", name, got, c.want)
		}
	}
}

// A pod that needs one of a unit beside it has nothing to go to while the unit waits for another pod.
func TestUnitArrivesWholeOrNotAtAll(t *testing.T) {
	at := newCluster(t, &refusing{app: "second", node: "b1"}, nodes("a1", "a2", "b1"),
		pod("first", "", "1G"), pod("second", "", "1G"), pod("beside", "", "1G", besideOf("first")))
	of := at.planOf("first>a1 second>b1 beside>a2")
	alone := at.replay(t, of)
	of.Placements[0].Unit, of.Placements[1].Unit = "gang", "gang"

	together := at.replay(t, of)

	if want := map[string]string{"second on b1": "Refusing"}; !maps.Equal(alone, want) {
		t.Errorf("refused one by one: %v, want %v", alone, want)
	}
	if want := map[string]string{"second on b1": "Refusing", "beside on a2": "InterPodAffinity"}; !maps.Equal(together, want) {
		t.Errorf("refused as a unit: %v, want %v", together, want)
	}
}

// A pod that only lacks room because another pod was refused must not be named: that would forbid a valid pair.
func TestPodsThatOnlyLackRoomAreNotNamed(t *testing.T) {
	at := newCluster(t, &refusing{app: "one", node: "b1"}, nodes("a1", "b1", "b2"),
		pod("one", "a1", "3G"), pod("other", "b2", "3G"), pod("new", "", "4G"))

	got := at.replay(t, at.planOf("one>b1 other>a1 new>b2"))

	if want := map[string]string{"one on b1": "Refusing"}; !maps.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}

// PreFilter's own way to update its counts, made for preemption, loses the emptiest of three zones once two of them have
// changed; which one depends on the order of a map.
func TestSpreadIsCountedOverAllZonesAfterEachStep(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1", "c1"),
		pod("w1", "a1", "1G", evenly), pod("w2", "b1", "1G", evenly), pod("w3", "c1", "1G", evenly),
		pod("n1", "", "1G", evenly), pod("n2", "", "1G", evenly), pod("n3", "", "1G", evenly))

	for range 20 {
		if got := at.replay(t, at.planOf("n1>a1 n2>b1 n3>a1")); len(got) != 1 || got["n3 on a1"] != "PodTopologySpread" {
			t.Fatalf("refused %v, want the third pod", got)
		}
	}
}

// An eviction may be for more than room: then the pod is evicted although the arriving pod would fit beside it.
func TestEvictionsThatAreNotForRoomAreCarriedOut(t *testing.T) {
	for name, c := range map[string]struct {
		newcomer func(*v1.Pod)
		insist   bool
	}{
		"the same port":  {withPort, true},
		"conflicting":    {apartFrom("low"), true},
		"nothing at all": {func(*v1.Pod) {}, false},
	} {
		at := newCluster(t, &refusing{}, nodes("a1"), pod("low", "a1", "1G", withPort), pod("new", "", "1G", c.newcomer))

		outcome := at.outcome(t, at.planOf("new>a1 low>"))

		if len(outcome.Refusals) != 0 || outcome.RequireAll != c.insist {
			t.Errorf("%s: %+v, want insist %v", name, outcome, c.insist)
		}
	}
}

// A plan for pods that are gone is not valid for this cluster.
func TestPlanOfAnotherClusterIsAnError(t *testing.T) {
	here := newCluster(t, &refusing{}, nodes("a1", "b1"))
	there := newCluster(t, &refusing{}, nodes("a1", "b1"), pod("one", "a1", "2G"))
	_, ctx := ktesting.NewTestContext(t)

	_, err := here.rehearser.Replay(ctx, there.planOf("one>b1"))

	if err == nil {
		t.Error("no error")
	}
}

// swapping is a plan in which pairs of full nodes swap their pods. A pod that waits has room, but may not come before the
// last pair, which takes longest to end, has done so.
func swapping(t *testing.T, refuses *refusing) (*testCluster, *plan.Plan) {
	t.Helper()
	const cycles = 20
	var names []string
	var pods []*v1.Pod
	for i := range 2 * cycles {
		name := fmt.Sprintf("%c%d", 'a'+i%2, i)
		names = append(names, name)
		pods = append(pods, pod("on-"+name, name, "3G"))
	}
	slow, last := int64(100), names[2*cycles-2:]
	for _, one := range pods[2*cycles-2:] {
		one.Spec.TerminationGracePeriodSeconds = &slow
	}
	pods = append(pods, pod("new", "", "1G", apartFrom("on-"+last[0])))
	at := newCluster(t, refuses, nodes(names...), pods...)
	steps := "new>" + last[0]
	for i, name := range names {
		steps += " on-" + name + ">" + names[i^1]
	}
	return at, at.planOf(steps)
}

// If cycles were broken one after the other, every pod that waits would be tried again for each of them.
func TestAPlanOfManyCyclesIsReplayedInAFewRounds(t *testing.T) {
	refuses := &refusing{}
	at, of := swapping(t, refuses)

	if got := at.replay(t, of); len(got) != 0 {
		t.Fatalf("refused %v", got)
	}

	if refuses.tried["new"] > 5 || refuses.tries() > 2*len(of.Moves) {
		t.Errorf("tried %v, want each pod once or twice", refuses.tried)
	}
}

// A pod without room is tried again when its node has changed, not whenever any other pod has come or gone.
func TestPodsWithoutRoomAreTriedAgainWhenTheirNodeChanges(t *testing.T) {
	const moves = 20
	names, pods, steps := []string{"a0"}, []*v1.Pod{}, ""
	for i := range moves {
		on, next := names[i], fmt.Sprint("a", i+1)
		names, pods = append(names, next), append(pods, pod("on-"+on, on, "4G"))
		steps += " on-" + on + ">" + next
	}
	for i := range 4 {
		name := fmt.Sprint("new-", i)
		pods, steps = append(pods, pod(name, "", "1G")), steps+" "+name+">a0"
	}
	refuses := &refusing{}
	at := newCluster(t, refuses, nodes(names...), pods...)

	if got := at.replay(t, at.planOf(steps)); len(got) != 0 {
		t.Fatalf("refused %v", got)
	}

	if refuses.tries() > 2*moves {
		t.Errorf("tried %v, want each pod once or twice", refuses.tried)
	}
}

var emptying = v1.Taint{Key: "stowage.dev/emptying", Value: "p", Effect: v1.TaintEffectNoSchedule}

// drain empties the nodes, each of which has the named pods.
func (c *testCluster) drain(t *testing.T, nodes ...[]string) rehearsal.Drained {
	t.Helper()
	var order []rehearsal.Emptied
	for _, node := range nodes {
		one := rehearsal.Emptied{Node: node[0]}
		for _, name := range node[1:] {
			one.Pods = append(one.Pods, c.pod(name))
		}
		order = append(order, one)
	}
	_, ctx := ktesting.NewTestContext(t)
	return testobjects.Value(c.rehearser.Empty(ctx, order, c.closed, emptying))(t)
}

// Another scheduler puts each replacement where the profile's own plugins would, never on a node that is being emptied.
func TestADrainFindsAPlaceForEachPod(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "a2", "b1"),
		pod("one", "a1", "1G"), pod("two", "a2", "1G"), pod("stays", "b1", "1G"))

	got := at.drain(t, []string{"a1", "one"}, []string{"a2", "two"})

	if len(got.Stuck) != 0 || got.Places["one"] != "b1" || got.Places["two"] != "b1" {
		t.Errorf("drained %+v", got)
	}
}

// A node of which not all pods find a place keeps all of them, and takes pods again; what it would have taken elsewhere is
// left to the next node.
func TestAStuckNodeKeepsItsPods(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "a2", "b1"),
		pod("one", "a1", "1G"), pod("big", "a1", "3G"), pod("two", "a2", "2G"), pod("stays", "b1", "2G"))

	got := at.drain(t, []string{"a1", "one", "big"}, []string{"a2", "two"})

	if len(got.Stuck) != 1 || !strings.Contains(got.Stuck["a1"], "default/big") || !strings.Contains(got.Stuck["a1"], "Insufficient memory") {
		t.Errorf("stuck %v", got.Stuck)
	}
	if len(got.Places) != 1 || got.Places["two"] != "b1" {
		t.Errorf("places %v", got.Places)
	}
	if snapshotAgain := at.drain(t, []string{"a2", "two"}); snapshotAgain.Places["two"] != "b1" {
		t.Errorf("the rehearsal has changed the cluster: %+v", snapshotAgain)
	}
}

// No node is saved by moving pods to one that was not in use. A pod of a DaemonSet does not make it so.
func TestAPodThatWouldGoToAnIdleNodeStays(t *testing.T) {
	daemon := pod("daemon", "b1", "1G", func(pod *v1.Pod) { pod.OwnerReferences[0].Kind = "DaemonSet" })
	at := newCluster(t, &refusing{}, nodes("a1", "b1"), pod("one", "a1", "1G"), daemon)

	got := at.drain(t, []string{"a1", "one"})

	if !strings.Contains(got.Stuck["a1"], "not in use") || len(got.Places) != 0 {
		t.Errorf("drained %+v", got)
	}
}

// Stock scoring likes idle nodes best; closed while the plan lasts, they take nothing from those that are in use.
func TestAPodGoesToANodeInUseWhereIdleOnesAreClosed(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1", "c1"), pod("one", "a1", "1G"), pod("stays", "c1", "1G"))

	open := at.drain(t, []string{"a1", "one"})
	at.closed = []string{"b1"}
	closed := at.drain(t, []string{"a1", "one"})

	if len(open.Places) != 0 || closed.Places["one"] != "c1" {
		t.Errorf("open: %+v, closed: %+v", open, closed)
	}
}
