package oddobjects_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/simulation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	normalNodes = 10
	normalPods  = 90
)

// What-if reads what a cluster holds, also objects of other versions and with other rules: whatever they are, the answer
// about all others must come, and say of those that take no part which they are. Half of the objects are legal and odd,
// the others no cluster would accept. OBSERVED is how many of them there are, SEED the run's, FROM the input to begin with.
func TestNoOddObjectRefusesAWholeObservedInput(t *testing.T) {
	objects, seed, from := number(t, "OBSERVED", 1500), number(t, "SEED", 1), number(t, "FROM", 0)
	klog.SetLogger(logr.Discard()) // as in the command
	configuration := testobjects.Value(simulation.LoadConfiguration("../../charts/stowage/profiles/deterministic.yaml"))(t)
	simulator := testobjects.Value(simulation.New(t.Context(), configuration, plugins.Registry()))(t)
	r := &run{t: t, client: startOptimizer(t), cache: &snapshot.Cache{}, count: newCount()}
	began, leftOut, fields := time.Now(), 0, 0
	for batch := from; r.count.thrown < objects && !t.Failed(); batch++ {
		g := generator{rand.New(rand.NewPCG(uint64(seed), uint64(batch)))}
		id := fmt.Sprintf("observed-%d-%d", seed, batch)
		reading := r.observe(simulator, id, g.input(id, r.count))
		leftOut, fields = leftOut+len(reading.LeftOut), fields+len(reading.UnknownFields)
	}
	t.Logf("seed %d: %d objects in %s; %d left out, %d unknown fields; %s", seed, r.count.thrown,
		time.Since(began).Round(time.Second), leftOut, fields, r.count)
	if leftOut == 0 || fields == 0 {
		t.Error("nothing was odd enough: nothing was tried")
	}
}

// observe asks all that what-if asks about an input.
func (r *run) observe(simulator *simulation.Simulator, id string, in input) simulation.Reading {
	text, err := json.Marshal(in)
	if err != nil {
		r.t.Fatal(err) // it is plain JSON
	}
	fail := func(format string, args ...any) {
		path := filepath.Join(os.TempDir(), "stowage-"+id+".json")
		r.t.Errorf("%s: %s; see %s: %v", id, fmt.Sprintf(format, args...), path, os.WriteFile(path, text, 0o600))
	}
	question, err := simulation.ParseQuestion(text)
	if err != nil {
		fail("not a question: %v", err)
		return simulation.Reading{}
	}
	arrived := len(question.Nodes) + len(question.Pods) + len(question.Objects)
	if told := arrived + len(question.LeftOut); told < len(in.Nodes)+len(in.Pods)+len(in.Objects) {
		fail("%d objects arrived or were left out by name, of %d and %d and %d", told, len(in.Nodes), len(in.Pods), len(in.Objects))
	}
	answer, err := simulator.Answer(r.t.Context(), question)
	if err != nil {
		fail("no answer: %v", err)
		return question.Reading
	}
	message := &contract.Snapshot{}
	if err := protojson.Unmarshal(answer.Snapshot, message); err != nil {
		fail("no snapshot: %v", err)
		return question.Reading
	}
	r.count.snapshots++
	missing := sets.New(normalNames()...)
	for _, pod := range message.Pods {
		missing.Delete(pod.Name)
	}
	if missing.Len() > 0 {
		fail("normal pods are not in the snapshot: %v", sets.List(missing))
	}
	if silent := silentPods(question, message); len(silent) > 0 {
		fail("pods ask for devices, and neither amounts nor refusals say so: %v", silent)
	}
	result, err := simulator.Run(r.t.Context(), question.Instance)
	if err != nil {
		fail("no placements: %v", err)
	}
	for _, one := range result.LeftOut {
		if strings.HasPrefix(one.Object, "Pod default/normal-") {
			fail("a normal pod is left out: %+v", one)
		}
	}
	if answer := r.solve(&snapshot.Snapshot{ID: message.Id, Message: message}); answer.Plan == nil {
		fail("the optimiser: %s: %.2000s", answer.EndReason, answer.Message)
	}
	return result.Reading
}

