package resources

import (
	"cmp"
	"slices"
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// counterSets are those of a pool.
type counterSets struct {
	text string
	of   map[string]map[string]resourceapi.Counter
}

// consumption is what a device consumes of them.
type consumption struct {
	text string
	of   []resourceapi.DeviceCounterConsumption
}

// withCounters gives the devices of a pool its counters. The scheduler ignores a pool in which a device consumes what it has
// not. A pool whose devices consume counters on several nodes is none of a node.
func withCounters(offers []offer, newest []*resourceapi.ResourceSlice) []offer {
	all := &counterSets{of: map[string]map[string]resourceapi.Counter{}}
	for _, slice := range newest {
		for _, set := range slice.Spec.SharedCounters {
			if all.of[set.Name] != nil {
				return nil
			}
			all.of[set.Name] = set.Counters
		}
	}
	all.text = textOf(all.of)
	nodes, last := sets.New[string](), sets.New[string]()
	for _, one := range offers {
		for _, consumed := range one.device().ConsumesCounters {
			nodes.Insert(one.node)
			for name := range consumed.Counters {
				if _, has := all.of[consumed.CounterSet][name]; !has {
					return nil
				}
			}
		}
		if one.device().BindingConditions != nil {
			last.Insert(one.node)
		}
	}
	for i := range offers {
		one := &offers[i]
		one.sets, one.last = all, last.Has(one.node)
		if one.unlike == "" && len(nodes) > 1 && len(one.device().ConsumesCounters) > 0 {
			one.unlike = beyondOneNode
		}
	}
	return offers
}

// faces are those of all devices, each once.
type faces struct {
	of           map[string]*face
	consumptions map[string]*consumption
}

// read puts the offers into the order in which the scheduler tries the devices of a node, and reads what decides what asks
// take of them.
func (f *faces) read(offers []offer) {
	slices.SortFunc(offers, func(a, b offer) int {
		last := func(one offer) int { return len(strconv.FormatBool(one.last)) } // "true" is shorter
		return cmp.Or(cmp.Compare(a.node, b.node), -cmp.Compare(last(a), last(b)), compareInOrder(a, b))
	})
	before := *f
	*f = faces{of: map[string]*face{}, consumptions: map[string]*consumption{}}
	drivers := map[[2]string]sets.Set[string]{} // of pools with counters, by node and name
	for i := range offers {
		one := &offers[i]
		device := one.device()
		text := textOf([]any{device.AllowMultipleAllocations, device.Capacity})
		one.face = f.of[text]
		if one.face == nil {
			if one.face = before.of[text]; one.face == nil {
				one.face = faceOf(device, text)
			}
			f.of[text] = one.face
		}
		if len(device.ConsumesCounters) == 0 {
			continue
		}
		text = textOf(device.ConsumesCounters)
		if f.consumptions[text] == nil {
			f.consumptions[text] = &consumption{text, device.ConsumesCounters}
		}
		one.consumes = f.consumptions[text]
		pool := [2]string{one.node, one.slice.Spec.Pool.Name}
		if drivers[pool] == nil {
			drivers[pool] = sets.New[string]()
		}
		drivers[pool].Insert(one.slice.Spec.Driver)
	}
	for i := range offers {
		// 1.36 mixes the counters of such pools.
		if one := &offers[i]; one.consumes != nil && len(drivers[[2]string{one.node, one.slice.Spec.Pool.Name}]) > 1 && one.unlike == "" {
			one.unlike = partitionedDevice
		}
	}
}
