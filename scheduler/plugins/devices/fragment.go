package devices

import (
	"math"
	"slices"
)

// whole is a device in the unit of everything free and taken: thousandths of one.
const whole = 1000

// The weights of a node's cost, in thousandths of a device: of prices against the gradient of fragmentation; of the CPU and
// of the devices that the node has left, as shares of the largest node's; of what is left of a device that is shared.
// They are those of testbed/stowage_testbed/reproduce/fgd/simulation.py, chosen on the OpenB trace.
const (
	priceWeight     = 3.0
	cpuLeftWeight   = 20.0
	nodeLeftWeight  = 50.0
	shareLeftWeight = 0.02
	// step is by how much costs must differ to count as different.
	step = 40.0
)

// device is a device of a node, or a whole one of which devices are partitions. Devices of one sort suit the same requests.
type device struct {
	sort int
	free int64
}

// request is so many devices, and how much it takes of one of each sort; -1 where none of the sort serves it.
type request struct {
	take  []int64
	count int
}

// suits says that the request could be met by the device as it is.
func (r *request) suits(of device) bool { return r.take[of.sort] >= 0 && of.free >= r.take[of.sort] }

// need is what the pods of a class need of a node.
type need struct {
	cpu, memory int64
	requests    []request
}

// room is what a node has left.
type room struct {
	kind        int
	cpu, memory int64
	devices     []device
}

// shape is the classes of pods that make the same requests.
type shape struct {
	requests []request
	// cpu is what they need of it, ascending, and below the popularity of those that need no more than that.
	cpu   []int64
	below []float64
}

// shapesOf groups classes by their requests.
func shapesOf(classes []need, popularity []float64) (shapes []shape) {
	order := make([]int, len(classes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(classes[a].cpu - classes[b].cpu) })
	for _, i := range order {
		same := func(one shape) bool { return slices.EqualFunc(one.requests, classes[i].requests, equal) }
		at := slices.IndexFunc(shapes, same)
		if at < 0 {
			at, shapes = len(shapes), append(shapes, shape{requests: classes[i].requests})
		}
		so, far := &shapes[at], 0.0
		if len(so.below) > 0 {
			far = so.below[len(so.below)-1]
		}
		so.cpu, so.below = append(so.cpu, classes[i].cpu), append(so.below, far+popularity[i])
	}
	return shapes
}

func equal(a, b request) bool { return a.count == b.count && slices.Equal(a.take, b.take) }

// popularity returns that of the classes that so much CPU is enough for, and that of the others.
func (s *shape) popularity(cpu int64) (enough, others float64) {
	at, found := slices.BinarySearch(s.cpu, cpu+1)
	_ = found // either way, those before it need no more
	if at > 0 {
		enough = s.below[at-1]
	}
	return enough, s.below[len(s.below)-1] - enough
}

// fragment is how much of a node's free devices the pods of all classes cannot use, weighted by their popularity: all that
// is free for a pod that does not fit; for one that does, what is free of devices that it cannot use.
//
// It is F_n(M) of Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
// Descent", USENIX ATC 2023, equations 1 to 4.
func fragment(cpu int64, devices []device, shapes []shape) float64 {
	total := int64(0)
	for _, one := range devices {
		total += one.free
	}
	if total == 0 {
		return 0
	}
	sum := 0.0
	for i := range shapes {
		of := &shapes[i]
		enough, others := of.popularity(cpu)
		unused, fits := unusable(devices, of.requests)
		if !fits || len(of.requests) == 0 {
			unused = total
		}
		sum += enough*float64(unused) + others*float64(total)
	}
	return sum
}

// unusable is what is free of the devices that meet none of the requests, and whether enough of them meet each.
func unusable(devices []device, requests []request) (free int64, fits bool) {
	var meet [8]int
	counts := meet[:0]
	for range requests {
		counts = append(counts, 0)
	}
	for _, one := range devices {
		usable := false
		for i := range requests {
			if requests[i].suits(one) {
				counts[i]++
				usable = true
			}
		}
		if !usable {
			free += one.free
		}
	}
	for i := range requests {
		if counts[i] < requests[i].count {
			return free, false
		}
	}
	return free, true
}

// put takes what the requests take of the first devices that suit, as the allocator does. It returns what that is in all
// and what is left of devices that pods share by it, and false if there are not enough devices.
func put(devices []device, requests []request) (taken, left int64, fits bool) {
	for i := range requests {
		lacking := requests[i].count
		for at := range devices {
			if lacking == 0 {
				break
			}
			if !requests[i].suits(devices[at]) {
				continue
			}
			take := requests[i].take[devices[at].sort]
			devices[at].free -= take
			taken += take
			if take < whole {
				left += devices[at].free
			}
			lacking--
		}
		if lacking > 0 {
			return taken, left, false
		}
	}
	return taken, left, true
}

// model is what all costs are measured by. It does not change.
type model struct {
	shapes []shape
	prices prices
	// mostCPU and mostDevices are the largest node's.
	mostCPU, mostDevices float64
}

// value is a node's fragments, less what the gaps of its devices are worth.
func (m *model) value(of *room) float64 {
	value := fragment(of.cpu, of.devices, m.shapes)
	for _, one := range of.devices {
		value -= priceWeight * m.prices.gap(of.kind, one)
	}
	return value
}

// cost is what placing a pod on a node costs, whose value is known. The scratch has room for the node's devices.
func (m *model) cost(of *room, before float64, pod *need, scratch []device) float64 {
	after := room{kind: of.kind, cpu: of.cpu - pod.cpu, memory: of.memory - pod.memory, devices: append(scratch[:0], of.devices...)}
	taken, left, fits := put(after.devices, pod.requests)
	if !fits {
		return math.Inf(1) // what is known of the devices is behind, or a rule beyond them decides
	}
	free := int64(0)
	for _, one := range of.devices {
		free += one.free
	}
	cost := m.value(&after) - before + shareLeftWeight*float64(left)
	cost += priceWeight * m.prices.plain(of.kind, pod)
	cost += cpuLeftWeight * float64(after.cpu) / m.mostCPU
	return cost + nodeLeftWeight*float64(free-taken)/m.mostDevices
}

// steps is a cost in whole steps.
func steps(cost float64) int64 {
	if math.IsInf(cost, 1) {
		return math.MaxInt64
	}
	return int64(math.Floor(cost/step + 0.5))
}
