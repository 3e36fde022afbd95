package rehearsal_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

const (
	driver      = "gpu.example.com"
	gpuResource = "example.com/gpu"
)

// gpuClass is of all devices of the driver, which also serve an extended resource.
func gpuClass() *resourceapi.DeviceClass {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourceapi.DeviceClassSpec{
		ExtendedResourceName: ptr.To(gpuResource),
		Selectors:            []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}}}}}
}

// gpusOf are the devices of a node, each of which is a pool's.
func gpusOf(node string, devices ...resourceapi.Device) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourceapi.ResourceSliceSpec{Driver: driver,
		Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1}, NodeName: &node, Devices: devices}}
}

// gpu is a whole device.
func gpu(name string) resourceapi.Device { return resourceapi.Device{Name: name} }

// sharedGPU is one that pods share by its memory.
func sharedGPU(name string) resourceapi.Device {
	return resourceapi.Device{Name: name, AllowMultipleAllocations: ptr.To(true),
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}}}
}

// deviceRequest is a way to ask for devices: it changes the pod, and makes its claim as it is while it waits, or once it has
// the device of its node.
type deviceRequest struct {
	change func(*v1.Pod)
	claim  func(pod *v1.Pod, device string) *resourceapi.ResourceClaim
}

// byClaim is a claim that was made from a template.
var byClaim = deviceRequest{
	change: func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
		pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
		pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To(pod.Name + "-gpu")}}
	},
	claim: claimOf,
}

// byResource is an extended resource, whose claim the scheduler makes when it binds the pod.
var byResource = deviceRequest{
	change: func(pod *v1.Pod) {
		for _, list := range []*v1.ResourceList{&pod.Spec.Containers[0].Resources.Requests, &pod.Spec.Containers[0].Resources.Limits} {
			more := maps.Clone(*list)
			if more == nil {
				more = v1.ResourceList{}
			}
			more[gpuResource] = resource.MustParse("1")
			*list = more
		}
	},
	claim: func(pod *v1.Pod, device string) *resourceapi.ResourceClaim {
		if device == "" {
			return nil
		}
		claim := claimOf(pod, device)
		claim.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
		return claim
	},
}

// byShare is a claim for most of the memory of a device.
var byShare = deviceRequest{
	change: byClaim.change,
	claim: func(pod *v1.Pod, device string) *resourceapi.ResourceClaim {
		claim, most := claimOf(pod, device), map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("60Gi")}
		claim.Spec.Devices.Requests[0].Exactly.Capacity = &resourceapi.CapacityRequirements{Requests: most}
		if device != "" {
			result := &claim.Status.Allocation.Devices.Results[0]
			result.ShareID, result.ConsumedCapacity = ptr.To(types.UID("5f0e7a2c-6a3c-4ad0-9d5c-0c6d3f3a0001")), most
		}
		return claim
	},
}

// claimOf is the claim of the pod, which has the device, if any.
func claimOf(pod *v1.Pod, device string) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + "-gpu", UID: pod.UID + "-gpu",
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}},
		Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "gpu",
			Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}}}}
	if device != "" {
		claim.Status.Allocation = allocation(pod.Spec.NodeName, device)
		claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
	}
	return claim
}

func allocation(node, device string) *resourceapi.AllocationResult {
	return &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
			{Request: "gpu", Driver: driver, Pool: node, Device: device}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}},
	}
}

// fleet is a cluster in which pods ask for devices in one way.
type fleet struct {
	asks    deviceRequest
	objects []runtime.Object
	pods    []*v1.Pod
}

func newFleet(asks deviceRequest, slices ...*resourceapi.ResourceSlice) *fleet {
	f := &fleet{asks: asks, objects: []runtime.Object{gpuClass()}}
	for _, slice := range slices {
		f.objects = append(f.objects, slice)
	}
	return f
}

// with adds a pod that asks for a device: it waits, or has the device of its node.
func (f *fleet) with(name, on, device string, changes ...func(*v1.Pod)) *fleet {
	one := pod(name, on, "1G", append(changes, f.asks.change)...)
	if claim := f.asks.claim(one, device); claim != nil {
		f.objects = append(f.objects, claim)
	}
	return f.beside(one)
}

// beside adds pods that ask for no device.
func (f *fleet) beside(pods ...*v1.Pod) *fleet {
	f.pods = append(f.pods, pods...)
	return f
}

func (f *fleet) cluster(t *testing.T, refuses *refusing, names ...string) *testCluster {
	t.Helper()
	return newClusterWith(t, refuses, f.objects, nodes(names...), f.pods...)
}

// ways are those in which each behaviour is the same.
var ways = map[string]deviceRequest{"claim": byClaim, "extended resource": byResource}

