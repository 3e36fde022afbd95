package devices

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/resources"
)

// fleet is the devices of all nodes, sorted by which of the asks they serve.
type fleet struct {
	matcher *resources.Matcher
	slices  sets.Set[*resourceapi.ResourceSlice]
	classes map[string]*resourceapi.DeviceClass
	asks    []*ask
	serving map[*resourceapi.ResourceSlice]map[string][]bool

	// takes are what each ask takes of a device, by sort.
	takes  [][]int64
	byTake map[string]int
	// listed are the sorts of devices that nodes list themselves.
	listed map[v1.ResourceName]int
	// nodes are the sorts of their published devices, in the allocator's order, and members where each of these counts.
	nodes   map[string][]int
	members map[structured.DeviceID]member
}

// member is a published device: itself a device of its node, or a partition of one.
type member struct {
	node  string
	at    int
	share int64
	total map[resourceapi.QualifiedName]resource.Quantity
}

func newFleet() *fleet {
	return &fleet{matcher: resources.NewMatcher(), serving: map[*resourceapi.ResourceSlice]map[string][]bool{}}
}

// refresh reads what drivers publish, and says whether this, or what pods ask for, has changed.
func (f *fleet) refresh(manager fwk.SharedDRAManager, asks map[string]*ask) (changed bool, err error) {
	var published []*resourceapi.ResourceSlice
	by := map[string]*resourceapi.DeviceClass{}
	if manager != nil {
		if published, err = manager.ResourceSlices().ListWithDeviceTaintRules(); err != nil {
			return false, fmt.Errorf("listing devices: %w", err)
		}
		for key, one := range asks {
			by[key] = f.classOf(manager, one)
		}
	}
	same := len(asks) == len(f.asks) && !slices.ContainsFunc(f.asks, func(one *ask) bool { return asks[one.key] != one })
	if same && len(published) == len(f.slices) && f.slices.HasAll(published...) && maps.Equal(by, f.classes) {
		return false, nil
	}
	for key, class := range by {
		if f.classes[key] != class {
			for _, known := range f.serving {
				delete(known, key)
			}
		}
	}
	f.slices, f.classes, f.asks = sets.New(published...), by, nil
	for _, key := range slices.Sorted(maps.Keys(asks)) {
		f.asks = append(f.asks, asks[key])
	}
	maps.DeleteFunc(f.serving, func(slice *resourceapi.ResourceSlice, _ map[string][]bool) bool { return !f.slices.Has(slice) })
	f.sort(resources.PublishedDevices(published))
	return true, nil
}

// classOf is the class whose devices serve the ask; nil without one.
func (f *fleet) classOf(manager fwk.SharedDRAManager, one *ask) *resourceapi.DeviceClass {
	if one.extended != "" {
		return manager.DeviceClassResolver().GetDeviceClass(one.extended)
	}
	class, err := manager.DeviceClasses().Get(one.request.DeviceClassName)
	if err != nil {
		return nil
	}
	return class
}

func (f *fleet) sort(published []resources.Published) {
	f.takes, f.byTake, f.listed = nil, map[string]int{}, map[v1.ResourceName]int{}
	f.nodes, f.members = map[string][]int{}, map[structured.DeviceID]member{}
	type partitionedDevice struct {
		node string
		set  counterSet
	}
	counters, partitioned, takes := countersOf(f.slices), map[partitionedDevice]int{}, map[string][][]int64{}
	for i := range published {
		one := &published[i]
		if one.Node == "" {
			continue // pods of several nodes can have it
		}
		device := one.Device()
		made, take := member{node: one.Node, share: whole, total: totalOf(device)}, make([]int64, len(f.asks))
		if len(device.ConsumesCounters) > 0 {
			made.share = shareOf(one, counters)
		}
		for a, ask := range f.asks {
			take[a] = -1
			if f.serves(one, ask) {
				take[a] = takeOf(device, &ask.request, made.share)
			}
		}
		made.at = len(takes[one.Node])
		if len(device.ConsumesCounters) > 0 {
			set := counterSet{one.Slice.Spec.Driver, one.Slice.Spec.Pool.Name, device.ConsumesCounters[0].CounterSet}
			key := partitionedDevice{one.Node, set}
			if at, known := partitioned[key]; known {
				made.at = at
				for a, first := range takes[one.Node][at] {
					if first < 0 {
						takes[one.Node][at][a] = take[a] // else the first partition that serves it
					}
				}
			} else {
				partitioned[key] = made.at
			}
		}
		if made.at == len(takes[one.Node]) {
			takes[one.Node] = append(takes[one.Node], take)
		}
		f.members[structured.MakeDeviceID(one.Slice.Spec.Driver, one.Slice.Spec.Pool.Name, device.Name)] = made
	}
	for _, node := range slices.Sorted(maps.Keys(takes)) {
		for _, take := range takes[node] {
			f.nodes[node] = append(f.nodes[node], f.sortOf(take))
		}
	}
	for _, one := range f.asks {
		if one.extended != "" {
			f.listed[one.extended] = f.sortListed(one.extended)
		}
	}
}

// unasked is the sort of devices that serve no ask, so that no pod could waste them.
const unasked = -1

func (f *fleet) sortOf(take []int64) int {
	if !slices.ContainsFunc(take, func(one int64) bool { return one >= 0 }) {
		return unasked
	}
	key := fmt.Sprint(take)
	at, known := f.byTake[key]
	if !known {
		at = len(f.takes)
		f.byTake[key], f.takes = at, append(f.takes, take)
	}
	return at
}

