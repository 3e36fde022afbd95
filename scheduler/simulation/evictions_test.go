package simulation_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/simulation"
)

// told has a story pass, and returns the lines of the answer about what was asked for in it.
func told(t *testing.T, story string) ([]simulation.Eviction, []simulation.State) {
	t.Helper()
	found := pass(t, simulatorOf(t, filepath.Join(profileFolder, "deterministic.yaml")), story)
	if found.failed > 0 {
		t.Fatal(found.text)
	}
	return found.evictions, found.states
}

func evictAt(at float64, pod string) string {
	return fmt.Sprintf(`{"at":%v,"evict":"default/%s"}`, at, pod)
}

func budget(spec string) string {
	return `{"at":0,"object":{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":` +
		`{"selector":{"matchLabels":{"app":"web"}},` + spec + `}}}`
}

func cordonedAt(at float64, name string) string {
	return strings.Replace(nodeAt(at, name), `"status"`, `"spec":{"unschedulable":true},"status"`, 1)
}

const webTemplate = `{"at":0,"template":{"id":"web","pod":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":` +
	`[{"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}`

// TestBudgetsAllowWhatTheDisruptionControllerWouldCount: a program that decides what to evict is refused what it would be
// refused in a cluster, or its moves cost nothing.
func TestBudgetsAllowWhatTheDisruptionControllerWouldCount(t *testing.T) {
	for spec, allowed := range map[string]int32{
		`"minAvailable":2`: 1, `"minAvailable":4`: 0, `"minAvailable":"50%"`: 1,
		`"maxUnavailable":1`: 1, `"maxUnavailable":"34%"`: 2, `"maxUnavailable":0`: 0,
	} {
		evictions, states := told(t, story(nodeAt(0, "n"), nodeAt(0, "m"), nodeAt(0, "o"), webTemplate, budget(spec),
			podAt(1, "a", "web", owned), podAt(1, "b", "web", owned), podAt(1, "c", "web", owned),
			`{"at":2,"state":true}`, cordonedAt(3, "n"), cordonedAt(3, "m"), cordonedAt(3, "o"), evictAt(4, "a"), evictAt(4, "b"), evictAt(4, "c")))
		if got := states[0].DisruptionBudgets[0].Status.DisruptionsAllowed; got != allowed {
			t.Errorf("%s allows %d, want %d", spec, got, allowed)
		}
		var gone int32
		for _, one := range evictions {
			if one.Refused == "" {
				gone++
			}
		}
		if gone != allowed {
			t.Errorf("%s: %d evictions went through, want %d, since nothing comes back: %+v", spec, gone, allowed, evictions)
		}
	}
}

// TestAnEvictedPodComesBackAsItsOwnersNextPod: the other program knows it by the state.
func TestAnEvictedPodComesBackAsItsOwnersNextPod(t *testing.T) {
	evictions, states := told(t, story(nodeAt(0, "n"), webTemplate, podAt(1, "a", "web", owned), nodeAt(2, "m"),
		cordonedAt(2, "n"), evictAt(3, "a"), evictAt(3, "a"), `{"at":3,"state":true}`))
	want := []simulation.Eviction{{At: 3, Pod: "default/a", Replacement: "default/a-again-1"},
		{At: 3, Pod: "default/a", Refused: "there is no such pod"}}
	if !slices.Equal(evictions, want) {
		t.Errorf("got %+v, want %+v", evictions, want)
	}
	pods := states[0].Pods
	if len(pods) != 1 || pods[0].Name != "a-again-1" || pods[0].Spec.NodeName != "m" || pods[0].Status.Phase != v1.PodRunning {
		t.Errorf("the state should show the replacement on m: %+v", pods)
	}
	if nodes := states[0].Nodes; len(nodes) != 2 || !nodes[1].Spec.Unschedulable {
		t.Errorf("the state should show both nodes, and the cordon: %+v", nodes)
	}
}

// TestEvictionsAreCounted: what a policy and a descheduler do is compared by these.
func TestEvictionsAreCounted(t *testing.T) {
	_, passed := become(t, "deterministic", story(nodeAt(0, "n"), webTemplate, `{"at":0,"settings":{"coolDown":10}}`,
		budget(`"maxUnavailable":1`), podAt(1, "a", "web", owned), evictAt(3, "a"), evictAt(12.5, "a-again-1"),
		evictAt(22.6, "a-again-2"), cordonedAt(30, "n"), evictAt(40, "a-again-3"), evictAt(50, "a-again-4"), evictAt(51, "nobody")))
	want := simulation.Evictions{Evicted: 5, Refused: 1, WithinCoolDown: 1}
	if passed.Evictions == nil || *passed.Evictions != want {
		t.Errorf("got %+v, want %+v; %s", passed.Evictions, want, passed.Error)
	}
}

// TestTheStateTellsWhichPodsCoolDown: what could be moved then is less than what there is.
func TestTheStateTellsWhichPodsCoolDown(t *testing.T) {
	_, states := told(t, story(nodeAt(0, "n"), webTemplate, `{"at":0,"settings":{"coolDown":10}}`, podAt(1, "a", "web", owned),
		podAt(1, "b", "web", owned), evictAt(3, "a"), `{"at":12.9,"state":true}`, `{"at":13,"state":true}`))
	if first, second := states[0].CoolingDown, states[1].CoolingDown; !slices.Equal(first, []string{"default/a-again-1"}) || len(second) > 0 {
		t.Errorf("at 12.9 %v, at 13 %v", first, second)
	}
}

// TestPodsAreReadyInTime: a pod that starts does not count for its budget, and has no part of the cluster's work.
func TestPodsAreReadyInTime(t *testing.T) {
	_, states := told(t, story(nodeAt(0, "n"), webTemplate, `{"at":0,"settings":{"startsAfter":5}}`,
		budget(`"minAvailable":1`), podAt(1, "a", "web", owned), `{"at":5.9,"state":true}`, `{"at":6,"state":true}`))
	for i, want := range []v1.PodPhase{v1.PodPending, v1.PodRunning} {
		pod, healthy := states[i].Pods[0], states[i].DisruptionBudgets[0].Status.CurrentHealthy
		if pod.Spec.NodeName != "n" || pod.Status.Phase != want || healthy != int32(i) {
			t.Errorf("at %v: pod %s on %q, %d healthy; want %s", states[i].At, pod.Status.Phase, pod.Spec.NodeName, healthy, want)
		}
	}
}