// silentPods are those whose claims ask for devices that their class does not show.
func silentPods(question simulation.Question, message *contract.Snapshot) (silent []string) {
	shown := map[string]bool{}
	for _, class := range message.PodClasses {
		shown[class.Id] = len(class.Unsupported) > 0
		for name := range class.Requests.GetExtended() {
			shown[class.Id] = shown[class.Id] || strings.HasPrefix(name, resources.DevicePrefix)
		}
	}
	classes := map[string]string{}
	for _, pod := range message.Pods {
		classes[pod.Uid] = pod.ClassId
	}
	asksForNone := func(object simulation.Object) bool { // the scheduler ignores such a claim
		template, ok := object.Object.(*resourceapi.ResourceClaimTemplate)
		return ok && len(template.Spec.Spec.Devices.Requests) == 0
	}
	if slices.ContainsFunc(question.Objects, asksForNone) {
		return nil
	}
	for i := range question.Pods {
		pod := &question.Pods[i]
		class, there := classes[string(pod.UID)]
		needsNone := slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(one v1.PodResourceClaimStatus) bool {
			return one.ResourceClaimName == nil
		})
		if there && len(pod.Spec.ResourceClaims) > 0 && !needsNone && !shown[class] {
			silent = append(silent, pod.Name)
		}
	}
	return silent
}

// input is a question as what-if asks it.
type input struct {
	ID       string           `json:"id"`
	Observed bool             `json:"observed"`
	Nodes    []map[string]any `json:"nodes"`
	Pods     []map[string]any `json:"pods"`
	Objects  []map[string]any `json:"objects"`
}

// input returns normal objects among odd ones, in any order.
func (g generator) input(id string, count *count) input {
	c := g.newCluster(objectsASnapshot, newCount())
	in := input{ID: id, Observed: true}
	for _, node := range c.nodes {
		in.Nodes = append(in.Nodes, g.perhapsBent(asJSON(node)))
	}
	for _, pod := range c.pods {
		in.Pods = append(in.Pods, g.perhapsBent(asJSON(pod)))
	}
	for _, object := range c.question(id).Objects {
		in.Objects = append(in.Objects, g.perhapsBent(asJSON(object.Object)))
	}
	for i := range claimingPods {
		in.Pods = append(in.Pods, g.perhapsBent(parsed(fmt.Sprintf(claimingPod, i, i, g.IntN(3)-1, []string{"one", "odd", "none"}[g.IntN(3)]))))
	}
	in.Pods = append(in.Pods, g.perhapsBent(parsed(servedPod)))
	for _, text := range further {
		in.Objects = append(in.Objects, g.perhapsBent(parsed(text)))
	}
	count.thrown += len(in.Nodes) + len(in.Pods) + len(in.Objects)
	for i := range normalNodes {
		in.Nodes = append(in.Nodes, parsed(fmt.Sprintf(normalNode, i)))
	}
	for i, name := range normalNames() {
		node := ""
		if i%2 == 0 {
			node = fmt.Sprintf("normal-%d", i%normalNodes)
		}
		in.Pods = append(in.Pods, parsed(fmt.Sprintf(normalPod, name, name, node)))
	}
	g.Shuffle(len(in.Nodes), func(i, j int) { in.Nodes[i], in.Nodes[j] = in.Nodes[j], in.Nodes[i] })
	g.Shuffle(len(in.Pods), func(i, j int) { in.Pods[i], in.Pods[j] = in.Pods[j], in.Pods[i] })
	return in
}

func normalNames() []string {
	names := make([]string, normalPods)
	for i := range names {
		names[i] = fmt.Sprintf("normal-%d", i)
	}
	return names
}

const (
	normalNode = `{"metadata":{"name":"normal-%d"},"status":{"allocatable":{"cpu":"64","memory":"256Gi","pods":"110"}}}`
	normalPod  = `{"metadata":{"name":"%s","namespace":"default","uid":"%s"},"spec":{"schedulerName":"default-scheduler",` +
		`"nodeName":"%s","containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}`
)

// claimingPods is how many pods ask for devices. A node "node--1" is not there.
const (
	claimingPods = 6
	claimingPod  = `{"metadata":{"name":"claims-%d","namespace":"default","uid":"claims-%d"},"spec":{"schedulerName":"default-scheduler",` +
		`"nodeName":"node-%d","resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"%s"}],` +
		`"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}`
	servedPod = `{"metadata":{"name":"served","namespace":"default","uid":"served"},"spec":{"schedulerName":"default-scheduler",` +
		`"containers":[{"name":"c","resources":{"requests":{"example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]}}`
)

