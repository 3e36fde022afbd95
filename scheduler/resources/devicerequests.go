package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
)

// The reasons for which no plan can give a pod devices that pods share or that overlap.
const (
	tooManyDevices       = "device-too-many"
	forInitContainer     = "device-init-container"
	listedByDevicePlugin = "device-plugin-beside"
)

// mostDevices is of how many devices of a pod the optimiser keeps account.
const mostDevices = 16

// choice is one of the alternatives of a request.
type choice struct {
	ask   ask
	count int64
}

// request has one choice unless there are alternatives, in order.
type request []choice

// linked has each ask know the others.
func (r request) linked() request {
	if len(r) > 1 {
		var names []string
		for _, one := range r {
			names = append(names, one.ask.name)
		}
		for i := range r {
			r[i].ask.alternatives = names
		}
	}
	return r
}

// id depends on nothing but the request.
func (r request) id() string {
	var parts []string
	for _, one := range r {
		parts = append(parts, fmt.Sprintf("%s×%d", one.ask.name, one.count))
	}
	if len(parts) > 2 {
		return parts[0] + "|" + digestOf(strings.Join(parts, "|"))
	}
	return strings.Join(parts, "|")
}

// covers says that the ask is known with all that it has been an alternative of.
func (k *knownAsk) covers(one ask) bool {
	return k != nil && k.alternatives.HasAll(one.alternatives...)
}

// extendedRequests are what the scheduler requests for the pod's extended resources, in order: by name and container.
func extendedRequests(pod *v1.Pod, served map[v1.ResourceName]string) (requests []request) {
	for _, name := range slices.Sorted(maps.Keys(served)) {
		for container := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
			quantity := container.Resources.Requests[name]
			if count, whole := quantity.AsInt64(); whole && count > 0 {
				requests = append(requests, request{{askFor(name, served[name]), count}})
			}
		}
	}
	return requests
}

// readBins reads which of the requests are for devices that pods share or that overlap.
func (p *podDevices) readBins(pod *v1.Pod, now *state) {
	var claimed []string
	binned, total := []request{}, int64(0)
	of := map[string]int{} // requests by extended resource
	for i, one := range p.requests {
		if i < p.claimed {
			claimed = append(claimed, one.id())
		}
		if !now.bins.count(one[0].ask.name) {
			continue
		}
		most := int64(0)
		for _, choice := range one {
			most = max(most, choice.count)
		}
		binned, total, p.Requests = append(binned, one), add(total, most), append(p.Requests, one.id())
		if i >= p.claimed {
			of[one[0].ask.name]++
		}
		if one[0].ask.extended != "" && asksAtStart(pod, one[0].ask.extended) {
			p.Refused = append(p.Refused, forInitContainer+" "+one[0].ask.class)
		}
	}
	for _, one := range p.requests[p.claimed:] {
		if of[one[0].ask.name] > 1 { // two containers may share a device, one request may not
			claimed = append(claimed, one.id())
		}
	}
	if total > mostDevices {
		p.Refused = append(p.Refused, tooManyDevices)
	}
	p.Claimed, p.requests = claimed, binned
}

// asksAtStart says whether a container that ends before the others start asks for the resource: the scheduler lends it what
// these have.
func asksAtStart(pod *v1.Pod, name v1.ResourceName) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(one v1.Container) bool {
		_, asks := one.Resources.Requests[name]
		return asks && !podutil.IsRestartableInitContainer(&one)
	})
}

// Requests are what the pod asks for in devices that pods share or that overlap, in the order in which the scheduler
// allocates devices to it.
func (b *Book) Requests(pod *v1.Pod) (requests []*contract.DeviceRequest) {
	if !b.AsksForDevices(pod) {
		return nil
	}
	found, now := b.devices.devicesOf(pod, b.at)
	for i, id := range found.Requests {
		made := &contract.DeviceRequest{Id: id}
		for _, one := range found.requests[i] {
			made.FirstAvailable = append(made.FirstAvailable,
				&contract.DeviceChoice{Count: int32(one.count), Takes: now.bins.takes[one.ask.name]}) // at most 32
		}
		requests = append(requests, made)
	}
	return requests
}

// taken is what an ask takes of a device.
type taken struct {
	serves, failed bool
	// amounts are those of the capacity of a device that pods share.
	amounts map[resourceapi.QualifiedName]resource.Quantity
}

// takenBy has the scheduler's own allocator allocate the device, and no other, for the ask: so all of its rules about
// capacities and policies count, in every version.
func (j judge) takenBy(one ask, device *resourceapi.Device) taken {
	node, class := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, "c"
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: resourceapi.ResourceSliceSpec{
		Driver: "d", NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "p", ResourceSliceCount: 1},
		Devices: []resourceapi.Device{{Name: "d", AllowMultipleAllocations: device.AllowMultipleAllocations, Capacity: device.Capacity}}}}
	claim := &resourceapi.ResourceClaim{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
		Requests: []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class,
			AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1, Capacity: one.capacity}}}}}}
	allocator, err := structured.NewAllocator(context.Background(), j.features, structured.AllocatedState{}, anyClass{},
		[]*resourceapi.ResourceSlice{slice}, j.expressions)
	if err != nil {
		return taken{failed: true}
	}
	results, err := allocator.Allocate(context.Background(), node, []*resourceapi.ResourceClaim{claim})
	if err != nil || len(results) == 0 {
		return taken{failed: err != nil}
	}
	return taken{serves: true, amounts: results[0].Devices.Results[0].ConsumedCapacity}
}

// anyClass has a class of every name, which selects all devices.
type anyClass struct{}

func (anyClass) List() ([]*resourceapi.DeviceClass, error) { return nil, nil }

func (anyClass) Get(name string) (*resourceapi.DeviceClass, error) {
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}

// face is all of a device that decides what an ask takes of it.
type face struct {
	text   string
	device *resourceapi.Device
	shared bool
	// asked: the allocator has to be asked even for an ask for no capacity.
	asked bool
	known map[string]taken
}

func faceOf(device *resourceapi.Device, text string) *face {
	made := &face{text: text, device: device, shared: ptr.Deref(device.AllowMultipleAllocations, false), known: map[string]taken{}}
	made.asked = made.shared
	for _, capacity := range device.Capacity {
		made.asked = made.asked || capacity.RequestPolicy != nil
	}
	return made
}

func (f *face) takenBy(one ask, by judge) taken {
	if one.capacity == nil && !f.asked {
		return taken{serves: true}
	}
	found, known := f.known[one.taking]
	if !known {
		found = by.takenBy(one, f.device)
		f.known[one.taking] = found
	}
	return found
}
