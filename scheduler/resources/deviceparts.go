package resources

import (
	"math"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/contract"
)

// HundredthsOfDevices is how much the pod asks for in devices, in hundredths of a whole one. A device that nobody shares
// is whole, a share is the largest part that it takes of any capacity, and a partition the largest that it consumes of
// any counter. Of devices that differ it is the least part, so that no pod counts for more than it gets, and of
// alternatives the first. Extended resources count where a device class serves them.
func (b *Book) HundredthsOfDevices(pod *v1.Pod) int64 {
	if !b.AsksForDevices(pod) {
		return 0
	}
	found, now := &podDevices{counts: map[string]int64{}}, b.state()
	b.devices.asksOf(pod, found)
	if !b.devices.bins() {
		found.requests = append(found.requests, extendedRequests(pod, b.devices.extendedOf(pod))...)
	}
	sum := 0.0
	for _, one := range found.requests {
		first := one[0]
		known, part := now.asks[first.ask.name], 1.0
		if first.ask.extended != "" && (known == nil || !known.matched) {
			continue // a plain amount
		}
		if now.bins.count(first.ask.name) {
			part = now.bins.parts[first.ask.name]
		}
		sum += part * float64(first.count)
	}
	return int64(math.Round(100 * sum))
}

// partsOf tells which part of a device each of the asks takes at least. The takes are of devices of these layouts.
func partsOf(takes map[string][]*contract.DeviceTake, layouts map[string]*layout) map[string]float64 {
	type part struct {
		capacity map[string]int64
		of       float64
	}
	kinds := map[string]part{}
	for _, one := range layouts {
		for _, device := range one.message.Devices {
			made := part{device.Capacity, 1}
			if len(device.Counters) > 0 {
				made.of = largestPart(device.Counters, one.message.Counters)
			}
			if known, seen := kinds[device.Kind]; !seen || made.of < known.of {
				kinds[device.Kind] = made
			}
		}
	}
	parts := make(map[string]float64, len(takes))
	for ask, all := range takes {
		parts[ask] = 1
		for _, take := range all {
			kind := kinds[take.DeviceKind]
			parts[ask] = min(parts[ask], kind.of*largestPart(take.Amounts, kind.capacity))
		}
	}
	return parts
}

// largestPart is that of any amount in the total of its name.
func largestPart(amounts, totals map[string]int64) (largest float64) {
	for name, amount := range amounts {
		if total := totals[name]; total > 0 {
			largest = max(largest, float64(amount)/float64(total))
		}
	}
	return largest
}