// sortListed is the sort of a node's own devices of an extended resource.
func (f *fleet) sortListed(name v1.ResourceName) int {
	take := make([]int64, len(f.asks))
	for a, ask := range f.asks {
		take[a] = -1
		if ask.extended == name {
			take[a] = whole
		}
	}
	return f.sortOf(take)
}

func (f *fleet) serves(one *resources.Published, by *ask) bool {
	class := f.classes[by.key]
	if class == nil {
		return false
	}
	if f.serving[one.Slice] == nil {
		f.serving[one.Slice] = map[string][]bool{}
	}
	found, known := f.serving[one.Slice][by.key]
	if !known {
		found = f.matcher.Serving(one.Slice, class, &by.request)
		f.serving[one.Slice][by.key] = found
	}
	return found[one.At]
}

// totalOf are the capacities of which pods take shares; nil for a device that one claim has alone.
func totalOf(device *resourceapi.Device) map[resourceapi.QualifiedName]resource.Quantity {
	if !ptr.Deref(device.AllowMultipleAllocations, false) {
		return nil
	}
	total := map[resourceapi.QualifiedName]resource.Quantity{}
	for name, one := range device.Capacity {
		total[name] = one.Value
	}
	return total
}

// takeOf is how much a request takes of a device that serves it. What the driver rounds up is left out.
func takeOf(device *resourceapi.Device, request *resourceapi.ExactDeviceRequest, share int64) int64 {
	if !ptr.Deref(device.AllowMultipleAllocations, false) {
		return share
	}
	most := int64(1)
	for name, one := range device.Capacity {
		amount := one.Value
		if one.RequestPolicy != nil && one.RequestPolicy.Default != nil {
			amount = *one.RequestPolicy.Default
		}
		if request.Capacity != nil {
			if wanted, some := request.Capacity.Requests[name]; some {
				amount = wanted
			}
		}
		most = max(most, thousandths(amount, one.Value))
	}
	return most
}

// counterSet names a set of counters of which partitions take.
type counterSet struct{ driver, pool, name string }

// countersOf are the counters of all sets.
func countersOf(all sets.Set[*resourceapi.ResourceSlice]) map[counterSet]map[string]resourceapi.Counter {
	found := map[counterSet]map[string]resourceapi.Counter{}
	for slice := range all {
		for _, set := range slice.Spec.SharedCounters {
			found[counterSet{slice.Spec.Driver, slice.Spec.Pool.Name, set.Name}] = set.Counters
		}
	}
	return found
}

// shareOf is the largest share that a partition takes of any counter.
func shareOf(one *resources.Published, of map[counterSet]map[string]resourceapi.Counter) int64 {
	most := int64(1)
	for _, consumed := range one.Device().ConsumesCounters {
		counters := of[counterSet{one.Slice.Spec.Driver, one.Slice.Spec.Pool.Name, consumed.CounterSet}]
		for name, amount := range consumed.Counters {
			if total, some := counters[name]; some {
				most = max(most, thousandths(amount.Value, total.Value))
			}
		}
	}
	return most
}

func thousandths(amount, of resource.Quantity) int64 {
	total := of.AsApproximateFloat64()
	if total <= 0 {
		return whole
	}
	return int64(min(1, amount.AsApproximateFloat64()/total)*whole + 0.5)
}

// taken is how much of each node's published devices is allocated.
func (f *fleet) taken(allocated *structured.AllocatedState) map[string][]int64 {
	found := map[string][]int64{}
	take := func(device structured.DeviceID, amount func(member) int64) {
		if of, known := f.members[device]; known {
			if found[of.node] == nil {
				found[of.node] = make([]int64, len(f.nodes[of.node]))
			}
			found[of.node][of.at] += amount(of)
		}
	}
	for device := range allocated.AllocatedDevices {
		take(device, func(of member) int64 { return of.share })
	}
	for device, consumed := range allocated.AggregatedCapacity {
		take(device, func(of member) (most int64) {
			for name, amount := range consumed {
				if total, some := of.total[name]; some {
					most = max(most, thousandths(*amount, total))
				}
			}
			return most
		})
	}
	return found
}

// roomOn is what a node has left, its devices in the allocator's order; those that it lists itself come last.
func (f *fleet) roomOn(node fwk.NodeInfo, taken []int64, into []device) (room, []device) {
	allocatable, requested := node.GetAllocatable(), node.GetRequested()
	for at, sort := range f.nodes[node.Node().Name] {
		if sort == unasked {
			continue
		}
		one := device{sort: sort, free: whole}
		if taken != nil {
			one.free = max(0, whole-taken[at])
		}
		into = append(into, one)
	}
	scalar := allocatable.GetScalarResources()
	if len(scalar) > 0 {
		for _, ask := range f.asks {
			number := scalar[ask.extended]
			if ask.extended == "" || number == 0 || number > mostDevices || !v1helper.IsExtendedResourceName(ask.extended) {
				continue
			}
			used, sort := requested.GetScalarResources()[ask.extended], f.listed[ask.extended]
			for i := range number {
				one := device{sort: sort, free: whole}
				if i < used {
					one.free = 0
				}
				into = append(into, one)
			}
		}
	}
	return room{cpu: allocatable.GetMilliCPU() - requested.GetMilliCPU(),
		memory: allocatable.GetMemory() - requested.GetMemory(), devices: into}, into
}
