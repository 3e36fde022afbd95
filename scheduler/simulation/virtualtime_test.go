package simulation_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

// story is what happens, a line an event.
func story(lines ...string) string { return strings.Join(lines, "\n") }

// day is what the answer to a story says.
type day struct {
	lives     []simulation.Life
	evictions []simulation.Eviction
	states    []simulation.State
	plans     []simulation.PlanTold
	windows   []simulation.WindowTold
	policies  []simulation.PolicyTold
	gone      []simulation.GoneNode
	passed    simulation.Passed
	text      string
	failed    int
}

// pass has a story pass.
func pass(t *testing.T, simulator *simulation.Simulator, story string) (found day) {
	t.Helper()
	var out bytes.Buffer
	failed := testobjects.Value(simulator.PassTime(t.Context(), strings.NewReader(story), &out))(t)
	found.text, found.failed = out.String(), failed
	for text := range strings.Lines(found.text) {
		var life simulation.Life
		var line struct {
			Eviction *simulation.Eviction
			State    *simulation.State
			Plan     *simulation.PlanTold
			Window   *simulation.WindowTold
			Policy   *simulation.PolicyTold
			NodeGone *simulation.GoneNode
			Passed   *simulation.Passed
		}
		testobjects.Must(t, errors.Join(json.Unmarshal([]byte(text), &life), json.Unmarshal([]byte(text), &line)))
		if life.Pod != "" {
			found.lives = append(found.lives, life)
		}
		appendTo(&found.evictions, line.Eviction)
		appendTo(&found.states, line.State)
		appendTo(&found.plans, line.Plan)
		appendTo(&found.windows, line.Window)
		appendTo(&found.policies, line.Policy)
		appendTo(&found.gone, line.NodeGone)
		if line.Passed != nil {
			found.passed = *line.Passed
		}
	}
	return found
}

func appendTo[T any](list *[]T, one *T) {
	if one != nil {
		*list = append(*list, *one)
	}
}

// become has a story pass under a profile, and returns what became of each pod in few words.
func become(t *testing.T, profile, story string) (map[string]string, simulation.Passed) {
	t.Helper()
	found, became := pass(t, simulatorOf(t, filepath.Join(profileFolder, profile+".yaml")), story), map[string]string{}
	for _, life := range found.lives {
		words := fmt.Sprint("at ", life.Arrived)
		if life.Bound != nil {
			words += fmt.Sprintf(", on %s at %v", life.Node, *life.Bound)
		}
		if life.Ended != nil {
			words += fmt.Sprintf(", %s at %v", life.How, *life.Ended)
		}
		name := strings.TrimPrefix(life.Pod, "default/")
		if _, again := became[name]; again {
			name += " again"
		}
		became[name] = words
	}
	return became, found.passed
}

// nodeAt has a node of one core come.
func nodeAt(at float64, name string) string {
	return fmt.Sprintf(`{"at":%v,"node":{"metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q}},`+
		`"status":{"allocatable":{"cpu":"1","pods":"10"}}}}`, at, name, name)
}

// template makes pods that ask for so many cores.
func template(id string, cpu, priority int, further string) string {
	return fmt.Sprintf(`{"at":0,"template":{"id":%q,"pod":{"spec":{"priority":%d,%s"containers":[{"name":"c","image":"i",`+
		`"resources":{"requests":{"cpu":"%d"}}}]}}}}`, id, priority, further, cpu)
}

func podAt(at float64, name, of, further string) string {
	return fmt.Sprintf(`{"at":%v,"pod":{"name":"default/%s","of":%q%s}}`, at, name, of, further)
}

func podGone(at float64, name string) string {
	return fmt.Sprintf(`{"at":%v,"podGone":"default/%s"}`, at, name)
}

const (
	livesTen = `,"lives":10,"how":"succeeded"`
	owned    = `,"owner":{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r"}`
	end      = `{"at":100}`
)

