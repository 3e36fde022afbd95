package rehearsal_test

import (
	"fmt"
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/plan"
)

// The paper's figure 1 passes, and is refused once an unknown plugin refuses a pod.
func TestPluginsOfTheProfileCanRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		refuses refusing
		want    map[string]string
	}{
		"no refusal":           {refusing{}, map[string]string{}},
		"the mover is refused": {refusing{app: "one", node: "b1"}, map[string]string{"one on b1": "Refusing"}},
		"the other is refused": {refusing{app: "three", node: "a1"}, map[string]string{"three on a1": "Refusing"}},
		"another node":         {refusing{app: "three", node: "b1"}, map[string]string{}},
	} {
		at := newCluster(t, &c.refuses, nodes("a1", "b1"), pod("one", "a1", "2G"), pod("two", "b1", "2G"), pod("three", "", "3G"))

		got := at.replay(t, &plan.Plan{Moves: []plan.Step{at.move("one", "b1")}, Placements: []plan.Step{at.place("three", "a1")}})

		if !maps.Equal(got, c.want) {
			t.Errorf("%s: refused %v, want %v", name, got, c.want)
		}
	}
}

// Each step is checked in the state that the steps before it lead to: PreFilter's counts of pods must follow each step.
func TestEachStepIsCheckedInTheStateAfterTheStepsBeforeIt(t *testing.T) {
	full := func(pods ...*v1.Pod) []*v1.Pod { return pods }
	for name, c := range map[string]struct {
		pods []*v1.Pod
		plan func(*testCluster) *plan.Plan
		want map[string]string
	}{
		"the conflicting pod leaves the zone first": {
			full(pod("conflicting", "a1", "1G"), pod("new", "", "1G", apartFrom("conflicting"))),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Moves: []plan.Step{at.move("conflicting", "b1")}, Placements: []plan.Step{at.place("new", "a2")}}
			}, map[string]string{}},
		"the conflicting pod stays in the zone": {
			full(pod("conflicting", "a1", "1G"), pod("new", "", "1G", apartFrom("conflicting"))),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Moves: []plan.Step{at.move("conflicting", "a3")}, Placements: []plan.Step{at.place("new", "a2")}}
			}, map[string]string{"new on a2": "InterPodAffinity"}},
		"an arriving pod conflicts with one that stays": {
			full(pod("hermit", "a1", "1G", apartFrom("new")), pod("new", "", "1G")),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Placements: []plan.Step{at.place("new", "a2")}}
			}, map[string]string{"new on a2": "InterPodAffinity"}},
		"a required pod comes with it": {
			full(pod("required", "", "1G"), pod("new", "", "1G", besideOf("required"))),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Placements: []plan.Step{at.place("new", "a2"), at.place("required", "a1")}}
			}, map[string]string{}},
		"the required pod goes elsewhere": {
			full(pod("required", "", "1G"), pod("new", "", "1G", besideOf("required"))),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Placements: []plan.Step{at.place("new", "a2"), at.place("required", "b1")}}
			}, map[string]string{"new on a2": "InterPodAffinity"}},
		"who keeps apart from others comes before them": {
			full(pod("hermit", "", "1G", apartFrom("new")), pod("new", "", "1G")),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Placements: []plan.Step{at.place("hermit", "a1"), at.place("new", "a2")}}
			}, map[string]string{"new on a2": "InterPodAffinity"}},
		"two full nodes swap their pods": {
			full(pod("one", "a1", "4G"), pod("two", "a2", "4G")),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Moves: []plan.Step{at.move("one", "a2"), at.move("two", "a1")}}
			}, map[string]string{}},
		"there is no room": {
			full(pod("one", "a1", "4G"), pod("new", "", "1G")),
			func(at *testCluster) *plan.Plan {
				return &plan.Plan{Placements: []plan.Step{at.place("new", "a1")}}
			}, map[string]string{"new on a1": "NodeResourcesFit"}},
	} {
		at := newCluster(t, &refusing{}, nodes("a1", "a2", "a3", "b1"), c.pods...)

		if got := at.replay(t, c.plan(at)); !maps.Equal(got, c.want) {
			t.Errorf("%s: refused %v, want %v", name, got, c.want)
		}
	}
}

// A pod that only lacks room because another pod was refused must not be named: that would forbid a valid pair.
func TestPodsThatOnlyLackRoomAreNotNamed(t *testing.T) {
	at := newCluster(t, &refusing{app: "one", node: "b1"}, nodes("a1", "b1", "b2"),
		pod("one", "a1", "3G"), pod("other", "b2", "3G"), pod("new", "", "4G"))

	got := at.replay(t, &plan.Plan{
		Moves:      []plan.Step{at.move("one", "b1"), at.move("other", "a1")},
		Placements: []plan.Step{at.place("new", "b2")}})

	if want := map[string]string{"one on b1": "Refusing"}; !maps.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}