// devicesAfter replays the plan, which is not refused, and says which device each pod has in the end.
func (c *testCluster) devicesAfter(t *testing.T, steps string) map[string]string {
	t.Helper()
	outcome := c.outcome(t, c.planOf(steps))
	for _, refusal := range outcome.Refusals {
		t.Errorf("%s: %v", steps, refusal)
	}
	devices := map[string]string{}
	for uid, claims := range outcome.Claims {
		for _, claim := range claims {
			for _, result := range claim.Status.Allocation.Devices.Results {
				devices[string(uid)] += result.Pool + "/" + result.Device
			}
		}
	}
	return devices
}

// A device is free for those who come as soon as the pod that has it is gone, and not before: its claim goes with it.
func TestWhoLeavesFreesItsDevices(t *testing.T) {
	for name, way := range map[string]struct {
		asks   deviceRequest
		device resourceapi.Device
	}{"claim": {byClaim, gpu("g0")}, "extended resource": {byResource, gpu("g0")}, "share": {byShare, sharedGPU("g0")}} {
		at := newFleet(way.asks, gpusOf("a1", way.device)).with("low", "a1", "g0").with("new", "", "").cluster(t, &refusing{}, "a1")

		stays := at.replay(t, at.planOf("new>a1"))
		leaves := at.devicesAfter(t, "new>a1 low>")

		if want := map[string]string{"new on a1": "DynamicResources"}; !maps.Equal(stays, want) {
			t.Errorf("%s: refused %v, want %v", name, stays, want)
		}
		if leaves["new"] != "a1/g0" {
			t.Errorf("%s: devices %v", name, leaves)
		}
	}
}

// While a pod is being bound, its claim does not show yet which devices it has.
func TestWhoLeavesFreesDevicesThatItIsJustGetting(t *testing.T) {
	all := newFleet(byClaim, gpusOf("a1", gpu("g0"))).with("low", "a1", "").with("new", "", "")
	at := all.cluster(t, &refusing{}, "a1")
	getting := claimOf(all.pods[0], "g0")
	testobjects.Must(t, at.scheduler.SharedDRAManager().ResourceClaims().SignalClaimPendingAllocation(getting.UID, getting))

	stays := at.replay(t, at.planOf("new>a1"))
	leaves := at.devicesAfter(t, "new>a1 low>")

	if stays["new on a1"] != "DynamicResources" || leaves["new"] != "a1/g0" {
		t.Errorf("refused %v, then devices %v", stays, leaves)
	}
}

// What a simulation carries out in this order gives each pod the devices that it had in the rehearsal.
func TestEventsOfARehearsalAreInTheirOrder(t *testing.T) {
	at := newFleet(byClaim, gpusOf("a1", gpu("g1")), gpusOf("a2", gpu("g2"))).
		with("moved", "a1", "g1").with("low", "a2", "g2").with("new", "", "").cluster(t, &refusing{}, "a1", "a2")
	events := []string{}

	for _, event := range at.outcome(t, at.planOf("new>a1 moved>a2 low>")).Events {
		events = append(events, event.Pod.Object.Name+">"+event.To)
	}

	before := func(one, other string) bool { return slices.Index(events, one) < slices.Index(events, other) }
	if len(events) != 4 || !before("low>", "moved>a2") || !before("moved>", "moved>a2") || !before("moved>", "new>a1") {
		t.Errorf("events %v", events)
	}
}

// The devices that a pod of the plan gets are not there for those after it.
func TestWhoComesTakesDevicesFromThoseAfter(t *testing.T) {
	for name, asks := range ways {
		at := newFleet(asks, gpusOf("a1", gpu("g0"))).with("one", "", "").with("two", "", "").cluster(t, &refusing{}, "a1")

		if got := at.replay(t, at.planOf("one>a1 two>a1")); len(got) != 1 || got["two on a1"] != "DynamicResources" {
			t.Errorf("%s: refused %v, want the second pod", name, got)
		}
	}
}

// Both nodes are full: each pod must be gone before the other comes.
func TestNodesSwapPodsWithTheirDevices(t *testing.T) {
	for name, asks := range ways {
		at := newFleet(asks, gpusOf("a1", gpu("g1")), gpusOf("a2", gpu("g2"))).
			with("one", "a1", "g1").with("two", "a2", "g2").cluster(t, &refusing{}, "a1", "a2")

		got := at.devicesAfter(t, "one>a2 two>a1")

		if want := map[string]string{"one": "a2/g2", "two": "a1/g1"}; !maps.Equal(got, want) {
			t.Errorf("%s: devices %v, want %v", name, got, want)
		}
	}
}

