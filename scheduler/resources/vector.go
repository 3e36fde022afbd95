package resources

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/stowage/stowage/scheduler/contract"
)

// Vector is an amount of every resource. The zero value is nothing at all. Vectors are values:
// no method changes its receiver.
type Vector struct {
	// native are the amounts of the resources of that name, of the CPU in thousandths.
	native   [len(nativeNames)]int64
	extended map[string]int64
}

// nativeNames are the resources that Kubernetes itself knows.
var nativeNames = [...]v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

// The places of their amounts.
const (
	pods = iota
	cpuMilli
	memoryBytes
	ephemeralStorageBytes
)

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
		amount := quantity.Value()
		if name == v1.ResourceCPU {
			amount = quantity.MilliValue()
		}
		vector.set(name, max(0, amount))
	}
	return vector
}

func (v *Vector) set(name v1.ResourceName, amount int64) {
	if at := slices.Index(nativeNames[:], name); at >= 0 {
		v.native[at] = amount
		return
	}
	if v.extended == nil {
		v.extended = map[string]int64{}
	}
	v.extended[string(name)] = amount
}

// Of is the amount of one resource, of the CPU in thousandths.
func (v Vector) Of(name v1.ResourceName) int64 {
	if at := slices.Index(nativeNames[:], name); at >= 0 {
		return v.native[at]
	}
	return v.extended[string(name)]
}

// names are those of all resources, in order.
func (v Vector) names() []v1.ResourceName {
	names := slices.Clone(nativeNames[:])
	for _, name := range slices.Sorted(maps.Keys(v.extended)) {
		names = append(names, v1.ResourceName(name))
	}
	return names
}

// WithPods is the same of everything else, and room for so many pods.
func (v Vector) WithPods(count int64) Vector {
	v.native[pods] = count
	return v
}

// DevicePrefix begins the names of amounts of devices. They belong to one state of the cluster: what is compared over time
// leaves them out.
const DevicePrefix = "devices.stowage.dev/"

// WithoutDevices is the same of everything else, and no devices.
func (v Vector) WithoutDevices() Vector {
	isDevice := func(name string, _ int64) bool { return strings.HasPrefix(name, DevicePrefix) }
	for name := range v.extended {
		if isDevice(name, 0) {
			v.extended = maps.Clone(v.extended)
			maps.DeleteFunc(v.extended, isDevice)
			return v
		}
	}
	return v
}

// Plus is the sum; it ends at the ends of the 64-bit range.
func (v Vector) Plus(other Vector) Vector { return v.combine(other, add) }

// Minus is the difference; it may be negative, as on an over-committed node.
func (v Vector) Minus(other Vector) Vector {
	return v.combine(other, func(a, b int64) int64 { return add(a, negative(b)) })
}

// AtLeastNothing is the vector with zero in place of every negative amount.
func (v Vector) AtLeastNothing() Vector {
	return v.combine(Vector{}, func(amount, none int64) int64 { return max(none, amount) })
}

// combine has a result for each resource of either.
func (v Vector) combine(other Vector, each func(a, b int64) int64) (result Vector) {
	for at := range nativeNames {
		result.native[at] = each(v.native[at], other.native[at])
	}
	if len(v.extended) == 0 && len(other.extended) == 0 {
		return result
	}
	result.extended = make(map[string]int64, len(v.extended)+len(other.extended))
	for name, amount := range v.extended {
		result.extended[name] = each(amount, other.extended[name])
	}
	for name, amount := range other.extended {
		result.extended[name] = each(v.extended[name], amount)
	}
	return result
}

// Equal says that both are as much of everything.
func (v Vector) Equal(other Vector) bool { return v.Minus(other).IsZero() }

// IsZero says that it is nothing at all.
func (v Vector) IsZero() bool {
	for _, amount := range v.extended {
		if amount != 0 {
			return false
		}
	}
	return v.native == Vector{}.native
}

// FitsIn reports whether a request fits into what is free. What is not asked for does not
// matter, even on an over-committed node: the scheduler's own rule.
func (v Vector) FitsIn(free Vector) bool { return v.ShortOf(free) == "" }

// ShortOf names a resource of which the request asks for more than is free, or returns "".
func (v Vector) ShortOf(free Vector) string {
	for at, amount := range v.native {
		if amount > 0 && amount > free.native[at] {
			return string(nativeNames[at])
		}
	}
	for name, amount := range v.extended {
		if amount > 0 && amount > free.extended[name] {
			return name
		}
	}
	return ""
}

// List is the vector without its pods as a resource list, without zero amounts. Bytes are readable: in powers of two if
// they are whole Mi, else in powers of ten.
func (v Vector) List() v1.ResourceList {
	list := v1.ResourceList{}
	for _, name := range v.names() {
		amount, isBytes := v.Of(name), name == v1.ResourceMemory || name == v1.ResourceEphemeralStorage
		quantity := quantityOf(name, amount)
		if !isBytes || amount%(1<<20) != 0 {
			quantity.Format = resource.DecimalSI
		}
		if amount != 0 && name != v1.ResourcePods {
			list[name] = quantity
		}
	}
	return list
}

// Message is the vector in the contract's form, in which no amount is negative.
func (v Vector) Message() *contract.Resources {
	v = v.AtLeastNothing()
	return &contract.Resources{CpuMilli: v.native[cpuMilli], MemoryBytes: v.native[memoryBytes],
		EphemeralStorageBytes: v.native[ephemeralStorageBytes], Pods: v.native[pods], Extended: v.extended}
}

// ShareOf is the mean share of a capacity that the vector takes, over the resources that the capacity has.
func (v Vector) ShareOf(capacity Vector) float64 {
	sum, count := 0.0, 0.0
	for _, name := range capacity.names() {
		if of := capacity.Of(name); of > 0 && name != v1.ResourcePods {
			sum += float64(v.Of(name)) / float64(of)
			count++
		}
	}
	return sum / max(1, count)
}
