package resources

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Plans that maximize devices go by these numbers: what counts too little would wait for what counts too much.
func TestPodsCountByTheDevicesThatTheyAskFor(t *testing.T) {
	half := aSlice("n1", "half-size")
	half.Name, half.Spec.Pool.Name = "n1-small", "small"
	sharedBy(half).Spec.Devices[0].Capacity["share"] = resourceapi.DeviceCapacity{Value: resource.MustParse("50")}
	objects := append(partitioned("n2"), aNode("n1"), aNode("n2"), aClass("half", "half"), aClass("quarter", "quarter"),
		aClass("large", "large"), aClass("small", "half-size"), aClass("whole", "whole"), served(aClass("nic", "nic")),
		sharedBy(aSlice("n1", "large")), half, testSlice("n1", "whole", "whole"), testSlice("n1", "nic"),
		aTemplate("two", exactly("whole", 2)), aTemplate("rounded", taking(exactly("large", 1), "11")),
		aTemplate("default", exactly("large", 1)), aTemplate("shares", taking(exactly("large", 2), "1"), taking(exactly("large", 1), "10")),
		aTemplate("small", taking(exactly("small", 1), "10")), aTemplate("half", exactly("half", 1)),
		aTemplate("quarter", exactly("quarter", 1)), aTemplate("first", firstOf(exactly("whole", 2), taking(exactly("large", 1), "10"))))
	c := newCluster(t, objects...)

	for template, want := range map[string]int64{"two": 200, "rounded": 20, "default": 50, "shares": 30, "small": 20, "half": 50,
		"quarter": 25, "first": 200} {
		pod := aPod("p", "", template)
		c.book.Devices(pod) // from now on it is known what is asked for
		if got := c.book.HundredthsOfDevices(pod); got != want {
			t.Errorf("%s counts %d, want %d", template, got, want)
		}
	}
	plain, served := aPod("p", ""), extended(aPod("p", ""), "3")
	c.book.Devices(served)
	if got := [2]int64{c.book.HundredthsOfDevices(plain), c.book.HundredthsOfDevices(served)}; got != [2]int64{0, 300} {
		t.Errorf("without claims, and with an extended resource that a class serves: %v", got)
	}
}

// testSlice is a pool of its own.
func testSlice(node string, models ...string) *resourceapi.ResourceSlice {
	slice := aSlice(node, models...)
	slice.Name, slice.Spec.Pool.Name = node+"-"+models[0], models[0]
	return slice
}

// A class of devices may select several models: a pod must not count for more than it gets.
func TestOfDevicesThatDifferTheLeastPartCounts(t *testing.T) {
	large := testSlice("n2", "large")
	sharedBy(large).Spec.Devices[0].Capacity["share"] = resourceapi.DeviceCapacity{Value: resource.MustParse("200")}
	pod := aPod("p", "", "any")
	c := newCluster(t, aNode("n1"), aNode("n2"), aClass("gpu", ""), sharedBy(aSlice("n1", "small")), large,
		aTemplate("any", taking(exactly("gpu", 1), "40")), pod)

	if got := c.book.HundredthsOfDevices(pod); got != 20 {
		t.Errorf("40 of 100 or of 200 count %d", got)
	}
}
