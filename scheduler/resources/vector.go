package resources

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/stowage/stowage/scheduler/contract"
)

// Vector is an amount of every resource. The zero value is nothing at all. Vectors are values:
// no method changes its receiver.
type Vector struct {
	cpuMilli              int64
	memoryBytes           int64
	ephemeralStorageBytes int64
	pods                  int64
	extended              map[string]int64
}

// ListOf is what the pod's own spec and status ask for, without the pod itself.
func ListOf(pod *v1.Pod) v1.ResourceList {
	return RequestsOf(pod, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

// RequestsOf is Kubernetes' own count of a pod's requests, without its side effect: PodRequests adds the overhead to
// the pod-level requests in place when these are not whole 64-bit numbers (1.5Gi, 2Ei), so that a pod in a cache
// shared with others would grow with every reading (k8s.io/component-helpers v0.36.3, resource/helpers.go).
func RequestsOf(pod *v1.Pod, options resourcehelper.PodResourcesOptions) v1.ResourceList {
	if pod.Spec.Overhead != nil && pod.Spec.Resources != nil {
		own := *pod
		own.Spec.Resources = pod.Spec.Resources.DeepCopy()
		pod = &own
	}
	return resourcehelper.PodRequests(pod, options)
}

// OfList reads a resource list. What is beyond 64 bits is counted as the
// scheduler counts it, but never as less than nothing.
func OfList(list v1.ResourceList) Vector {
	var vector Vector
	for name, quantity := range list {
		switch name {
		case v1.ResourceCPU:
			vector.cpuMilli = max(0, quantity.MilliValue())
		case v1.ResourceMemory:
			vector.memoryBytes = max(0, quantity.Value())
		case v1.ResourceEphemeralStorage:
			vector.ephemeralStorageBytes = max(0, quantity.Value())
		case v1.ResourcePods:
			vector.pods = max(0, quantity.Value())
		default:
			if vector.extended == nil {
				vector.extended = map[string]int64{}
			}
			vector.extended[string(name)] = max(0, quantity.Value())
		}
	}
	return vector
}

// Of is the amount of one resource, of the CPU in thousandths.
func (v Vector) Of(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return v.cpuMilli
	case v1.ResourceMemory:
		return v.memoryBytes
	case v1.ResourceEphemeralStorage:
		return v.ephemeralStorageBytes
	case v1.ResourcePods:
		return v.pods
	}
	return v.extended[string(name)]
}

// WithPods is the same of everything else, and room for so many pods.
func (v Vector) WithPods(pods int64) Vector {
	v.pods = pods
	return v
}

// Plus is the sum; it ends at the ends of the 64-bit range.
func (v Vector) Plus(other Vector) Vector {
	return v.combine(other, func(amount int64) int64 { return amount })
}

// Minus is the difference; it may be negative, as on an over-committed node.
func (v Vector) Minus(other Vector) Vector { return v.combine(other, negative) }

// Equal says that both are as much of everything.
func (v Vector) Equal(other Vector) bool { return v.Minus(other).IsZero() }

// IsZero says that it is nothing at all.
func (v Vector) IsZero() bool {
	for _, value := range v.extended {
		if value != 0 {
			return false
		}
	}
	return v.cpuMilli == 0 && v.memoryBytes == 0 && v.ephemeralStorageBytes == 0 && v.pods == 0
}

func (v Vector) combine(other Vector, signed func(int64) int64) Vector {
	sum := Vector{
		cpuMilli:              add(v.cpuMilli, signed(other.cpuMilli)),
		memoryBytes:           add(v.memoryBytes, signed(other.memoryBytes)),
		ephemeralStorageBytes: add(v.ephemeralStorageBytes, signed(other.ephemeralStorageBytes)),
		pods:                  add(v.pods, signed(other.pods)),
	}
	if len(v.extended) == 0 && len(other.extended) == 0 {
		return sum
	}
	sum.extended = make(map[string]int64, len(v.extended)+len(other.extended))
	for name, value := range v.extended {
		sum.extended[name] = value
	}
	for name, value := range other.extended {
		sum.extended[name] = add(sum.extended[name], signed(value))
	}
	return sum
}

// FitsIn reports whether a request fits into what is free. What is not asked for does not
// matter, even on an over-committed node: the scheduler's own rule.
func (v Vector) FitsIn(free Vector) bool { return v.ShortOf(free) == "" }

// ShortOf names a resource of which the request asks for more than is free, or returns "".
func (v Vector) ShortOf(free Vector) string {
	switch {
	case v.pods > 0 && v.pods > free.pods:
		return string(v1.ResourcePods)
	case v.cpuMilli > 0 && v.cpuMilli > free.cpuMilli:
		return string(v1.ResourceCPU)
	case v.memoryBytes > 0 && v.memoryBytes > free.memoryBytes:
		return string(v1.ResourceMemory)
	case v.ephemeralStorageBytes > 0 && v.ephemeralStorageBytes > free.ephemeralStorageBytes:
		return string(v1.ResourceEphemeralStorage)
	}
	for name, value := range v.extended {
		if value > 0 && value > free.extended[name] {
			return name
		}
	}
	return ""
}

// List is the vector as a resource list, without zero amounts.
func (v Vector) List() v1.ResourceList {
	list := v1.ResourceList{}
	set := func(name v1.ResourceName, quantity *resource.Quantity) {
		if !quantity.IsZero() {
			list[name] = *quantity
		}
	}
	set(v1.ResourceCPU, resource.NewMilliQuantity(v.cpuMilli, resource.DecimalSI))
	set(v1.ResourceMemory, bytes(v.memoryBytes))
	set(v1.ResourceEphemeralStorage, bytes(v.ephemeralStorageBytes))
	for name, amount := range v.extended {
		set(v1.ResourceName(name), resource.NewQuantity(amount, resource.DecimalSI))
	}
	return list
}

// bytes is a readable amount: in powers of two if it is whole Mi, else in powers of ten.
func bytes(amount int64) *resource.Quantity {
	if amount%(1<<20) == 0 {
		return resource.NewQuantity(amount, resource.BinarySI)
	}
	return resource.NewQuantity(amount, resource.DecimalSI)
}

// Message is the vector in the contract's form and range.
func (v Vector) Message() *contract.Resources {
	message := &contract.Resources{
		CpuMilli:              inContractRange(v.cpuMilli),
		MemoryBytes:           inContractRange(v.memoryBytes),
		EphemeralStorageBytes: inContractRange(v.ephemeralStorageBytes),
		Pods:                  inContractRange(v.pods),
	}
	if len(v.extended) > 0 {
		message.Extended = make(map[string]int64, len(v.extended))
		for name, value := range v.extended {
			message.Extended[name] = inContractRange(value)
		}
	}
	return message
}

// AtLeastNothing is the vector with zero in place of every negative amount.
func (v Vector) AtLeastNothing() Vector {
	amounts := Vector{
		cpuMilli:              max(0, v.cpuMilli),
		memoryBytes:           max(0, v.memoryBytes),
		ephemeralStorageBytes: max(0, v.ephemeralStorageBytes),
		pods:                  max(0, v.pods),
	}
	for name, value := range v.extended {
		if value > 0 {
			if amounts.extended == nil {
				amounts.extended = map[string]int64{}
			}
			amounts.extended[name] = value
		}
	}
	return amounts
}

// ShareOf is the mean share of a capacity that the vector takes, over the resources that the capacity has.
func (v Vector) ShareOf(capacity Vector) float64 {
	sum, count := 0.0, 0
	share := func(amount, of int64) {
		if of > 0 {
			sum += float64(amount) / float64(of)
			count++
		}
	}
	share(v.cpuMilli, capacity.cpuMilli)
	share(v.memoryBytes, capacity.memoryBytes)
	share(v.ephemeralStorageBytes, capacity.ephemeralStorageBytes)
	for _, name := range slices.Sorted(maps.Keys(capacity.extended)) {
		share(v.extended[name], capacity.extended[name])
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}
