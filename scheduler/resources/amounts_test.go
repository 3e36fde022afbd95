package resources

import (
	"math"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

func asking(name v1.ResourceName, amount string) *v1.Pod {
	return &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{name: resource.MustParse(amount)}}}}}}
}

// A sum that overflows would show room where there is none.
func TestSumsEndAtTheEndsOfTheRange(t *testing.T) {
	of := func(amount int64) Vector {
		return Vector{native: [...]int64{ephemeralStorageBytes: 0, memoryBytes: amount}, extended: map[string]int64{"x": amount}}
	}
	most, least := of(math.MaxInt64), of(math.MinInt64)

	if sum := most.Plus(most); sum.Of(v1.ResourceMemory) != math.MaxInt64 || sum.Of("x") != math.MaxInt64 {
		t.Errorf("the most and the most are %+v", sum)
	}
	if rest := least.Minus(most); rest.Of(v1.ResourceMemory) != math.MinInt64 || rest.Of("x") != math.MinInt64 {
		t.Errorf("the least without the most is %+v", rest)
	}
	if rest := (Vector{}).Minus(least); rest.Of(v1.ResourceMemory) != math.MaxInt64 {
		t.Errorf("nothing without the least is %+v", rest)
	}
}

// Kubernetes accepts every one of these pods, and the scheduler's own sums of them overflow.
func TestRequestsBeyondAnyMachineAreNotCountable(t *testing.T) {
	for _, c := range []struct {
		name      v1.ResourceName
		amount    string
		countable bool
	}{
		{v1.ResourceCPU, "1000", true}, {v1.ResourceCPU, "2Ei", false}, {v1.ResourceCPU, "9223372036854775807", false},
		{v1.ResourceMemory, "1Pi", true}, {v1.ResourceMemory, "2Ei", false}, {v1.ResourceMemory, "100m", true},
		{v1.ResourceEphemeralStorage, "99999999999999999999E", false}, {"example.com/x", "9223372036854775807", false},
	} {
		pod := asking(c.name, c.amount)
		if got := Countable(pod); got != c.countable {
			t.Errorf("%s of %s: countable is %t", c.amount, c.name, got)
		}
		if of := (*Book)(nil).Needs(pod); slices.Min(of.native[:]) < 0 {
			t.Errorf("%s of %s is %+v, less than nothing", c.amount, c.name, of)
		}
	}
}

// The optimiser refuses amounts below 0. Those at the other end of the range are told as they are: a pod that stays may
// have taken most of them.
func TestAmountsAreToldInTheContractsRange(t *testing.T) {
	message := Vector{native: [...]int64{cpuMilli: math.MaxInt64, memoryBytes: -1, ephemeralStorageBytes: 0},
		extended: map[string]int64{"x": math.MaxInt64}}.Message()

	if message.CpuMilli != math.MaxInt64 || message.MemoryBytes != 0 || message.Extended["x"] != math.MaxInt64 {
		t.Errorf("message %v", message)
	}
}

// Pods stand in caches that the whole scheduler shares; 1.5Gi and 2Ei are no whole 64-bit numbers inside.
func TestReadingAPodsRequestsDoesNotChangeThePod(t *testing.T) {
	for _, amount := range []string{"1Gi", "1.5Gi", "2Ei", "0.000000000000001", "99999999999999999999E"} {
		pod := &v1.Pod{Spec: v1.PodSpec{
			Resources: &v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceMemory: resource.MustParse(amount)}},
			Overhead:  v1.ResourceList{v1.ResourceMemory: resource.MustParse("8")},
		}}
		before, first := pod.DeepCopy(), (*Book)(nil).Needs(pod)

		if second := (*Book)(nil).Needs(pod); !second.Equal(first) {
			t.Errorf("%s and an overhead of 8 are %+v, then %+v", amount, first, second)
		}
		if !apiequality.Semantic.DeepEqual(before, pod) {
			t.Errorf("%s became %s", amount, pod.Spec.Resources.Requests.Memory())
		}
	}
}
