package resources

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
)

// sharedBy makes the slice's devices ones that pods share, with 100 of "share", of which a pod gets at least 10 and multiples.
func sharedBy(slice *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	for i := range slice.Spec.Devices {
		slice.Spec.Devices[i].AllowMultipleAllocations = ptr.To(true)
		slice.Spec.Devices[i].Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"share": {
			Value: resource.MustParse("100"), RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("50")),
				ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("10")), Step: ptr.To(resource.MustParse("10"))}}}}
	}
	return slice
}

// taking asks for so much of "share".
func taking(request resourceapi.DeviceRequest, amount string) resourceapi.DeviceRequest {
	request.Exactly.Capacity = &resourceapi.CapacityRequirements{
		Requests: map[resourceapi.QualifiedName]resource.Quantity{"share": resource.MustParse(amount)}}
	return request
}

// firstOf asks for the first that there is.
func firstOf(requests ...resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	made := resourceapi.DeviceRequest{Name: "r"}
	for i, one := range requests {
		made.FirstAvailable = append(made.FirstAvailable, resourceapi.DeviceSubRequest{Name: fmt.Sprint("s", i),
			DeviceClassName: one.Exactly.DeviceClassName, AllocationMode: one.Exactly.AllocationMode, Count: one.Exactly.Count,
			Selectors: one.Exactly.Selectors, Capacity: one.Exactly.Capacity})
	}
	return made
}

// partitioned is a pool of a GPU of four slices in two halves and four quarters, whose counters are in a slice of their own.
func partitioned(node string) []runtime.Object {
	counters, devices := aSlice(node), aSlice(node)
	counters.Name, devices.Name = node+"-counters", node+"-devices"
	counters.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "gpu", Counters: map[string]resourceapi.Counter{
		"slices": {Value: resource.MustParse("4")}, "memory": {Value: resource.MustParse("40Gi")}}}}
	for i, consumed := range []string{"2", "2", "1", "1", "1", "1"} {
		one := aDevice(fmt.Sprint("part-", i), map[string]string{"2": "half", "1": "quarter"}[consumed])
		one.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "gpu", Counters: map[string]resourceapi.Counter{
			"slices": {Value: resource.MustParse(consumed)}, "memory": {Value: resource.MustParse(consumed + "0Gi")}}}}
		devices.Spec.Devices = append(devices.Spec.Devices, one)
	}
	counters.Spec.Pool.ResourceSliceCount, devices.Spec.Pool.ResourceSliceCount = 2, 2
	return []runtime.Object{counters, devices}
}

// amountsOn says, for each alternative of the requests, what it takes of the devices of the node in order; "-" is a device that it
// cannot have.
func amountsOn(layout *contract.DeviceLayout, requests []*contract.DeviceRequest, name string) (all []string) {
	for _, request := range requests {
		for _, choice := range request.FirstAvailable {
			row := fmt.Sprintf("%d:", choice.Count)
			for _, device := range layout.Devices {
				at := slices.IndexFunc(choice.Takes, func(one *contract.DeviceTake) bool { return one.DeviceKind == device.Kind })
				if at < 0 {
					row += " -"
				} else {
					row += fmt.Sprint(" ", choice.Takes[at].Amounts[name])
				}
			}
			all = append(all, row)
		}
	}
	return all
}

// A plan that counted a share as it was asked for, or gave one of a device that has no such capacity, would not fit.
func TestARequestTakesOfASharedDeviceWhatTheAllocatorGives(t *testing.T) {
	other := aSlice("n1", "a")
	other.Name, other.Spec.Pool.Name = "n1-others", "others"
	c := newCluster(t, aNode("n1"), aClass("gpu", ""), sharedBy(aSlice("n1", "a", "a")), other,
		aTemplate("rounded", taking(exactly("gpu", 1), "11")), aTemplate("least", taking(exactly("gpu", 2), "1")),
		aTemplate("default", exactly("gpu", 1)), aTemplate("much", taking(exactly("gpu", 1), "101")))

	c.book.Devices(aPod("p", "", "default")) // from now on, all devices serve a request
	for template, want := range map[string]string{"rounded": "1: 20 20 -", "least": "2: 10 10 -", "default": "1: 50 50 0", "much": "1: - - -"} {
		pod := aPod("p", "", template)
		requests := c.book.Requests(pod)
		got := amountsOn(c.book.Layout("n1").Message, requests, "share")
		if refused := c.book.Devices(pod).Refused; len(got) != 1 || got[0] != want || len(refused) > 0 {
			t.Errorf("%s takes %q, want %q; refused for %v", template, got, want, refused)
		}
	}
	if layout := c.book.Layout("n1"); !slices.Equal(layout.Names, []string{driver + "/n1/n1-0", driver + "/n1/n1-1", driver + "/others/n1-0"}) ||
		!layout.Message.Devices[0].Shared || layout.Message.Devices[0].Capacity["share"] != 100 || layout.Message.Devices[2].Shared {
		t.Errorf("the layout is %v of %v", layout.Message, layout.Names)
	}
}

