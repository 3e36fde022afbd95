package oddobjects_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// generator makes every random choice of the odd objects.
type generator struct{ *rand.Rand }

func (g generator) often() bool  { return g.IntN(2) == 0 }
func (g generator) seldom() bool { return g.IntN(12) == 0 }

// upTo is seldom large: what is large takes long to validate.
func (g generator) upTo(large int) int {
	if g.IntN(60) == 0 {
		return 1 + g.IntN(large)
	}
	return 1 + g.IntN(3)
}

func oneOf[T any](g generator, all ...T) T { return all[g.IntN(len(all))] }

func (g generator) amount() resource.Quantity {
	return resource.MustParse(oneOf(g, "0", "1n", "1m", "100m", "0.5", "1", "3", "1500m", "1.5Gi", "128Mi", "1Ki", "1e3",
		"1Ti", "1Pi", "1Ei", "2Ei", "7Ei", "1E18", "9223372036854775", "9223372036854775807", "4611686018427387904",
		"99999999999999999999E", "123456789012345678901234567890", "0.000000000000001"))
}

func (g generator) resource() v1.ResourceName {
	return oneOf[v1.ResourceName](g, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "hugepages-2Mi",
		"example.com/gpu", "example.com/cpu_milli", v1.ResourceName("example.com/"+strings.Repeat("x", 60)))
}

func (g generator) resources() v1.ResourceList {
	list := v1.ResourceList{}
	for range 1 + g.IntN(3) {
		list[g.resource()] = g.amount()
	}
	return list
}

// requirements are such that limits keep them legal where extended resources want both.
func (g generator) requirements() v1.ResourceRequirements {
	list := g.resources()
	if g.often() {
		return v1.ResourceRequirements{Requests: list}
	}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}

func (g generator) labels(count int) map[string]string {
	labels := map[string]string{}
	for range count {
		labels[g.key()] = g.value()
	}
	return labels
}

func (g generator) key() string {
	return oneOf(g, "app", "zone", "rack", "pod-template-hash", "statefulset.kubernetes.io/pod-name", v1.LabelHostname,
		"topology.kubernetes.io/zone", "x", strings.Repeat("k", 63), strings.Repeat("d", 60)+".com/"+strings.Repeat("n", 63),
		fmt.Sprintf("key-%d", g.IntN(3000)))
}

func (g generator) value() string {
	return oneOf(g, "", "a", "b", "9", "0", "9223372036854775807", "1-2", "A_b.c", strings.Repeat("v", 63),
		fmt.Sprintf("v-%d", g.IntN(20)))
}

func (g generator) number() string {
	return oneOf(g, "1", "-1", "+1", "0x10", "abc", "", " 1", "1_0", "9223372036854775808", strings.Repeat("9", 5000), "١", "1e3")
}

func (g generator) selector() *metav1.LabelSelector {
	switch g.IntN(6) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchLabels: g.labels(g.upTo(800))}
	}
	selector := &metav1.LabelSelector{}
	for range 1 + g.IntN(3) {
		requirement := metav1.LabelSelectorRequirement{Key: g.key(), Operator: oneOf(g, metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			for range g.upTo(3000) {
				requirement.Values = append(requirement.Values, g.value())
			}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}
