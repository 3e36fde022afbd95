package simulation_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

const (
	observedNode = `{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"2","pods":"10"}}}`
	observedPod  = `{"metadata":{"name":"p"},"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","image":"i"}]}}`
)

// observed is an instance with a node and a waiting pod, and what else is given.
func observed(nodes, pods, objects string) string {
	return fmt.Sprintf(`{"id":"i","observed":true,"nodes":[%s],"pods":[%s],"objects":[%s]}`,
		strings.TrimSuffix(observedNode+","+nodes, ","), strings.TrimSuffix(observedPod+","+pods, ","), objects)
}

// A cluster holds whatever it once accepted; an answer about all the rest must not depend on it.
func TestAnObservedObjectThatMakesNoSenseIsLeftOutByName(t *testing.T) {
	const selector = `{"matchExpressions":[{"key":"a","operator":"Around"}]}`
	for name, row := range map[string]struct{ nodes, pods, objects, object, reason string }{
		"malformed room": {nodes: `{"metadata":{"name":"m"},"status":{"allocatable":{"cpu":"much"}}}`,
			object: "Node m", reason: "quantities must match"},
		"a request for more than can be counted": {
			pods:   `{"metadata":{"name":"q"},"spec":{"nodeName":"n","containers":[{"resources":{"requests":{"memory":"7Ei"}}}]}}`,
			object: "Pod default/q", reason: "more of a resource than any machine has"},
		"a node without a name":         {nodes: `{"metadata":{}}`, object: "Node number 2 of its list", reason: "metadata.name: missing"},
		"a node with a path for a name": {nodes: `{"metadata":{"name":"../m"}}`, object: "Node ../m", reason: "may not contain '/'"},
		"a node twice":                  {nodes: observedNode, object: "Node n", reason: "the last one counts"},
		"a pod on a node that is gone": {pods: `{"metadata":{"name":"q"},"spec":{"nodeName":"gone"}}`,
			object: "Pod default/q", reason: `its node "gone" is not listed`},
		"a pod on a node that is left out": {nodes: `{"metadata":{"name":"m"},"status":{"allocatable":{"cpu":"much"}}}`,
			pods: `{"metadata":{"name":"q"},"spec":{"nodeName":"m"}}`, object: "Pod default/q", reason: `its node "m" is left out`},
		"negative requests": {pods: `{"metadata":{"name":"q"},"spec":{"containers":[{"resources":{"requests":{"cpu":"-1"}}}]}}`,
			object: "Pod q", reason: "-1 is negative"},
		"a negative amount of the status": {
			pods:   `{"metadata":{"name":"q"},"status":{"containerStatuses":[{"allocatedResources":{"cpu":"-1"}}]}}`,
			object: "Pod q", reason: "-1 is negative"},
		"a pod that is something else": {pods: `7`, object: "Pod number 2 of its list", reason: "cannot unmarshal"},
		"a list for a spec":            {pods: `{"metadata":{"namespace":"x","name":"q"},"spec":[]}`, object: "Pod x/q", reason: "cannot unmarshal"},
		"a UID twice": {pods: `{"metadata":{"name":"q","uid":"u"}},{"metadata":{"name":"r","uid":"u"}}`,
			object: "Pod default/r", reason: "it has the UID of default/q"},
		"a budget with a malformed number": {
			objects: `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"status":{"disruptionsAllowed":"x"}}`,
			object:  "PodDisruptionBudget b", reason: "cannot unmarshal"},
		"a budget with a selector that means nothing": {
			objects: `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"selector":` + selector + `}}`,
			object:  "PodDisruptionBudget default/b", reason: "no pod of its namespace is moved"},
		"an object without a name": {objects: `{"apiVersion":"v1","kind":"Service","metadata":{}}`,
			object: "Service number 1 of its list", reason: "metadata.name: missing"},
		"a kind that nobody reads": {objects: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
			object: "ConfigMap c", reason: "the scheduler reads no ConfigMap"},
		"a kind of another version": {objects: `{"apiVersion":"policy/v9","kind":"PodDisruptionBudget","metadata":{"name":"b"}}`,
			object: "PodDisruptionBudget b", reason: "policy/v9"},
		"an object twice": {
			objects: strings.TrimSuffix(strings.Repeat(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x","namespace":"y"}},`, 2), ","),
			object:  "Namespace y/x", reason: "the last one counts"},
	} {
		t.Run(name, func(t *testing.T) {
			line := observed(row.nodes, row.pods, row.objects)
			if failed, results := stream(t, line); failed > 0 || results[0].Placements["default/p"] != "n" {
				t.Errorf("the pod beside it should be placed: %+v", results[0])
			} else {
				expectLeftOut(t, results[0].Reading, row.object, row.reason)
			}
			answer := answerTo(t, line)
			if answer.Error != "" || !bytes.Contains(answer.Snapshot, []byte(`"default/p"`)) {
				t.Errorf("the pod beside it should be in the snapshot: %s %s", answer.Error, answer.Snapshot)
			}
			expectLeftOut(t, answer.Reading, row.object, row.reason)
		})
	}
}

// Nodes offer what their device plugins say, which may be as much as 64 bits hold, or less than nothing once a plugin has
// gone. A sum of the scheduler's that overflows would show room where there is none.
func TestANodeIsANodeWhateverItHasOfAResource(t *testing.T) {
	const (
		node = `{"metadata":{"name":"m"},"status":{"allocatable":{"cpu":"9","memory":"9Gi","pods":"10",%s},"capacity":{%s}}}`
		pod  = `{"metadata":{"name":"%s"},"spec":{"nodeName":"%s","containers":[{"name":"c","image":"i","resources":{"requests":{%s}}}]}}`
	)
	for name, row := range map[string]struct {
		room, runs, waits string
		placed            bool
		leftOut           string
	}{
		"all that 64 bits hold": {room: `"example.com/x":"9223372036854775807"`, runs: `"example.com/x":"1"`,
			waits: `"example.com/x":"1"`, placed: true},
		"more than 64 bits hold": {room: `"example.com/x":"99999999999999999999E"`, waits: `"example.com/x":"5"`, placed: true},
		"exponents":              {room: `"example.com/x":"1e18"`, runs: `"example.com/x":"1E17"`, waits: `"example.com/x":"1E"`},
		"pods that ask for most of it": {room: `"example.com/x":"2E"`, runs: `"example.com/x":"1E"`,
			waits: `"example.com/x":"1E"`, placed: true},
		"memory":                 {room: `"memory":"7Ei"`, runs: `"memory":"1Gi"`, waits: `"memory":"1Gi"`, placed: true},
		"less than nothing":      {room: `"example.com/x":"-1"`, waits: `"cpu":"1"`, placed: true},
		"of which some is asked": {room: `"example.com/x":"-1"`, waits: `"example.com/x":"1"`},
		"parts of a unit":        {room: `"memory":"1500m","example.com/x":"1n"`, waits: `"memory":"1200m","example.com/x":"1"`, placed: true},
		"a pod that has taken nearly all": {room: `"memory":"7Ei"`, runs: `"memory":"7Ei"`, waits: `"memory":"1Ki"`,
			leftOut: "Pod default/q"},
	} {
		t.Run(name, func(t *testing.T) {
			line := observed(fmt.Sprintf(node, row.room, row.room),
				fmt.Sprintf(pod, "q", "m", row.runs)+","+fmt.Sprintf(pod, "r", "", `"cpu":"3",`+row.waits), "")
			_, results := stream(t, line)
			if got := results[0].Placements["default/r"]; (got == "m") != row.placed {
				t.Errorf("the pod is on %q, want it on m: %t; %+v", got, row.placed, results[0])
			}
			answer := answerTo(t, line)
			if !bytes.Contains(answer.Snapshot, []byte(`"name":"m"`)) {
				t.Errorf("the node should be in the snapshot: %s %s", answer.Error, answer.Snapshot)
			}
			if row.leftOut != "" {
				expectLeftOut(t, answer.Reading, row.leftOut, "more of a resource than any machine has")
			} else if len(answer.LeftOut) > 0 {
				t.Errorf("nothing should be left out: %+v", answer.LeftOut)
			}
		})
	}
}

// No node lists a resource that a device class serves, so a plan that takes it for absent would leave pods waiting.
func TestPodsThatAskForDevicesByAResourceArePlannedWithThem(t *testing.T) {
	const (
		slice = `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"example.com",` +
			`"nodeName":"n","pool":{"name":"n","generation":1,"resourceSliceCount":1},"devices":[{"name":"d"}]}}`
		class = `{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpus"},"spec":{%s}}`
		pod   = `{"metadata":{"name":"q"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"%s":"1"}}}]}}`
		named = `"extendedResourceName":"example.com/gpu"`
	)
	for name, row := range map[string]struct {
		spec, asked string
		served      bool
	}{
		"by the name that the class gives it":      {named, "example.com/gpu", true},
		"by the name of the class":                 {"", "deviceclass.resource.kubernetes.io/gpus", true},
		"by the class's name where it has another": {named, "deviceclass.resource.kubernetes.io/gpus", true},
		"that no class serves":                     {named, "example.com/fpga", false},
	} {
		t.Run(name, func(t *testing.T) {
			answer := answerTo(t, observed("", fmt.Sprintf(pod, row.asked), fmt.Sprintf(class, row.spec)+","+slice))
			amount := `"devices.stowage.dev/` + strings.ReplaceAll(row.asked, "/", "_") + `":"1"`
			// The pod's class asks for it, and the node has it.
			if got := bytes.Count(answer.Snapshot, []byte(amount)) == 2; got != row.served {
				t.Errorf("%s is asked for and there: %t, want %t: %s", amount, got, row.served, answer.Snapshot)
			}
		})
	}
}

func expectLeftOut(t *testing.T, reading simulation.Reading, object, reason string) {
	t.Helper()
	for _, one := range reading.LeftOut {
		if one.Object == object && strings.Contains(one.Reason, reason) {
			return
		}
	}
	t.Errorf("want %s left out for %q, got %+v", object, reason, reading.LeftOut)
}

// Clusters are of other versions than this scheduler, and a field may matter: its name reaches the user.
func TestUnknownFieldsOfObservedObjectsArePassedOverAndCounted(t *testing.T) {
	pod := `{"metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"i","colour":1},{"name":"d","image":"i","colour":2}]}}`
	budget := `{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"mood":1}}`
	line := observed(`{"metadata":{"name":"m"},"status":{"moods":[]}}`, fmt.Sprintf(pod, "q")+","+fmt.Sprintf(pod, "r"), budget)
	_, results := stream(t, line)
	if placed := results[0].Placements; placed["default/q"] == "" || placed["default/r"] == "" {
		t.Errorf("pods with unknown fields should be placed: %+v", results[0])
	}
	want := `[{"field":"Node status.moods","objects":1},{"field":"Pod spec.containers[].colour","objects":2},` +
		`{"field":"PodDisruptionBudget spec.mood","objects":1}]`
	for _, reading := range []simulation.Reading{results[0].Reading, answerTo(t, line).Reading} {
		if got, _ := json.Marshal(reading.UnknownFields); string(got) != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

// Where somebody writes an instance, an unknown field is a misspelt one.
func TestOnlyObjectsThatWereObservedAreReadLeniently(t *testing.T) {
	line := observed("", `{"metadata":{"name":"q"},"spec":{"nodeName":"gone","colour":1}}`, "")
	byHand := strings.Replace(line, `"observed":true`, `"observed":false`, 1)
	_, results := stream(t, byHand)
	for _, want := range []string{`unknown field "pods[1].spec.colour"`, `the instance has no node "gone"`} {
		if !strings.Contains(results[0].Error, want) || !strings.Contains(answerTo(t, byHand).Error, want) {
			t.Errorf("the errors should contain %s: %s", want, results[0].Error)
		}
	}
	beside := strings.Replace(line, `"observed":true`, `"observed":true,"polices":1`, 1)
	if _, results := stream(t, beside); !strings.Contains(results[0].Error, `unknown field "polices"`) {
		t.Errorf("what is no object is written by hand: %+v", results[0])
	}
}

// Lists are not taken at one moment, and files are read in turn.
func TestOfTwoObservedObjectsOfOneNameTheLastCounts(t *testing.T) {
	_, results := stream(t, observed(
		`{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"9","pods":"10"}}}`,
		`{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"8"}}}]}}`, ""))
	if got := results[0].Placements["default/p"]; got != "n" {
		t.Errorf("the large pod should be on the large node, is on %q: %+v", got, results[0])
	}
}

func answerTo(t *testing.T, line string) simulation.Answer {
	t.Helper()
	var out bytes.Buffer
	if _, err := simulatorOf(t, profileFolder+"/deterministic.yaml").StreamAnswers(
		t.Context(), strings.NewReader(line), &out); err != nil {
		t.Fatal(err)
	}
	var answer simulation.Answer
	testobjects.Must(t, json.Unmarshal(out.Bytes(), &answer))
	return answer
}