// With its feature gate off, the scheduler would not give them either.
func TestWithoutBinsSharesPartitionsAndAlternativesAreRefused(t *testing.T) {
	counted := aSlice("n1", "a")
	counted.Spec.Devices[0].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "x"}}
	for want, row := range map[string]struct {
		request resourceapi.DeviceRequest
		slice   *resourceapi.ResourceSlice
	}{
		requestOfCapacity + " gpu": {taking(exactly("gpu", 1), "10"), sharedBy(aSlice("n1", "a"))},
		alternatives + " r":        {firstOf(exactly("gpu", 1)), sharedBy(aSlice("n1", "a"))},
		sharedDevice + " gpu":      {exactly("gpu", 1), sharedBy(aSlice("n1", "a"))},
		partitionedDevice + " gpu": {exactly("gpu", 1), counted},
	} {
		c, pod := newClusterWithoutBins(t, aNode("n1"), aClass("gpu", ""), row.slice, aTemplate("t", row.request)), aPod("p", "", "t")
		asked := c.book.Devices(pod)
		refused := slices.Concat(asked.Refused, c.book.DevicesRefused(asked.Asks))
		if !slices.Equal(refused, []string{want}) || c.book.Layout("n1").Message != nil || len(c.book.Requests(pod))+len(asked.Requests) > 0 {
			t.Errorf("refused for %v, want %s", refused, want)
		}
	}
}

// Partitions of one GPU overlap by what they consume, and by nothing that pods ask for.
func TestPartitionsConsumeTheCountersOfTheirLayout(t *testing.T) {
	half, quarter := aTemplate("half", exactly("half", 1)), aTemplate("quarter", exactly("quarter", 1))
	objects := append(partitioned("n1"), aNode("n1"), aNode("n2"), aClass("half", "half"), aClass("quarter", "quarter"), half, quarter)
	holds := aPod("holds", "n1", "half")
	c := newCluster(t, append(append(objects, partitioned("n2")...), holds, claimOf(holds, half, "n1", "part-1"))...)

	c.book.Devices(aPod("p", "", "quarter"))
	layout := c.book.Layout("n1").Message
	if layout.Counters["0/gpu/slices"] != 4 || layout.Counters["0/gpu/memory"] != 40<<30 || len(layout.Counters) != 2 {
		t.Errorf("the counters are %v", layout.Counters)
	}
	if got := amountsOn(layout, c.book.Requests(aPod("p", "", "half")), wholeDevice); got[0] != "1: 1 1 - - - -" {
		t.Errorf("a half takes %q", got)
	}
	if of := layout.Devices[5]; of.Counters["0/gpu/slices"] != 1 || of.Counters["0/gpu/memory"] != 10<<30 || of.Capacity[wholeDevice] != 1 {
		t.Errorf("a quarter is %v", of)
	}
	if other := c.book.Layout("n2").Message; other.Id != layout.Id {
		t.Errorf("two nodes with equal GPUs have the layouts %v and %v", layout, other)
	}
	held, all := c.book.Holdings("n1", []*v1.Pod{holds})
	if !all || len(held) != 1 || held[0].Device != 1 || held[0].PodUid != string(holds.UID) || held[0].Amounts[wholeDevice] != 1 {
		t.Errorf("held are %v", held)
	}
}

// Devices that pods neither share nor ask for by amounts of them are counted as before, and need no place in a plan.
func TestWholeDevicesStayAmountsBesideBins(t *testing.T) {
	nics := aSlice("n1", "nic", "nic")
	nics.Name, nics.Spec.Pool.Name = "n1-nics", "nics"
	c := newCluster(t, aNode("n1"), aClass("a", "a"), aClass("nic", "nic"), sharedBy(aSlice("n1", "a")), nics,
		aTemplate("both", exactly("nic", 1), taking(exactly("a", 1), "10")))
	pod := aPod("p", "", "both")

	requests, needs := c.book.Requests(pod), c.book.Needs(pod)
	if len(requests) != 1 || needs.Of(dimensionOf("nic")) != 1 || len(c.book.Layout("n1").Names) != 1 {
		t.Errorf("it requests %v and needs %+v on %v", requests, needs, c.book.Layout("n1").Names)
	}
	if free := c.book.Free(infoOf(aNode("n1"))); free.Of(dimensionOf("nic")) != 2 {
		t.Errorf("free are %+v", free)
	}
}

