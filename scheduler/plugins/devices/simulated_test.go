package devices_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/plugins/devices"
	"github.com/stowage/stowage/scheduler/simulation"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	if err := simulation.SetFeatureGates(""); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// simulator has the chart's deterministic profile, with the plugin or without.
func simulator(t *testing.T, with bool) *simulation.Simulator {
	t.Helper()
	var content map[string]any
	testobjects.Must(t, yaml.Unmarshal(testobjects.Value(os.ReadFile("../../../charts/stowage/profiles/deterministic.yaml"))(t), &content))
	if with {
		profile := content["profiles"].([]any)[0].(map[string]any)
		enabled, _, err := unstructured.NestedSlice(profile, "plugins", "multiPoint", "enabled")
		testobjects.Must(t, err)
		first := []any{map[string]any{"name": devices.Name, "weight": int64(2000)}}
		testobjects.Must(t, unstructured.SetNestedSlice(profile, append(first, enabled...), "plugins", "multiPoint", "enabled"))
	}
	path := filepath.Join(t.TempDir(), "profile.yaml")
	testobjects.Must(t, os.WriteFile(path, testobjects.Value(yaml.Marshal(content))(t), 0o600))
	configuration := testobjects.Value(simulation.LoadConfiguration(path))(t)
	return testobjects.Value(simulation.New(context.Background(), configuration, plugins.Registry()))(t)
}

// way is one in which pods ask for devices, and nodes have them.
type way string

const (
	shares     way = "shares of devices"
	claims     way = "claims of whole devices"
	extended   way = "an extended resource that a device class serves"
	listed     way = "an extended resource that nodes list"
	partitions way = "partitions of devices"
)

const gpuName v1.ResourceName = "example.com/gpu"

// sizes are what pods take, in quarters of a device; above four, of several whole ones.
var sizes = map[way][]int{
	shares: {1, 2, 3, 3, 4}, partitions: {1, 2, 2, 4}, claims: {4, 4, 8, 16}, extended: {4, 4, 8, 16}, listed: {4, 4, 8, 16},
}

func (w way) node(name string, cores int, gpus int) (v1.Node, []any) {
	node := testobjects.Node(name, fmt.Sprint(cores), "512Gi").Obj()
	if w == listed {
		node.Status.Allocatable[gpuName] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
		return *node, nil
	}
	slice := &resourceapi.ResourceSlice{TypeMeta: kindOf("ResourceSlice"), ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.ResourceSliceSpec{Driver: "example.com", NodeName: &name,
			Pool: resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1}}}
	objects := []any{slice}
	if w == partitions {
		counters := &resourceapi.ResourceSlice{TypeMeta: kindOf("ResourceSlice"), ObjectMeta: metav1.ObjectMeta{Name: name + "-counters"},
			Spec: *slice.Spec.DeepCopy()}
		slice.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
		for i := range gpus {
			counters.Spec.SharedCounters = append(counters.Spec.SharedCounters, resourceapi.CounterSet{Name: fmt.Sprintf("gpu-%d", i),
				Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse("40Gi")}}})
		}
		objects = append(objects, counters)
	}
	for i := range gpus {
		one := resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)}
		switch w {
		case shares:
			one.AllowMultipleAllocations = ptr.To(true)
			one.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("40Gi"),
				RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("10Gi")), ValidRange: &resourceapi.CapacityRequestPolicyRange{
					Min: ptr.To(resource.MustParse("10Gi")), Step: ptr.To(resource.MustParse("10Gi"))}}}}
		case partitions:
			for quarters := 1; quarters <= 4; quarters *= 2 {
				for part := range 4 / quarters {
					slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d-%d-%d", i, quarters, part),
						Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"quarters": {IntValue: ptr.To(int64(quarters))}},
						ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: one.Name,
							Counters: map[string]resourceapi.Counter{"memory": {Value: resource.MustParse(fmt.Sprintf("%dGi", 10*quarters))}}}}})
				}
			}
			continue
		}
		slice.Spec.Devices = append(slice.Spec.Devices, one)
	}
	return *node, objects
}

func kindOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: resourceapi.SchemeGroupVersion.String(), Kind: kind}
}

// template is that of a claim for so many quarters of a device.
func (w way) template(quarters int) any {
	asked := &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount,
		Count: max(1, int64(quarters/4))}
	switch w {
	case shares:
		asked.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"memory": resource.MustParse(fmt.Sprintf("%dGi", 10*quarters))}}
	case partitions:
		asked.Selectors = []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{
			Expression: fmt.Sprintf(`device.attributes["example.com"].quarters == %d`, quarters)}}}
	}
	made := &resourceapi.ResourceClaimTemplate{TypeMeta: kindOf("ResourceClaimTemplate"),
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("quarters-%d", quarters), Namespace: metav1.NamespaceDefault}}
	made.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: asked}}
	return made
}