// A unit that does not arrive whole leaves its devices to others; when it can, it takes them after all.
func TestAUnitThatIsTakenBackGivesItsDevicesBack(t *testing.T) {
	for name, asks := range ways {
		at := newFleet(asks, gpusOf("a1", gpu("g0"), gpu("g1"))).with("first", "", "").with("other", "", "").with("low", "a1", "g0").
			beside(pod("second", "", "1G"), pod("big", "b1", "4G")).cluster(t, &refusing{app: "second", node: "b2"}, "a1", "b1", "b2", "b3")
		refused, late := at.planOf("first>a1 second>b2 other>a1"), at.planOf("first>a1 second>b1 other>a1 big>b3 low>")
		refused.Placements[0].Unit, refused.Placements[1].Unit = "gang", "gang"
		late.Placements[0].Unit, late.Placements[1].Unit = "gang", "gang"

		never, after := at.replay(t, refused), at.outcome(t, late)

		if never["second on b2"] != "Refusing" || never["other on a1"] != "" {
			t.Errorf("%s: refused %v, want the unit alone", name, never)
		}
		if len(after.Refusals) != 0 || len(after.Claims["first"]) != 1 || len(after.Claims["other"]) != 1 {
			t.Errorf("%s: refused %v, claims %v", name, after.Refusals, after.Claims)
		}
	}
}

// PreFilter reads the claims of one pod: its result must not be used for another of the class, which is tried while the first
// waits for its device.
func TestPodsOfAClassDoNotTakeEachOthersClaims(t *testing.T) {
	alike := func(pod *v1.Pod) {
		pod.Labels["app"], pod.OwnerReferences = "alike", []metav1.OwnerReference{testobjects.ReplicaSet("alike")}
	}
	at := newFleet(byClaim, gpusOf("a1", gpu("g1")), gpusOf("a2", gpu("g2")), gpusOf("a3", gpu("g3"))).with("late", "a1", "g1").
		with("one", "", "", alike).with("two", "", "", alike).beside(pod("big", "a3", "4G")).cluster(t, &refusing{}, "a1", "a2", "a3", "a4")
	if at.pod("one").Class != at.pod("two").Class {
		t.Fatal("the pods are not of a class")
	}

	outcome := at.outcome(t, at.planOf("one>a1 two>a2 late>a3 big>a4"))

	for _, name := range []string{"one", "two"} {
		if claims := outcome.Claims[types.UID(name)]; len(claims) != 1 || claims[0].Name != name+"-gpu" {
			t.Errorf("pod %s has claims %v", name, claims)
		}
	}
}

// What would have gone elsewhere from a node that cannot be emptied stays where it was, with its devices; those elsewhere are
// left to the next node.
func TestADrainedNodesDevicesComeBackIfItIsStuck(t *testing.T) {
	for name, asks := range ways {
		at := newFleet(asks, gpusOf("a1", gpu("g1")), gpusOf("a2", gpu("g2")), gpusOf("b1", gpu("g3"))).
			with("one", "a1", "g1").with("two", "a2", "g2").
			beside(pod("big", "a1", "3G"), pod("stays", "b1", "2G")).cluster(t, &refusing{}, "a1", "a2", "b1")

		got := at.drain(t, []string{"a1", "one", "big"}, []string{"a2", "two"})

		if !strings.Contains(got.Stuck["a1"], "default/big") || len(got.Stuck) != 1 || got.Places["two"] != "b1" {
			t.Errorf("%s: drained %+v", name, got)
		}
	}
}

// The scheduler goes on while a plan is rehearsed, and knows nothing of it.
func TestARehearsalOfDevicesChangesNothing(t *testing.T) {
	for name, asks := range ways {
		at := newFleet(asks, gpusOf("a1", gpu("g1"), gpu("g2"))).with("low", "a1", "g1").with("new", "", "").cluster(t, &refusing{}, "a1")
		tracker := at.scheduler.SharedDRAManager().ResourceClaims()
		before := testobjects.Value(tracker.GatherAllocatedState())(t)
		claims := testobjects.Value(tracker.List())(t)
		at.client.ClearActions()

		at.devicesAfter(t, "new>a1 low>")

		after := testobjects.Value(tracker.GatherAllocatedState())(t)
		same := slices.Equal(byName(claims), byName(testobjects.Value(tracker.List())(t)))
		if !same || !after.AllocatedDevices.Equal(before.AllocatedDevices) || len(after.AllocatedDevices) != 1 {
			t.Errorf("%s: allocated %v, before %v", name, after.AllocatedDevices, before.AllocatedDevices)
		}
		if writes := slices.DeleteFunc(at.client.Actions(), func(one clienttesting.Action) bool {
			return slices.Contains([]string{"get", "list", "watch"}, one.GetVerb())
		}); len(writes) != 0 {
			t.Errorf("%s: wrote %v", name, writes)
		}
	}
}

func byName(claims []*resourceapi.ResourceClaim) []*resourceapi.ResourceClaim {
	slices.SortFunc(claims, func(a, b *resourceapi.ResourceClaim) int { return strings.Compare(a.Name, b.Name) })
	return claims
}