// Of two asks none of which has all devices of the other, the pods that come first may take those that the others need.
func TestDevicesOfAsksThatCrossAreBins(t *testing.T) {
	notA, notB := `device.attributes["`+driver+`"].model != "a"`, `device.attributes["`+driver+`"].model != "b"`
	c := newCluster(t, aNode("n1"), aClass("gpu", ""), aSlice("n1", "a", "b", "c"), aTemplate("not-a", exactly("gpu", 1, notA)),
		aTemplate("not-b", exactly("gpu", 1, notB)), aPod("x", "", "not-a"), aPod("y", "", "not-b"))

	if got := amountsOn(c.book.Layout("n1").Message, c.book.Requests(aPod("p", "", "not-a")), wholeDevice); got[0] != "1: - 1 1" {
		t.Errorf("it takes %q", got)
	}
}

// The first that fits is taken: which, is for the plan to tell.
func TestAlternativesAreToldInTheirOrder(t *testing.T) {
	request := firstOf(exactly("b", 2), exactly("a", 1))
	c := newCluster(t, aNode("n1"), aClass("a", "a"), aClass("b", "b"), aSlice("n1", "a", "b"), aTemplate("t", request))

	requests := c.book.Requests(aPod("p", "", "t"))
	if len(requests) != 1 || requests[0].Id != "b×2|a×1" {
		t.Fatalf("it requests %v", requests)
	}
	if got := amountsOn(c.book.Layout("n1").Message, requests, wholeDevice); !slices.Equal(got, []string{"2: - 1", "1: 1 -"}) {
		t.Errorf("the alternatives take %q", got)
	}
}

// What is held in a way in which nothing could be allocated now, the allocator may read otherwise than a plan.
func TestANodeWhoseDevicesAreHeldOtherwiseIsNotTold(t *testing.T) {
	template, node := aTemplate("share", taking(exactly("gpu", 1), "30")), aNode("n1")
	for name, of := range map[string]struct {
		change func(*resourceapi.DeviceRequestAllocationResult)
		told   bool
	}{
		"a share": {func(result *resourceapi.DeviceRequestAllocationResult) {
			result.ShareID = ptr.To(types.UID("x"))
			result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"share": resource.MustParse("30"), "old": resource.MustParse("1")}
		}, true},
		"all of a device that was not shared then": {func(*resourceapi.DeviceRequestAllocationResult) {}, false},
	} {
		pod := aPod("p", "n1", "share")
		claim := claimOf(pod, template, "n1", "n1-0")
		of.change(&claim.Status.Allocation.Devices.Results[0])
		c := newCluster(t, node, aClass("gpu", ""), sharedBy(aSlice("n1", "a")), template, pod, claim)
		held, told := c.book.Holdings("n1", []*v1.Pod{pod})
		if told != of.told || told && (len(held) != 1 || held[0].Amounts["share"] != 30 || len(held[0].Amounts) != 1) {
			t.Errorf("%s: held are %v, told: %t", name, held, told)
		}
	}
	all := exactly("gpu", 1)
	all.Exactly.AllocationMode, all.Exactly.Count = resourceapi.DeviceAllocationModeAll, 0
	for name, asked := range map[string]*resourceapi.ResourceClaimTemplate{"a share": template, "all devices": aTemplate("share", all)} {
		inFlight, other := aPod("p", "n1", "share"), aTemplate("other", taking(exactly("gpu", 1), "30"))
		c := newCluster(t, node, aClass("gpu", ""), sharedBy(aSlice("n1", "a")), asked, other, inFlight, claimOf(inFlight, asked, ""),
			aPod("other", "", "other"))
		if _, told := c.book.Holdings("n1", []*v1.Pod{inFlight}); told {
			t.Errorf("the devices of a pod in flight that asks for %s are told", name)
		}
	}
}

