package resources

import (
	"maps"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// largestRequest is more of anything than a machine has (a pebibyte, or as many cores). A plan that moves
	// pods of no more than that cannot overflow: 4,000 of them are less than 2^63.
	largestRequest = 1 << 50
	// largestScored is such that a percentage of it can still be computed: a hundred times as much is less than 2^63.
	largestScored = 1 << 56
	// largestTotal is such that two of it can still be added.
	largestTotal = 1 << 62
)

// Countable says whether sums of the pod's requests stay within 64 bits. Kubernetes accepts larger requests, of which
// the scheduler counts what is left after the overflow.
func Countable(pod *v1.Pod) bool {
	for name, quantity := range ListOf(pod) {
		if quantity.Cmp(quantityOf(name, largestRequest)) > 0 {
			return false
		}
	}
	return true
}

// quantityOf is so much of the resource in the scheduler's units: thousandths of a core, whole units of all else.
func quantityOf(name v1.ResourceName, amount int64) resource.Quantity {
	if name == v1.ResourceCPU {
		return *resource.NewMilliQuantity(amount, resource.DecimalSI)
	}
	return *resource.NewQuantity(amount, resource.BinarySI)
}

// Uncountable names, in order, the resources of which pods request so much together that the scheduler's sums, or its
// scores, would overflow.
func Uncountable(requested v1.ResourceList) []v1.ResourceName {
	var names []v1.ResourceName
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		limit := int64(largestTotal)
		if name == v1.ResourceCPU || name == v1.ResourceMemory {
			limit = largestScored
		}
		if total := requested[name]; total.Cmp(quantityOf(name, limit)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// Room is what pods can fill of what a node has, in amounts that the scheduler can score: less than nothing is
// nothing, and more than it can score is as good as all that the pods request together.
func Room(allocatable, requested v1.ResourceList) v1.ResourceList {
	room := allocatable.DeepCopy()
	for name, quantity := range room {
		largest := quantityOf(name, largestScored)
		if total := requested[name]; total.Cmp(largest) > 0 {
			largest = total.DeepCopy()
		}
		switch {
		case quantity.Sign() < 0:
			room[name] = resource.Quantity{Format: quantity.Format}
		case quantity.Cmp(largest) > 0:
			room[name] = largest
		}
	}
	return room
}

// add is the sum, or the end of the range that it lies beyond.
func add(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}

// negative is -a, or the end of the range that it lies beyond.
func negative(a int64) int64 {
	if a == math.MinInt64 {
		return math.MaxInt64
	}
	return -a
}
