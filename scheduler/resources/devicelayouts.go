package resources

import (
	"encoding/binary"
	"fmt"
	"strconv"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
)

// layoutMaker makes the layouts of nodes.
type layoutMaker struct {
	judge
	*bins
	now     *state
	reasons map[string]sets.Set[string]
	// mask is of all asks, which are in order.
	mask    asksMask
	asks    []*knownAsk
	kinds   map[kindKey]*kind
	layouts map[string]*layout
	ids     map[any]uint64
}

// kindKey is what decides what each ask takes of a device.
type kindKey struct {
	face *face
	mask asksMask
}

// kind is devices of which each ask takes the same.
type kind struct {
	// name is empty if no ask takes any.
	name     string
	capacity map[string]int64
	milli    bool
}

// kindOf is the kind of devices with this face that serve these asks. An ask is refused if what it takes is no number.
func (m *layoutMaker) kindOf(key kindKey) *kind {
	if known := m.kinds[key]; known != nil {
		return known
	}
	made := &kind{capacity: map[string]int64{wholeDevice: 1}}
	m.kinds[key] = made
	var serves []*knownAsk
	var names []string
	amounts := []map[resourceapi.QualifiedName]resource.Quantity{{}}
	for name, capacity := range key.face.device.Capacity {
		amounts[0][name] = capacity.Value
	}
	for _, one := range m.asksIn(key.mask) {
		serves, names = append(serves, one), append(names, one.name)
		amounts = append(amounts, key.face.takenBy(one.ask, m.judge).amounts)
	}
	takes := make([]map[string]int64, len(amounts))
	if key.face.shared {
		for i := range amounts {
			if !made.milli && !whole(amounts[i]) {
				made.milli = true
			}
		}
		for i, of := range amounts {
			found, counted := amountsOf(of, made.milli)
			if takes[i] = found; !counted {
				for _, one := range serves {
					m.reasons[one.name].Insert(requestOfCapacity)
				}
			}
		}
		made.capacity = takes[0]
	}
	if len(serves) > 0 {
		made.name = longDigestOf(textOf([]any{names, key.face.text}))
	}
	for i, one := range serves {
		amounts := takes[i+1]
		if !key.face.shared {
			amounts = made.capacity
		}
		m.takes[one.name] = append(m.takes[one.name], &contract.DeviceTake{DeviceKind: made.name, Amounts: amounts})
	}
	return made
}

func (m *layoutMaker) asksIn(mask asksMask) (found []*knownAsk) {
	for _, one := range m.asks {
		if mask.has(one.bit) {
			found = append(found, one)
		}
	}
	return found
}

// whole says that all amounts are whole numbers.
func whole(amounts map[resourceapi.QualifiedName]resource.Quantity) bool {
	for _, one := range amounts {
		if one.Cmp(*resource.NewQuantity(one.Value(), one.Format)) != 0 {
			return false
		}
	}
	return true
}

// amountOf is the quantity as a number, in thousandths or not, if it is one.
func amountOf(of resource.Quantity, milli bool) (int64, bool) {
	limit, unit := int64(largestAmount), int64(1)
	if milli {
		limit, unit = limit/1000, 1000
	}
	if of.Sign() < 0 || of.CmpInt64(limit) > 0 {
		return 0, false
	}
	if unit == 1 {
		return of.Value(), true
	}
	return of.MilliValue(), of.Cmp(*resource.NewMilliQuantity(of.MilliValue(), of.Format)) == 0
}

func amountsOf(quantities map[resourceapi.QualifiedName]resource.Quantity, milli bool) (map[string]int64, bool) {
	amounts, all := make(map[string]int64, len(quantities)), true
	for name, of := range quantities {
		amount, counted := amountOf(of, milli)
		amounts[string(name)], all = amount, all && counted
	}
	return amounts, all
}

