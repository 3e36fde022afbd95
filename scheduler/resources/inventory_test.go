package resources

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// randomSlices are of a few pools that are complete, incomplete, replaced, invalid, of one node or of several.
func randomSlices(random *rand.Rand) (found []runtime.Object) {
	effects := []resourceapi.DeviceTaintEffect{resourceapi.DeviceTaintEffectNone, resourceapi.DeviceTaintEffectNoSchedule,
		resourceapi.DeviceTaintEffectNoExecute}
	counts := map[string]int64{} // all slices of one generation have the same
	for i := range 1 + random.IntN(6) {
		slice := aSlice(fmt.Sprint("n", 1+random.IntN(2)))
		slice.Name = fmt.Sprint("slice-", i)
		pool := &slice.Spec.Pool
		pool.Name, pool.Generation = fmt.Sprint("pool-", random.IntN(3)), random.Int64N(2)
		of := fmt.Sprint(pool.Name, pool.Generation)
		if counts[of] == 0 {
			counts[of] = 1 + random.Int64N(2)
		}
		pool.ResourceSliceCount = counts[of]
		for range 1 + random.IntN(3) {
			device := aDevice(fmt.Sprint("d", random.IntN(40)), []string{"a", "b"}[random.IntN(2)])
			if random.IntN(2) == 0 {
				device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
					driver + "/memory": {Value: *quantity(random.Int64N(3))}}
			}
			if random.IntN(3) == 0 {
				device.Taints = []resourceapi.DeviceTaint{{Key: "ill", Value: "x", Effect: effects[random.IntN(3)]}}
			}
			slice.Spec.Devices = append(slice.Spec.Devices, device)
		}
		found = append(found, slice)
	}
	return found
}