// Spread is counted by PreFilter over all nodes: a move changes the counts of two zones.
func TestSpreadFollowsTheMoves(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1"),
		pod("w1", "a1", "1G", evenly), pod("w2", "a1", "1G", evenly), pod("new", "", "1G", evenly))

	alone := at.replay(t, &plan.Plan{Placements: []plan.Step{at.place("new", "a1")}})
	after := at.replay(t, &plan.Plan{Moves: []plan.Step{at.move("w2", "b1")}, Placements: []plan.Step{at.place("new", "a1")}})

	if len(alone) != 1 || alone["new on a1"] != "PodTopologySpread" || len(after) != 0 {
		t.Errorf("alone %v, after the move %v", alone, after)
	}
}

// PreFilter's own way to update its counts, made for preemption, loses the emptiest of three zones once two of them have
// changed; which one depends on the order of a map.
func TestSpreadIsCountedOverAllZonesAfterEachStep(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1", "c1"),
		pod("w1", "a1", "1G", evenly), pod("w2", "b1", "1G", evenly), pod("w3", "c1", "1G", evenly),
		pod("n1", "", "1G", evenly), pod("n2", "", "1G", evenly), pod("n3", "", "1G", evenly))
	of := &plan.Plan{Placements: []plan.Step{at.place("n1", "a1"), at.place("n2", "b1"), at.place("n3", "a1")}}

	for range 20 {
		if got := at.replay(t, of); len(got) != 1 || got["n3 on a1"] != "PodTopologySpread" {
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

		outcome := at.outcome(t, &plan.Plan{Placements: []plan.Step{at.place("new", "a1")}, Evictions: []plan.Step{at.evict("low")}})

		if len(outcome.Refusals) != 0 || outcome.RequireAll != c.insist {
			t.Errorf("%s: %+v, want insist %v", name, outcome, c.insist)
		}
	}
}

// A pod that has room waits for the port of a pod that waits for room itself: one of them must be evicted early although
// the first is expected.
func TestPodThatWaitsForAPortBreaksNoPlan(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1"),
		pod("holder", "a1", "2G", withPort), pod("other", "b1", "3G"), pod("new", "", "1G", withPort))
	of := &plan.Plan{Moves: []plan.Step{at.move("holder", "b1"), at.move("other", "a1")},
		Placements: []plan.Step{at.place("new", "a1")}}

	outcome := at.outcome(t, of)

	if len(outcome.Refusals) != 0 || len(outcome.Early) != 1 || outcome.RequireAll {
		t.Errorf("%+v, want one pod to go early", outcome)
	}
}

// A plan for pods that are gone is not valid for this cluster.
func TestPlanOfAnotherClusterIsAnError(t *testing.T) {
	here := newCluster(t, &refusing{}, nodes("a1", "b1"))
	there := newCluster(t, &refusing{}, nodes("a1", "b1"), pod("one", "a1", "2G"))
	_, ctx := ktesting.NewTestContext(t)

	_, err := here.rehearser.Replay(ctx, &plan.Plan{Moves: []plan.Step{there.move("one", "b1")}})

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
	of := &plan.Plan{Placements: []plan.Step{at.place("new", last[0])}}
	for i, name := range names {
		of.Moves = append(of.Moves, at.move("on-"+name, names[i^1]))
	}
	return at, of
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
	var names []string
	var pods []*v1.Pod
	for i := range moves + 1 {
		names = append(names, fmt.Sprint("a", i))
	}
	for i := range moves {
		pods = append(pods, pod("on-"+names[i], names[i], "4G"))
	}
	for i := range 4 {
		pods = append(pods, pod(fmt.Sprint("new-", i), "", "1G"))
	}
	refuses := &refusing{}
	at := newCluster(t, refuses, nodes(names...), pods...)
	of := &plan.Plan{}
	for i := range moves {
		of.Moves = append(of.Moves, at.move("on-"+names[i], names[i+1]))
	}
	for i := range 4 {
		of.Placements = append(of.Placements, at.place(fmt.Sprint("new-", i), names[0]))
	}

	if got := at.replay(t, of); len(got) != 0 {
		t.Fatalf("refused %v", got)
	}

	if refuses.tries() > 2*moves {
		t.Errorf("tried %v, want each pod once or twice", refuses.tried)
	}
}