// pod asks for so many quarters of a device; 0: for none.
func (w way) pod(name string, cores, quarters int) v1.Pod {
	made := testobjects.Pod(name, fmt.Sprint(cores), "1Gi").Obj()
	made.UID = types.UID(name)
	switch {
	case quarters == 0:
	case w == extended || w == listed:
		number := *resource.NewQuantity(int64(quarters/4), resource.DecimalSI)
		of := &made.Spec.Containers[0].Resources
		of.Requests[gpuName], of.Limits = number, v1.ResourceList{gpuName: number}
	default:
		made.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu",
			ResourceClaimTemplateName: ptr.To(fmt.Sprintf("quarters-%d", quarters))}}
		made.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	}
	return *made
}

// crowd is a fleet of nodes, and pods in a random order that ask for all devices.
func (w way) crowd(t *testing.T, seed uint64) (instance simulation.Instance, quarters map[string]int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	instance.ID, quarters = fmt.Sprint(w, seed), map[string]int{}
	class := &resourceapi.DeviceClass{TypeMeta: kindOf("DeviceClass"), ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if w == extended {
		class.Spec.ExtendedResourceName = ptr.To(string(gpuName))
	}
	objects, free := []any{class}, 0
	for i, gpus := range []int{4, 4, 4, 2, 2, 8} {
		node, more := w.node(fmt.Sprintf("n%d", i), 8*gpus, gpus)
		instance.Nodes, objects, free = append(instance.Nodes, node), append(objects, more...), free+4*gpus
	}
	for _, one := range []int{1, 2, 3, 4, 8, 16} {
		objects = append(objects, w.template(one))
	}
	for i := 0; free > 0; i++ {
		name, asked := fmt.Sprintf("p%03d", i), sizes[w][random.IntN(len(sizes[w]))]
		if random.IntN(5) == 0 {
			asked = 0
		}
		quarters[metav1.NamespaceDefault+"/"+name] = asked
		instance.Pods = append(instance.Pods, w.pod(name, 1+random.IntN(4), asked))
		free -= asked
	}
	for _, object := range objects {
		var made simulation.Object
		testobjects.Must(t, json.Unmarshal(testobjects.Value(json.Marshal(object))(t), &made))
		instance.Objects = append(instance.Objects, made)
	}
	return instance, quarters
}

func run(t *testing.T, with bool, instance simulation.Instance) simulation.Result {
	t.Helper()
	result := testobjects.Value(simulator(t, with).Run(context.Background(), instance))(t)
	if result.Error != "" {
		t.Fatal(result.Error)
	}
	return result
}

const orders = 5

// TestLessIsWasted: the same pods in the same orders get more of the same devices than by the stock scores, however they ask
// for them.
func TestLessIsWasted(t *testing.T) {
	for _, w := range []way{shares, partitions, claims, extended, listed} {
		t.Run(strings.ReplaceAll(string(w), " ", "-"), func(t *testing.T) {
			used := map[bool]int{}
			for seed := range uint64(orders) {
				instance, quarters := w.crowd(t, seed)
				for _, with := range []bool{false, true} {
					for pod, node := range run(t, with, instance).Placements {
						if node != "" {
							used[with] += quarters[pod]
						}
					}
				}
			}
			t.Logf("quarters of a device in use: %d with, %d without, of %d", used[true], used[false], orders*4*24)
			if used[true] <= used[false] {
				t.Errorf("%d quarters are in use with the plugin, and %d without", used[true], used[false])
			}
		})
	}
}

// TestWithoutDevicesNothingChanges: neither do pods without devices come to other nodes as long as no pod asks for any.
func TestWithoutDevicesNothingChanges(t *testing.T) {
	for seed := range uint64(3) {
		for _, w := range []way{claims, listed} {
			instance, quarters := w.crowd(t, seed)
			var plain []v1.Pod
			for _, pod := range instance.Pods {
				if quarters[metav1.NamespaceDefault+"/"+pod.Name] == 0 {
					plain = append(plain, pod)
				}
			}
			instance.Pods = plain
			if with, without := run(t, true, instance), run(t, false, instance); !maps.Equal(with.Placements, without.Placements) {
				t.Errorf("%s: %v, without the plugin %v", w, with.Placements, without.Placements)
			}
		}
	}
}

// TestArgumentsAreReadStrictly: a misspelt or impossible one would silently be the default.
func TestArgumentsAreReadStrictly(t *testing.T) {
	for raw, names := range map[string]string{
		`{"windowPods": 5}`: "", `{}`: "", `{"window": 5}`: "window", `{"windowPods": 0}`: "windowPods", `{"windowPods": 1000001}`: "windowPods",
		`{"kind": "ScoreCacheArgs"}`: "kind",
	} {
		args, err := devices.Decode(&runtime.Unknown{Raw: []byte(raw)})
		if (err == nil) != (names == "") || err != nil && !strings.Contains(err.Error(), names) {
			t.Errorf("%s: want an error that names %q, got %v", raw, names, err)
		}
		if err == nil && args.WindowPods != 5 && *args != *devices.Default() {
			t.Errorf("%s: %+v", raw, args)
		}
	}
}