// add makes the bins of a node of all of its devices, which are in order.
func (m *layoutMaker) add(offers []offer) {
	type poolOf struct{ driver, name string }
	pools := map[poolOf]bool{} // whether some of the bins consume its counters
	served := asksMask{}
	masks := make([]asksMask, len(offers))
	of := func(i int) poolOf { return poolOf{offers[i].slice.Spec.Driver, offers[i].slice.Spec.Pool.Name} }
	for i := range offers {
		if offers[i].unlike == "" {
			mask := m.now.devices[offers[i].id()]
			masks[i] = mask.without(mask.without(m.mask))
		}
		if masks[i] != (asksMask{}) && offers[i].consumes != nil {
			pools[of(i)] = true
		}
		served = served.with(masks[i])
	}
	if served == (asksMask{}) {
		return
	}
	made, key := &nodeBins{}, []byte{}
	var chosen []int
	var kinds []*kind
	places := map[poolOf]uint64{}
	for i := range offers {
		// Others of such a pool may be held, and then consume what these need.
		if masks[i] == (asksMask{}) && (offers[i].consumes == nil || !pools[of(i)]) {
			continue
		}
		kind := m.kindOf(kindKey{offers[i].face, masks[i]})
		chosen, kinds, made.devices = append(chosen, i), append(kinds, kind), append(made.devices, offers[i].id())
		key = binary.AppendUvarint(key, m.idOf(kind))
		if one := offers[i].consumes; one == nil {
			key = append(key, 0)
		} else {
			place, known := places[of(i)]
			if !known {
				place = uint64(len(places))
				places[of(i)] = place
			}
			key = binary.AppendUvarint(binary.AppendUvarint(key, m.idOf(one)), place)
			if !known {
				key = binary.AppendUvarint(key, m.idOf(offers[i].sets.text))
			}
		}
	}
	found := m.layouts[string(key)]
	if found == nil {
		var reason string
		found, reason = m.newLayout(offers, chosen, kinds, func(i int) uint64 { return places[of(i)] })
		for _, one := range m.asksIn(served) {
			if reason != "" {
				m.reasons[one.name].Insert(reason)
			}
		}
		m.layouts[string(key)] = found
	}
	for i, device := range made.devices {
		if found.message.Devices[i].Name != device.name {
			found.message.Devices[i].Name = strconv.Itoa(i) // the nodes call it by different names
		}
	}
	made.layout = found
	m.nodes[offers[0].node] = made
}

// idOf is a number for the value, above 0.
func (m *layoutMaker) idOf(value any) uint64 {
	if _, known := m.ids[value]; !known {
		m.ids[value] = uint64(len(m.ids)) + 1
	}
	return m.ids[value]
}

// newLayout is that of the chosen devices, and why asks for them are refused.
func (m *layoutMaker) newLayout(offers []offer, chosen []int, kinds []*kind, place func(int) uint64) (made *layout, reason string) {
	made = &layout{message: &contract.DeviceLayout{Counters: map[string]int64{}}}
	totals, consumed := map[string]resource.Quantity{}, make([]map[string]resource.Quantity, len(chosen))
	inMilli := sets.New[string]()
	slots := 0
	for at, i := range chosen {
		consumed[at] = map[string]resource.Quantity{}
		for _, one := range consumptionsOf(offers[i]) {
			for counter, amount := range one.Counters {
				name := fmt.Sprintf("%d/%s/%s", place(i), one.CounterSet, counter)
				total := offers[i].sets.of[one.CounterSet][counter].Value
				totals[name], consumed[at][name] = total, amount.Value
				if !whole(map[resourceapi.QualifiedName]resource.Quantity{"": total, "of": amount.Value}) {
					inMilli.Insert(name)
				}
			}
		}
	}
	convert := func(of map[string]resource.Quantity) map[string]int64 {
		amounts := make(map[string]int64, len(of))
		for name, quantity := range of {
			amount, counted := amountOf(quantity, inMilli.Has(name))
			if amounts[name] = amount; !counted {
				reason = partitionedDevice
			}
		}
		return amounts
	}
	made.message.Counters = convert(totals)
	for at, i := range chosen {
		made.milli = append(made.milli, kinds[at].milli)
		made.message.Devices = append(made.message.Devices, &contract.Device{Kind: kinds[at].name, Counters: convert(consumed[at]),
			Shared: offers[i].face.shared, Capacity: kinds[at].capacity})
		slots += len(kinds[at].capacity)
	}
	if slots+len(totals) > mostSlots {
		reason = tooManyDevices
	}
	made.message.Id = longDigestOf(textOf(made.message))
	for at, i := range chosen {
		made.message.Devices[at].Name = offers[i].id().name
	}
	return made, reason
}

func consumptionsOf(one offer) []resourceapi.DeviceCounterConsumption {
	if one.consumes == nil {
		return nil
	}
	return one.consumes.of
}
