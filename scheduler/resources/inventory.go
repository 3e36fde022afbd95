package resources

import (
	"cmp"
	"slices"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// The reasons for which no plan can give a pod the devices that match an ask; the name of its class follows.
const (
	sharedDevice        = "device-shared"
	partitionedDevice   = "device-partitioned"
	bindingConditions   = "device-binding-conditions"
	beyondOneNode       = "device-not-node-local"
	withNodeResources   = "device-node-resources"
	unreadableSelectors = "device-selector-unreadable"
	devicesOverlap      = "device-requests-overlap"
)

// deviceID names a device in the cluster.
type deviceID struct{ driver, pool, name string }

func deviceOf(result *resourceapi.DeviceRequestAllocationResult) deviceID {
	return deviceID{result.Driver, result.Pool, result.Device}
}

// offer is a device that the scheduler may allocate.
type offer struct {
	slice *resourceapi.ResourceSlice
	// at is its place among the slice's devices.
	at int
	// node is the only node whose pods can have it, unless it is not whole.
	node string
	// unlike is why it is not a whole device of one node; with bins, why it is not a bin of one node either.
	unlike string
	// sets are the counters of its pool; last says that the scheduler tries the pool after all others. They are read with
	// bins, as is the rest.
	sets     *counterSets
	last     bool
	face     *face
	consumes *consumption
}

func (o offer) device() *resourceapi.Device { return &o.slice.Spec.Devices[o.at] }

func (o offer) id() deviceID {
	return deviceID{o.slice.Spec.Driver, o.slice.Spec.Pool.Name, o.device().Name}
}

// compareInOrder puts offers into the order in which the scheduler's allocator looks at them, pools tried last aside.
func compareInOrder(a, b offer) int {
	of, other := &a.slice.Spec, &b.slice.Spec
	return cmp.Or(cmp.Compare(of.Driver, other.Driver), cmp.Compare(of.Pool.Name, other.Pool.Name),
		cmp.Compare(a.slice.Name, b.slice.Name), cmp.Compare(a.at, b.at))
}

// pool is the slices of one pool of devices.
type pool struct{ driver, name string }

// offersOf are the devices that the scheduler may allocate, and the number of pools of which their driver has not published
// all. The scheduler ignores these, pools of an older generation, and those in which two devices have one name.
func offersOf(all []*resourceapi.ResourceSlice, bins bool) (offers []offer, incomplete int) {
	pools := map[pool][]*resourceapi.ResourceSlice{}
	for _, slice := range all {
		of := pool{slice.Spec.Driver, slice.Spec.Pool.Name}
		pools[of] = append(pools[of], slice)
	}
	for _, published := range pools {
		found, complete := offersOfPool(published, bins)
		offers = append(offers, found...)
		if !complete {
			incomplete++
		}
	}
	return offers, incomplete
}

func offersOfPool(all []*resourceapi.ResourceSlice, bins bool) (offers []offer, complete bool) {
	byNode, local := map[string][]*resourceapi.ResourceSlice{}, true
	for _, slice := range all {
		node := ptr.Deref(slice.Spec.NodeName, "")
		byNode[node] = append(byNode[node], slice)
		local = local && node != ""
	}
	if !local {
		byNode = map[string][]*resourceapi.ResourceSlice{"": all}
	}
	complete = true
	// Unless it is told otherwise, the scheduler ignores such a slice, and so the pool.
	alpha := slices.ContainsFunc(newestOf(all), func(one *resourceapi.ResourceSlice) bool { return minor.HasAlphaFields(&one.Spec) })
	for _, of := range byNode {
		newest := newestOf(of)
		if expected := int(newest[0].Spec.Pool.ResourceSliceCount); len(newest) != expected {
			// Slices of other nodes count, too; if they are newer, the driver is replacing these.
			if every := newestOf(all); len(every) != expected || every[0].Spec.Pool.Generation != newest[0].Spec.Pool.Generation {
				complete = false
				continue
			}
		}
		offers = append(offers, offersOfSlices(newest, alpha, bins)...)
	}
	if bins {
		return withCounters(offers, newestOf(all)), complete
	}
	return offers, complete
}

func newestOf(all []*resourceapi.ResourceSlice) (newest []*resourceapi.ResourceSlice) {
	for _, slice := range all {
		switch {
		case len(newest) == 0 || slice.Spec.Pool.Generation > newest[0].Spec.Pool.Generation:
			newest = []*resourceapi.ResourceSlice{slice}
		case slice.Spec.Pool.Generation == newest[0].Spec.Pool.Generation:
			newest = append(newest, slice)
		}
	}
	return newest
}

// offersOfSlices are none if two devices have one name. No device of a pool with alpha fields is a whole one.
func offersOfSlices(of []*resourceapi.ResourceSlice, alpha, bins bool) (offers []offer) {
	names := sets.New[string]()
	for _, slice := range of {
		for at := range slice.Spec.Devices {
			one := offer{slice: slice, at: at, node: ptr.Deref(slice.Spec.NodeName, "")}
			if one.unlike = one.difference(bins); one.unlike == "" && alpha {
				one.unlike = withNodeResources
			}
			offers = append(offers, one)
			names.Insert(one.device().Name)
		}
	}
	if names.Len() < len(offers) {
		return nil
	}
	return offers
}

// difference is why the device is not a whole one of one node, or "". With bins it may be shared or a partition, but for what
// 1.36 does otherwise: there a device that is shared without limits pays its counters again with each share.
func (o offer) difference(bins bool) string {
	device := o.device()
	shared, partition := ptr.Deref(device.AllowMultipleAllocations, false), len(device.ConsumesCounters) > 0
	switch {
	case o.node == "":
		return beyondOneNode
	case shared && !bins:
		return sharedDevice
	case partition && (!bins || shared && len(device.Capacity) == 0):
		return partitionedDevice
	case len(device.BindingConditions) > 0:
		return bindingConditions
	case minor.TakesOfNode(device):
		return withNodeResources
	}
	return ""
}