// TestPodsLiveTheirTimeFromTheirBinding: the day of a trace is that of another scheduler, and only how long pods run and
// when they come is the load.
func TestPodsLiveTheirTimeFromTheirBinding(t *testing.T) {
	one, two := nodeAt(0, "n"), template("one", 1, 0, "")
	low, high := template("low", 1, 1, ""), template("high", 1, 2, "")
	for name, row := range map[string]struct {
		profile string
		story   string
		want    map[string]string
	}{
		"a pod waits for the room of one that ends": {
			"default",
			story(one, two, podAt(1, "a", "one", livesTen), podAt(2, "b", "one", livesTen), podAt(15, "c", "one", ""), end),
			map[string]string{"a": "at 1, on n at 1, succeeded at 11", "b": "at 2, on n at 11, succeeded at 21",
				"c": "at 15, on n at 21"}},
		"a pod that waits is gone when it was": {
			"default", story(one, two, podAt(1, "a", "one", ""), podAt(2, "b", "one", `,"how":"deleted"`), podGone(3, "b"), end),
			map[string]string{"a": "at 1, on n at 1", "b": "at 2, deleted at 3"}},
		"room comes with a node and goes with one, whose pods come back if somebody brings them": {
			"default",
			story(one, two, podAt(1, "a", "one", owned), podAt(2, "b", "one", ""), nodeAt(3, "m"),
				`{"at":4,"nodeGone":"n"}`, `{"at":5,"nodeGone":"m"}`, nodeAt(6, "n"), end),
			map[string]string{"a": "at 1, on n at 1, node gone at 4", "a-again-1": "at 4, on n at 6",
				"b": "at 2, on m at 3, node gone at 5"}},
		"a preempted pod comes back, and lives its whole time": {
			"default",
			story(one, low, high, podAt(1, "a", "low", owned+livesTen), podAt(2, "b", "high", livesTen), end),
			map[string]string{"a": "at 1, on n at 1, preempted at 2", "b": "at 2, on n at 2, succeeded at 12",
				"a-again-1": "at 2, on n at 12, succeeded at 22"}},
		"nobody brings a bare pod back": {
			"default", story(one, low, high, podAt(1, "a", "low", ""), podAt(2, "b", "high", ""), end),
			map[string]string{"a": "at 1, on n at 1, preempted at 2", "b": "at 2, on n at 2"}},
		"with a pod goes what has replaced it": {
			"default",
			story(one, low, high, podAt(1, "a", "low", owned), podAt(2, "b", "high", ""), podGone(3, "a"), podGone(4, "b"), end),
			map[string]string{"a": "at 1, on n at 1, preempted at 2", "a-again-1": "at 2,  at 3", "b": "at 2, on n at 2,  at 4"}},
		"a name may come again, also before the one before has run its time": {
			"default", story(one, two, podAt(1, "a", "one", livesTen), podAt(5, "a", "one", ""), end),
			map[string]string{"a": "at 1, on n at 1, succeeded at 5", "a again": "at 5, on n at 5"}},
		"what was placed at the beginning stays where it was": {
			"deterministic", story(nodeAt(0, "m"), one, two, podAt(0, "a", "one", `,"node":"n"`), podAt(0, "b", "one", ""), end),
			map[string]string{"a": "at 0, on n at 0", "b": "at 0, on m at 0"}},
		"a recorded gate is open, and another's scheduler is this one": {
			"default",
			story(one, template("one", 1, 0, `"schedulerName":"x","schedulingGates":[{"name":"e.com/g"}],`), podAt(1, "a", "one", ""), end),
			map[string]string{"a": "at 1, on n at 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			found, passed := become(t, row.profile, row.story)
			if !maps.Equal(found, row.want) || passed.Error != "" || passed.Until != 100 {
				t.Errorf("got  %v\nwant %v\n%+v", found, row.want, passed)
			}
		})
	}
}

// TestAPodIsTriedWhenItsClaimIsBound: objects come while pods wait, and the scheduler must have heard of them before the
// next event.
func TestAPodIsTriedWhenItsClaimIsBound(t *testing.T) {
	object := func(at float64, kind, name, spec, further string) string {
		return fmt.Sprintf(`{"at":%v,"object":{"apiVersion":"v1","kind":%q,"metadata":{"name":%q%s},"spec":%s}}`,
			at, kind, name, further, spec)
	}
	claim := func(at float64, volume, further string) string {
		return object(at, "PersistentVolumeClaim", "c", `{"accessModes":["ReadWriteOnce"],"storageClassName":"s",`+
			`"resources":{"requests":{"storage":"1"}}`+volume+`}`, further)
	}
	found, passed := become(t, "default", story(
		nodeAt(0, "n"), template("t", 1, 0, `"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}}],`),
		podAt(1, "a", "t", ""),
		`{"at":2,"object":{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"s"},`+
			`"provisioner":"e.com/p","volumeBindingMode":"Immediate"}}`,
		claim(3, "", ""),
		object(4, "PersistentVolume", "v", `{"capacity":{"storage":"1"},"accessModes":["ReadWriteOnce"],`+
			`"storageClassName":"s","hostPath":{"path":"/v"}}`, ""),
		claim(5, `,"volumeName":"v"`, `,"annotations":{"pv.kubernetes.io/bind-completed":"yes"}`),
		`{"at":6,"objectGone":{"kind":"PersistentVolumeClaim","namespace":"default","name":"c"}}`,
		podAt(7, "b", "t", ""), end))
	want := map[string]string{"a": "at 1, on n at 5", "b": "at 7"}
	if !maps.Equal(found, want) {
		t.Errorf("got %v, want %v; %+v", found, want, passed)
	}
}