// Each has its own reason.
func TestWhatBinsCannotTellIsRefused(t *testing.T) {
	limitless, slots := sharedBy(aSlice("n1", "a")), aSlice("n1")
	limitless.Spec.Devices[0].Capacity = nil
	limitless.Spec.Devices[0].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "s"}}
	limitless.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "s"}}
	for i := range 600 {
		slots.Spec.Devices = append(slots.Spec.Devices, aDevice(fmt.Sprint(i), "a"))
	}
	listed, early := extended(aPod("p", ""), "1"), extended(aPod("p", ""), "1")
	early.Spec.InitContainers = early.Spec.Containers
	both := append(partitioned("n1"), partitioned("n1")...)
	for _, one := range both[2:] {
		one.(*resourceapi.ResourceSlice).Name += "-other"
		one.(*resourceapi.ResourceSlice).Spec.Driver = "other.example.com"
	}
	far := append(partitioned("n1"), partitioned("n2")...)
	for i, one := range far {
		slice := one.(*resourceapi.ResourceSlice)
		slice.Spec.Pool.Name = "one"
		if slice.Spec.Pool.ResourceSliceCount = 3; i == 2 {
			slice.Spec.SharedCounters = nil
			slice.Spec.Pool.Generation = -1 // the counters are told once
		}
		for j := range slice.Spec.Devices {
			slice.Spec.Devices[j].Name += fmt.Sprint("-", i)
		}
	}
	shares := []runtime.Object{sharedBy(aSlice("n1", "a"))}
	for want, of := range map[string]struct {
		pod     *v1.Pod
		request resourceapi.DeviceRequest
		objects []runtime.Object
	}{
		partitionedDevice + " gpu":    {aPod("p", "", "t"), exactly("gpu", 1), []runtime.Object{limitless}},
		partitionedDevice + " half":   {aPod("p", "", "t"), exactly("half", 1), both},
		beyondOneNode + " half":       {aPod("p", "", "t"), exactly("half", 1), far},
		tooManyDevices:                {aPod("p", "", "t"), exactly("gpu", 17), shares},
		tooManyDevices + " gpu":       {aPod("p", "", "t"), firstOf(exactly("gpu", 1), exactly("gpu", 2)), []runtime.Object{slots}},
		forInitContainer + " gpu":     {early, exactly("gpu", 1), shares},
		listedByDevicePlugin + " gpu": {listed, exactly("gpu", 1), append(shares, aNode("lists", "4"))},
		requestOfCapacity + " gpu":    {aPod("p", "", "t"), taking(exactly("gpu", 1), "1n"), []runtime.Object{unlimited(aSlice("n1", "a"))}},
		adminAccess + " gpu":          {aPod("p", "", "t"), withAdminAccess(exactly("gpu", 1)), shares},
		requestOfAll + " gpu":         {aPod("p", "", "t"), firstOf(ofAll(exactly("gpu", 1)), exactly("gpu", 1)), shares},
	} {
		objects := append(of.objects, aNode("n1"), served(aClass("gpu", "")), aClass("half", "half"), aTemplate("t", of.request), of.pod)
		c := newCluster(t, objects...)
		asked := c.book.Devices(of.pod)
		if refused := slices.Concat(asked.Refused, c.book.DevicesRefused(asked.Asks)); !slices.Contains(refused, want) {
			t.Errorf("refused for %v, want %q", refused, want)
		}
	}
}

func unlimited(slice *resourceapi.ResourceSlice) *resourceapi.ResourceSlice {
	slice.Spec.Devices[0].AllowMultipleAllocations = ptr.To(true)
	slice.Spec.Devices[0].Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"share": {Value: resource.MustParse("1")}}
	return slice
}

func withAdminAccess(request resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	request.Exactly.AdminAccess = ptr.To(true)
	return request
}

func ofAll(request resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	request.Exactly.AllocationMode, request.Exactly.Count = resourceapi.DeviceAllocationModeAll, 0
	return request
}

// Two containers may get shares of one device, where one request gets devices of its own.
func TestExtendedResourcesAreRequestedContainerByContainer(t *testing.T) {
	pod := extended(aPod("p", "", "t"), "2")
	pod.Spec.Containers = append(pod.Spec.Containers, *pod.Spec.Containers[0].DeepCopy())
	pod.Spec.Containers[1].Resources.Requests[gpu] = resource.MustParse("1")
	c := newCluster(t, aNode("n1"), served(aClass("gpu", "")), sharedBy(aSlice("n1", "a")), aTemplate("t", exactly("gpu", 3)))

	asked := c.book.Devices(pod)
	if got, want := strings.Join(asked.Requests, " "), "gpu×3 example.com_gpu×2 example.com_gpu×1"; got != want {
		t.Errorf("it requests %s, want %s", got, want)
	}
	if needs := c.book.Needs(pod); needs.Of(gpu) != 0 || !asked.Extended {
		t.Errorf("it needs %+v", needs)
	}
}