// A device that the allocator would not give is a promise that no node keeps; one that it would is room left empty.
func TestADeviceServesWhatTheAllocatorWouldGive(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	templates := []*resourceapi.ResourceClaimTemplate{
		aTemplate("any", exactly("gpu", 1)), aTemplate("a", exactly("a", 1)),
		aTemplate("large", exactly("gpu", 1, `"memory" in device.capacity["`+driver+`"]`,
			`device.capacity["`+driver+`"].memory.compareTo(quantity("1")) >= 0`)),
		aTemplate("tolerant", changed(func(r *resourceapi.ExactDeviceRequest) {
			r.Tolerations = []resourceapi.DeviceToleration{{Key: "ill", Operator: "Exists"}}
		})),
		aTemplate("by-name", exactly("gpu", 1, `device.attributes["`+driver+`"].uuid.startsWith("d1")`)),
	}
	fts := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	expressions := cel.NewCache(10, cel.Features{EnableConsumableCapacity: fts.EnableDRAConsumableCapacity,
		EnableListTypeAttributes: fts.EnableDRAListTypeAttributes})
	compared := 0
	for range 40 {
		objects := append(randomSlices(random), aNode("n1"), aNode("n2"), aClass("gpu", ""), aClass("a", "a"))
		pods := map[string]*v1.Pod{}
		for _, template := range templates {
			pods[template.Name] = aPod("of-"+template.Name, "", template.Name)
			objects = append(objects, template, pods[template.Name])
		}
		c := newCluster(t, objects...)
		manager := c.framework.SharedDRAManager()
		slices := testobjects.Value(manager.ResourceSlices().ListWithDeviceTaintRules())(t)
		state := structured.AllocatedState{AllocatedDevices: sets.New[structured.DeviceID]()}
		for _, template := range templates {
			for _, node := range []*v1.Node{aNode("n1"), aNode("n2")} {
				// The allocator gives one after the other, until it gives none.
				state.AllocatedDevices = sets.New[structured.DeviceID]()
				given := int64(0)
				for {
					allocator := testobjects.Value(structured.NewAllocator(t.Context(), dynamicresources.AllocatorFeatures(fts), state,
						manager.DeviceClasses(), slices, expressions))(t)
					claim := &resourceapi.ResourceClaim{Spec: template.Spec.Spec}
					results, err := allocator.Allocate(t.Context(), node, []*resourceapi.ResourceClaim{claim})
					if err != nil || len(results) == 0 {
						break // it fails where a pool is invalid and no other has any
					}
					result := results[0].Devices.Results[0]
					state.AllocatedDevices.Insert(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
					given++
				}
				if got := c.serving(node, pods[template.Name]); got != given {
					t.Fatalf("%s on %s: %d devices, and the allocator gives %d of %v", template.Name, node.Name, got, given, objects)
				}
				compared += int(given)
			}
		}
	}
	if compared < 100 {
		t.Errorf("the allocator gave only %d devices", compared)
	}
}

// serving are the node's devices that serve the only request of the pod.
func (c *cluster) serving(node *v1.Node, pod *v1.Pod) (count int64) {
	asked, requests := c.book.Devices(pod), c.book.Requests(pod)
	if len(requests) == 0 {
		return c.book.Capacity(node).Of(dimensionOf(strings.TrimSuffix(asked.Asks[0], "×1")))
	}
	for _, device := range c.book.Layout(node.Name).Message.GetDevices() {
		if slices.ContainsFunc(requests[0].FirstAvailable[0].Takes, func(one *contract.DeviceTake) bool { return one.DeviceKind == device.Kind }) {
			count++
		}
	}
	return count
}

// What is ambiguous is not there, and what a driver is still publishing is not there yet.
func TestDevicesOfPoolsThatTheSchedulerIgnoresAreNotCounted(t *testing.T) {
	sliceOf := func(name, node string, generation, count int64, devices ...string) *resourceapi.ResourceSlice {
		slice := aSlice(node)
		slice.Name, slice.Spec.Pool = name, resourceapi.ResourcePool{Name: "pool", Generation: generation, ResourceSliceCount: count}
		for _, device := range devices {
			slice.Spec.Devices = append(slice.Spec.Devices, aDevice(device, "a"))
		}
		return slice
	}
	for name, row := range map[string]struct {
		slices     []*resourceapi.ResourceSlice
		want       int64
		incomplete int
	}{
		"complete":           {[]*resourceapi.ResourceSlice{sliceOf("1", "n1", 1, 2, "x"), sliceOf("2", "n1", 1, 2, "y")}, 2, 0},
		"over two nodes":     {[]*resourceapi.ResourceSlice{sliceOf("1", "n1", 1, 2, "x"), sliceOf("2", "n2", 1, 2, "y")}, 1, 0},
		"a slice is missing": {[]*resourceapi.ResourceSlice{sliceOf("1", "n1", 1, 2, "x")}, 0, 1},
		"an older one stays": {[]*resourceapi.ResourceSlice{sliceOf("1", "n1", 1, 1, "x", "y"), sliceOf("2", "n1", 2, 1, "x")}, 1, 0},
		"two of one name":    {[]*resourceapi.ResourceSlice{sliceOf("1", "n1", 1, 2, "x"), sliceOf("2", "n1", 1, 2, "x")}, 0, 0},
	} {
		objects := []runtime.Object{aClass("gpu", ""), aTemplate("t", exactly("gpu", 1)), aPod("p", "", "t")}
		for _, slice := range row.slices {
			objects = append(objects, slice)
		}
		c := newCluster(t, objects...)

		if got := c.book.Capacity(aNode("n1")).Of(dimensionOf("gpu")); got != row.want || c.book.IncompletePools() != row.incomplete {
			t.Errorf("%s: %d devices, want %d; %d incomplete pools", name, got, row.want, c.book.IncompletePools())
		}
	}
}

// A selector may compare whatever it likes: only what is plain to see is taken for all that it reads.
func TestSelectorsThatMayReadMoreAreEvaluatedForEachDevice(t *testing.T) {
	for text, reads := range map[string]int{
		`device.driver == "x"`: 0, `device.attributes["d"].model == "a" && device.capacity["d"].memory.isLessThan(quantity("1"))`: 2,
		`device.attributes["d"].a == device.attributes["d"].b`: 2, `device.attributes["d"].exists(k, k == "a")`: -1, `"a" in device.attributes["d"]`: -1,
		`device.attributes["d"]["a"] == "b"`: -1, `device.attributes['d'].a == "b"`: -1, `cel.bind(d, device, d.driver == "x")`: -1,
		`[device].all(d, d.driver == "x")`: -1, `device . driver == "x"`: -1,
	} {
		if got := newSelectors([]string{text}); got.all != (reads < 0) || !got.all && len(got.reads) != reads {
			t.Errorf("%s: reads %v, or all: %t", text, got.reads, got.all)
		}
	}
	by := newSelectors([]string{`device.attributes["d"].model == "a"`})
	own, full := aDevice("x", "a"), resourceapi.Device{Name: "y", Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"d/model": {StringValue: ptr.To("a")}}}
	if by.faceOf("d", &own) == by.faceOf("e", &own) || by.faceOf("d", &own) != by.faceOf("d", &full) {
		t.Error("devices that the selector tells apart look alike, or others do not")
	}
}

func quantity(amount int64) *resource.Quantity {
	return resource.NewQuantity(amount, resource.DecimalSI)
}
