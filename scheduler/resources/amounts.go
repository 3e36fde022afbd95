package resources

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// largestRequest is more of anything than a machine has (a pebibyte, or as many cores). A plan that moves
	// pods of no more than that cannot overflow: 4,000 of them are less than 2^63.
	largestRequest = 1 << 50
	// largestRoom is such that a percentage of it can still be computed: a hundred times as much is less than 2^63.
	largestRoom = 1 << 56
	// contractLimit is the largest amount in the contract.
	contractLimit = 1 << 60
)

// Countable says whether sums of the pod's requests stay within 64 bits. Kubernetes accepts larger requests, of which
// the scheduler counts what is left after the overflow.
func Countable(pod *v1.Pod) bool { return within(requestsOf(pod), largestRequest) }

// CountableRoom says the same of what a node has, and of the scheduler's scores for it.
func CountableRoom(allocatable v1.ResourceList) bool { return within(allocatable, largestRoom) }

func within(amounts v1.ResourceList, limit int64) bool {
	for name, quantity := range amounts {
		largest := resource.NewQuantity(limit, resource.BinarySI)
		if name == v1.ResourceCPU {
			largest = resource.NewMilliQuantity(limit, resource.DecimalSI)
		}
		if quantity.Cmp(*largest) > 0 {
			return false
		}
	}
	return true
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

// inContractRange is the amount as the contract allows it.
func inContractRange(amount int64) int64 { return min(max(0, amount), contractLimit) }
