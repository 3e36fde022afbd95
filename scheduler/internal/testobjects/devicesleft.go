package testobjects

import (
	"maps"

	"github.com/stowage/stowage/scheduler/contract"
)

// DevicesLeft is what a node's devices have left, by what a snapshot tells.
type DevicesLeft struct {
	layout   *contract.DeviceLayout
	capacity []map[string]int64
	holders  []int
	counters map[string]int64
}

// DevicesLeftOn is that of the node, or nil if it has no layout.
func DevicesLeftOn(node string, of *contract.Snapshot) *DevicesLeft {
	for _, one := range of.Nodes {
		for _, layout := range of.DeviceLayouts {
			if one.Name != node || one.DeviceLayout != layout.Id {
				continue
			}
			made := &DevicesLeft{layout: layout, holders: make([]int, len(layout.Devices)), counters: maps.Clone(layout.Counters)}
			for _, device := range layout.Devices {
				made.capacity = append(made.capacity, maps.Clone(device.Capacity))
			}
			for _, held := range of.DeviceHoldings {
				if held.Node == node {
					made.put(int(held.Device), held.Amounts)
				}
			}
			return made
		}
	}
	return nil
}

func (b *DevicesLeft) put(device int, amounts map[string]int64) {
	b.change(device, amounts, -1)
}

// change gives back so many times what a device takes; it takes its counters with the first that hold it.
func (b *DevicesLeft) change(device int, amounts map[string]int64, times int64) {
	for name, amount := range amounts {
		b.capacity[device][name] += times * amount
	}
	if times > 0 {
		b.holders[device]--
	}
	if b.holders[device] == 0 {
		for name, amount := range b.layout.Devices[device].Counters {
			b.counters[name] += times * amount
		}
	}
	if times < 0 {
		b.holders[device]++
	}
}

func (b *DevicesLeft) fits(device int, amounts map[string]int64) bool {
	for name, amount := range amounts {
		if b.capacity[device][name] < amount {
			return false
		}
	}
	if b.holders[device] > 0 {
		return true
	}
	for name, amount := range b.layout.Devices[device].Counters {
		if b.counters[name] < amount {
			return false
		}
	}
	return true
}

// ChosenDevice is one of those that a pod gets.
type ChosenDevice struct {
	Device  int
	Amounts map[string]int64
}

// Allocate gives the requests the first devices that fit them all, in the order of the layout: request by request, alternative
// by alternative, and device by device, where the devices of one request only go forward.
func (b *DevicesLeft) Allocate(requests []*contract.DeviceRequest) ([]ChosenDevice, bool) {
	if len(requests) == 0 {
		return nil, true
	}
	for _, choice := range requests[0].FirstAvailable {
		if chosen, fits := b.choose(choice, int(choice.Count), 0, requests[1:]); fits {
			return chosen, true
		}
	}
	return nil, false
}

// choose gives the choice so many more devices from this one on, and then the rest.
func (b *DevicesLeft) choose(choice *contract.DeviceChoice, count, from int, rest []*contract.DeviceRequest) ([]ChosenDevice, bool) {
	if count == 0 {
		return b.Allocate(rest)
	}
	for device := from; device < len(b.layout.Devices); device++ {
		for _, take := range choice.Takes {
			if take.DeviceKind != b.layout.Devices[device].Kind || !b.fits(device, take.Amounts) {
				continue
			}
			b.put(device, take.Amounts)
			if chosen, fits := b.choose(choice, count-1, device+1, rest); fits {
				return append([]ChosenDevice{{device, take.Amounts}}, chosen...), true
			}
			b.change(device, take.Amounts, 1)
		}
	}
	return nil, false
}
