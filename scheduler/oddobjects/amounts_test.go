package oddobjects_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dice are what all that is odd is thrown with.
type dice struct{ *rand.Rand }

func (d dice) often() bool  { return d.IntN(2) == 0 }
func (d dice) seldom() bool { return d.IntN(12) == 0 }

// upTo is seldom large: what is large takes long to validate.
func (d dice) upTo(large int) int {
	if d.IntN(60) == 0 {
		return 1 + d.IntN(large)
	}
	return 1 + d.IntN(3)
}

func oneOf[T any](d dice, all ...T) T { return all[d.IntN(len(all))] }

func (d dice) amount() resource.Quantity {
	return resource.MustParse(oneOf(d, "0", "1n", "1m", "100m", "0.5", "1", "3", "1500m", "1.5Gi", "128Mi", "1Ki", "1e3",
		"1Ti", "1Pi", "1Ei", "2Ei", "7Ei", "1E18", "9223372036854775", "9223372036854775807", "4611686018427387904",
		"99999999999999999999E", "123456789012345678901234567890", "0.000000000000001"))
}

func (d dice) resource() v1.ResourceName {
	return oneOf[v1.ResourceName](d, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "hugepages-2Mi",
		"example.com/gpu", "example.com/cpu_milli", v1.ResourceName("example.com/"+strings.Repeat("x", 60)))
}

func (d dice) resources() v1.ResourceList {
	list := v1.ResourceList{}
	for range 1 + d.IntN(3) {
		list[d.resource()] = d.amount()
	}
	return list
}

// requirements are such that limits keep them legal where extended resources want both.
func (d dice) requirements() v1.ResourceRequirements {
	list := d.resources()
	if d.often() {
		return v1.ResourceRequirements{Requests: list}
	}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}

func (d dice) labels(count int) map[string]string {
	labels := map[string]string{}
	for range count {
		labels[d.key()] = d.value()
	}
	return labels
}

func (d dice) key() string {
	return oneOf(d, "app", "zone", "rack", "pod-template-hash", "statefulset.kubernetes.io/pod-name", v1.LabelHostname,
		"topology.kubernetes.io/zone", "x", strings.Repeat("k", 63), strings.Repeat("d", 60)+".com/"+strings.Repeat("n", 63),
		fmt.Sprintf("key-%d", d.IntN(3000)))
}

func (d dice) value() string {
	return oneOf(d, "", "a", "b", "9", "0", "9223372036854775807", "1-2", "A_b.c", strings.Repeat("v", 63),
		fmt.Sprintf("v-%d", d.IntN(20)))
}

func (d dice) number() string {
	return oneOf(d, "1", "-1", "+1", "0x10", "abc", "", " 1", "1_0", "9223372036854775808", strings.Repeat("9", 5000), "١", "1e3")
}

func (d dice) selector() *metav1.LabelSelector {
	switch d.IntN(6) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchLabels: d.labels(d.upTo(800))}
	}
	selector := &metav1.LabelSelector{}
	for range 1 + d.IntN(3) {
		requirement := metav1.LabelSelectorRequirement{Key: d.key(), Operator: oneOf(d, metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			for range d.upTo(3000) {
				requirement.Values = append(requirement.Values, d.value())
			}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}
