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
	CPUMilli              int64
	MemoryBytes           int64
	EphemeralStorageBytes int64
	Pods                  int64
	Extended              map[string]int64
}

// OfPod is what a pod asks for as the scheduler counts it: init containers, sidecars, pod-level
// requests, resizes in progress and overhead. The pod itself counts as one of Pods.
func OfPod(pod *v1.Pod) Vector {
	vector := OfList(requestsOf(pod))
	vector.Pods = 1
	return vector
}

func requestsOf(pod *v1.Pod) v1.ResourceList {
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

// OfList reads a resource list, for example a node's allocatable. What is beyond 64 bits is counted as the
// scheduler counts it, but never as less than nothing.
func OfList(list v1.ResourceList) Vector {
	var vector Vector
	for name, quantity := range list {
		switch name {
		case v1.ResourceCPU:
			vector.CPUMilli = max(0, quantity.MilliValue())
		case v1.ResourceMemory:
			vector.MemoryBytes = max(0, quantity.Value())
		case v1.ResourceEphemeralStorage:
			vector.EphemeralStorageBytes = max(0, quantity.Value())
		case v1.ResourcePods:
			vector.Pods = max(0, quantity.Value())
		default:
			if vector.Extended == nil {
				vector.Extended = map[string]int64{}
			}
			vector.Extended[string(name)] = max(0, quantity.Value())
		}
	}
	return vector
}

// Plus is the sum; it ends at the ends of the 64-bit range.
func (v Vector) Plus(other Vector) Vector {
	return v.combine(other, func(amount int64) int64 { return amount })
}

// Minus is the difference; it may be negative, as on an over-committed node.
func (v Vector) Minus(other Vector) Vector { return v.combine(other, negative) }

// IsZero says that it is nothing at all.
func (v Vector) IsZero() bool {
	for _, value := range v.Extended {
		if value != 0 {
			return false
		}
	}
	return v.CPUMilli == 0 && v.MemoryBytes == 0 && v.EphemeralStorageBytes == 0 && v.Pods == 0
}

func (v Vector) combine(other Vector, signed func(int64) int64) Vector {
	sum := Vector{
		CPUMilli:              add(v.CPUMilli, signed(other.CPUMilli)),
		MemoryBytes:           add(v.MemoryBytes, signed(other.MemoryBytes)),
		EphemeralStorageBytes: add(v.EphemeralStorageBytes, signed(other.EphemeralStorageBytes)),
		Pods:                  add(v.Pods, signed(other.Pods)),
	}
	if len(v.Extended) == 0 && len(other.Extended) == 0 {
		return sum
	}
	sum.Extended = make(map[string]int64, len(v.Extended)+len(other.Extended))
	for name, value := range v.Extended {
		sum.Extended[name] = value
	}
	for name, value := range other.Extended {
		sum.Extended[name] = add(sum.Extended[name], signed(value))
	}
	return sum
}

// FitsIn reports whether a request fits into what is free. What is not asked for does not
// matter, even on an over-committed node: the scheduler's own rule.
func (v Vector) FitsIn(free Vector) bool { return v.ShortOf(free) == "" }

// ShortOf names a resource of which the request asks for more than is free, or returns "".
func (v Vector) ShortOf(free Vector) string {
	switch {
	case v.Pods > 0 && v.Pods > free.Pods:
		return string(v1.ResourcePods)
	case v.CPUMilli > 0 && v.CPUMilli > free.CPUMilli:
		return string(v1.ResourceCPU)
	case v.MemoryBytes > 0 && v.MemoryBytes > free.MemoryBytes:
		return string(v1.ResourceMemory)
	case v.EphemeralStorageBytes > 0 && v.EphemeralStorageBytes > free.EphemeralStorageBytes:
		return string(v1.ResourceEphemeralStorage)
	}
	for name, value := range v.Extended {
		if value > 0 && value > free.Extended[name] {
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
	set(v1.ResourceCPU, resource.NewMilliQuantity(v.CPUMilli, resource.DecimalSI))
	set(v1.ResourceMemory, bytes(v.MemoryBytes))
	set(v1.ResourceEphemeralStorage, bytes(v.EphemeralStorageBytes))
	for name, amount := range v.Extended {
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
		CpuMilli:              inContractRange(v.CPUMilli),
		MemoryBytes:           inContractRange(v.MemoryBytes),
		EphemeralStorageBytes: inContractRange(v.EphemeralStorageBytes),
		Pods:                  inContractRange(v.Pods),
	}
	if len(v.Extended) > 0 {
		message.Extended = make(map[string]int64, len(v.Extended))
		for name, value := range v.Extended {
			message.Extended[name] = inContractRange(value)
		}
	}
	return message
}

// AtLeastNothing is the vector with zero in place of every negative amount.
func (v Vector) AtLeastNothing() Vector {
	amounts := Vector{
		CPUMilli:              max(0, v.CPUMilli),
		MemoryBytes:           max(0, v.MemoryBytes),
		EphemeralStorageBytes: max(0, v.EphemeralStorageBytes),
		Pods:                  max(0, v.Pods),
	}
	for name, value := range v.Extended {
		if value > 0 {
			if amounts.Extended == nil {
				amounts.Extended = map[string]int64{}
			}
			amounts.Extended[name] = value
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
	share(v.CPUMilli, capacity.CPUMilli)
	share(v.MemoryBytes, capacity.MemoryBytes)
	share(v.EphemeralStorageBytes, capacity.EphemeralStorageBytes)
	for _, name := range slices.Sorted(maps.Keys(capacity.Extended)) {
		share(v.Extended[name], capacity.Extended[name])
	}
	if count == 0 {
		return 0
	}
	return sum / float64(count)
}