// further are objects of the kinds that the generator has no odd ones of.
var further = []string{
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"selector":{"app":"workload-1"}}}`,
	`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":{"selector":{"matchLabels":{"app":"a"}}}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"t"},"spec":{"selector":{"matchLabels":{"app":"a"}}}}`,
	`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"disk"},"provisioner":"example.com",` +
		`"volumeBindingMode":"WaitForFirstConsumer","allowedTopologies":[{"matchLabelExpressions":[{"key":"zone","values":["a"]}]}]}`,
	`{"apiVersion":"storage.k8s.io/v1","kind":"CSINode","metadata":{"name":"node-0"},"spec":{"drivers":[{"name":"example.com",` +
		`"nodeID":"n","allocatable":{"count":3},"topologyKeys":["zone"]}]}}`,
	`{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"example.com"},"spec":{"storageCapacity":true}}`,
	`{"apiVersion":"storage.k8s.io/v1","kind":"VolumeAttachment","metadata":{"name":"a"},"spec":{"attacher":"example.com",` +
		`"nodeName":"node-0","source":{"persistentVolumeName":"volume-0"}}}`,
	`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"unbound","namespace":"default","uid":"u"},` +
		`"spec":{"storageClassName":"disk","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"claim","namespace":"default","uid":"v"},` +
		`"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","count":1,"allocationMode":"ExactCount"}}]}}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"extendedResourceName":` +
		`"example.com/gpu","selectors":[{"cel":{"expression":"true"}}]}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"l"},"spec":{"driver":"example.com",` +
		`"nodeName":"node-0","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[{"name":"d"}]}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"m"},"spec":{"driver":"example.com",` +
		`"nodeName":"node-1","pool":{"name":"q","generation":1,"resourceSliceCount":1},"devices":[{"name":"d","attributes":` +
		`{"model":{"string":"a"}},"taints":[{"key":"k","effect":"NoSchedule"}]},{"name":"e","allowMultipleAllocations":true}]}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"one","namespace":"default"},` +
		`"spec":{"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","count":1,"allocationMode":"ExactCount"}}]}}}}`,
	`{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"odd","namespace":"default"},` +
		`"spec":{"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"gpu","count":2,"allocationMode":"ExactCount",` +
		`"selectors":[{"cel":{"expression":"device.attributes[\"example.com\"].model == \"a\""}}],"tolerations":[{"operator":"Exists"}]}}],` +
		`"constraints":[]}}}}`,
}

func asJSON(object any) map[string]any {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // every object of the API marshals
	}
	return parsed(string(text))
}

func parsed(text string) map[string]any {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err)
	}
	return object
}

func (g generator) perhapsBent(object map[string]any) map[string]any {
	if g.often() {
		for range 1 + g.IntN(3) {
			g.bend(object)
		}
	}
	return object
}

// bend puts something else, or more, into some field of the object.
func (g generator) bend(into any) {
	switch into := into.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(into))
		if len(keys) == 0 || g.seldom() {
			into["strange"] = g.junk()
			return
		}
		key := keys[g.IntN(len(keys))]
		switch {
		case g.deeper(into[key]):
			g.bend(into[key])
		case g.seldom():
			delete(into, key)
		default:
			into[key] = g.junk()
		}
	case []any:
		if i := g.IntN(len(into)); g.deeper(into[i]) {
			g.bend(into[i])
		} else {
			into[i] = g.junk()
		}
	}
}

func (g generator) deeper(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return g.IntN(5) > 0
	case []any:
		return len(value) > 0 && g.IntN(5) > 0
	}
	return false
}

func (g generator) junk() any {
	return oneOf[any](g, nil, 7, -1, 1.5, 1e300, true, "", "x", "-1", "-5Gi", "1e400", "9999999999999999999999", "../..", "\xff",
		"2026-13-45T99:00:00Z", strings.Repeat("j", 300), []any{}, []any{nil}, []any{"x", 7}, map[string]any{},
		map[string]any{"cpu": "-1", "memory": "x"}, map[string]any{"matchExpressions": []any{map[string]any{"operator": "Around"}}})
}