// TestWhatMakesNoSenseIsNamed: a trace is of a real cluster, and one object must not cost the rest.
func TestWhatMakesNoSenseIsNamed(t *testing.T) {
	found, passed := become(t, "default", story(
		nodeAt(0, "n"), template("one", 1, 0, `"colour":"red",`), template("less", -1, 0, ""),
		podAt(1, "a", "less", ""), podAt(2, "b", "one", `,"node":"m"`), podAt(3, "c", "one", ""),
		podGone(4, "nobody"), `{"at":5,"nodeGone":"nobody"}`, `{"at":6,"objectGone":{"kind":"Secret","name":"s"}}`, end))
	if want := map[string]string{"c": "at 3, on n at 3"}; !maps.Equal(found, want) || passed.Error != "" {
		t.Errorf("got %v, want %v; %+v", found, want, passed)
	}
	for _, want := range []string{"Template less", "Pod default/a", "Pod default/b", "Template spec.colour"} {
		if !strings.Contains(fmt.Sprint(passed.Reading), want) {
			t.Errorf("%s should be named: %+v", want, passed.Reading)
		}
	}
}

// TestABrokenStoryEndsWhereItBreaks: what came before is still told.
func TestABrokenStoryEndsWhereItBreaks(t *testing.T) {
	for line, want := range map[string]string{
		`{"at":0,"pod":`:     "line 4: not an event in JSON",
		`{"at":0.5}`:         "line 4: at: 0.5 is before 1",
		`{"at":2,"pods":[]}`: `line 4: unknown field "pods"`,
	} {
		found, passed := become(t, "default",
			story(nodeAt(0, "n"), template("one", 1, 0, ""), podAt(1, "a", "one", ""), line, podAt(3, "b", "one", "")))
		if !strings.HasPrefix(passed.Error, want) || found["a"] != "at 1, on n at 1" || len(found) != 1 {
			t.Errorf("%s: got %v, %q; want %q", line, found, passed.Error, want)
		}
	}
}

// TestOfEqualPodsThatWaitOneIsTried: in a full cluster each end of a pod wakes all that wait, and all but the first are
// tried in vain. They get their room in the order in which they came, and smaller ones are not held up.
func TestOfEqualPodsThatWaitOneIsTried(t *testing.T) {
	const count = 20
	lines := []string{nodeAt(0, "n"), nodeAt(0, "m"), template("one", 1, 0, ""), template("none", 0, 0, ""),
		podAt(1, "first", "one", `,"node":"m"`)}
	want := map[string]string{"first": "at 1, on m at 1", "small": "at 50, on m at 50"}
	for i := range count {
		lines = append(lines, podAt(2, fmt.Sprintf("p%02d", i), "one", `,"lives":4,"how":"succeeded"`))
		begin := 2 + 4*i
		want[fmt.Sprintf("p%02d", i)] = fmt.Sprintf("at 2, on n at %d, succeeded at %d", begin, begin+4)
	}
	found, passed := become(t, "deterministic", story(append(lines, podAt(50, "small", "none", ""), end)...))
	if !maps.Equal(found, want) {
		t.Errorf("got %v, want %v", found, want)
	}
	if passed.Attempts > 5*count {
		t.Errorf("%d attempts for %d pods", passed.Attempts, count)
	}
}

// TestPodsThatWaitKeepTheirTurn: whether a pod was tried or passed over since an equal one has just been tried in vain, it
// comes before those that are tried after it, as in a cluster, which tries all.
func TestPodsThatWaitKeepTheirTurn(t *testing.T) {
	here := `"nodeSelector":{"kubernetes.io/hostname":"n"},`
	found, passed := become(t, "deterministic", story(
		nodeAt(0, "m"), nodeAt(0, "n"), template("any", 1, 0, ""), template("one", 1, 0, here), template("other", 1, 0, here),
		podAt(1, "n1", "one", livesTen), podAt(1, "m1", "any", ""),
		podAt(2, "a", "one", livesTen), podAt(3, "b", "one", livesTen), podAt(4, "c", "other", livesTen),
		podGone(9, "m1"), // which wakes all three, and none of them can go there
		end))
	want := map[string]string{
		"n1": "at 1, on n at 1, succeeded at 11", "m1": "at 1, on m at 1,  at 9",
		"a": "at 2, on n at 11, succeeded at 21", "b": "at 3, on n at 21, succeeded at 31",
		"c": "at 4, on n at 31, succeeded at 41",
	}
	if !maps.Equal(found, want) || passed.Error != "" {
		t.Errorf("became %q, want %q; error %q", found, want, passed.Error)
	}
}

// TestNothingIsMissedThatHappensRightAfterARestart: a new process knows what there is, and hears of the next change.
func TestNothingIsMissedThatHappensRightAfterARestart(t *testing.T) {
	found, passed := become(t, "default", story(nodeAt(0, "n"), template("one", 1, 0, ""), podAt(1, "a", "one", ""),
		podAt(1, "b", "one", ""), `{"at":2,"restart":true}`, podGone(2, "a"), end))
	if want := map[string]string{"a": "at 1, on n at 1,  at 2", "b": "at 1, on n at 2"}; !maps.Equal(found, want) {
		t.Errorf("got %v, want %v; %+v", found, want, passed)
	}
}
