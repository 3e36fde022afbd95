package devices

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/resources"
)

// mostDevices is of one resource on a node, or of one request. More are no devices, but an amount.
const mostDevices = 64

// ask is what a request wants of each of its devices: those of a class, or an extended resource.
type ask struct {
	key      string
	request  resourceapi.ExactDeviceRequest
	extended v1.ResourceName
}

type asked struct {
	ask   *ask
	count int
}

// class is the pods that ask for the same.
type class struct {
	key         string
	cpu, memory int64
	asks        []asked
	// pods are those in the window.
	pods int
}

// classes are those of the pods that came last, as many as the window holds, and of pods that are scored.
type classes struct {
	window int
	byKey  map[string]*class
	asks   map[string]*ask
	seen   []*class
	next   int
}

func newClasses(window int) *classes {
	return &classes{window: window, byKey: map[string]*class{}, asks: map[string]*ask{}}
}

// add counts a pod of the class, and forgets the oldest one if the window is full.
func (c *classes) add(of *class) {
	of.pods++
	if len(c.seen) < c.window {
		c.seen = append(c.seen, of)
		return
	}
	c.seen[c.next].pods--
	c.seen[c.next] = of
	c.next = (c.next + 1) % c.window
}

// forget drops the classes without pods, and the asks that no class has any more.
func (c *classes) forget() {
	maps.DeleteFunc(c.byKey, func(_ string, one *class) bool { return one.pods == 0 })
	left := map[string]*ask{}
	for _, one := range c.byKey {
		for _, of := range one.asks {
			left[of.ask.key] = of.ask
		}
	}
	c.asks = left
}

// sorted are the classes with pods, in a fixed order.
func (c *classes) sorted() (found []*class) {
	for _, key := range slices.Sorted(maps.Keys(c.byKey)) {
		if one := c.byKey[key]; one.pods > 0 {
			found = append(found, one)
		}
	}
	return found
}

// of is the class of a pod; nil as long as a claim of the pod has not been made. A pod that is to be placed needs nothing for
// a claim that has its devices already.
func (c *classes) of(pod *v1.Pod, claims fwk.ResourceClaimTracker, toBePlaced bool) *class {
	list := resources.ListOf(pod)
	made := &class{cpu: list.Cpu().MilliValue(), memory: list.Memory().Value()}
	for i := range pod.Spec.ResourceClaims {
		if claims == nil {
			break
		}
		name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i])
		if err != nil {
			return nil
		}
		if name == nil {
			continue // it needs none
		}
		claim, err := claims.Get(pod.Namespace, *name)
		if err != nil {
			return nil
		}
		if claim.Status.Allocation == nil || !toBePlaced {
			made.asks = append(made.asks, c.askedBy(&claim.Spec)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		if number := quantity.Value(); number > 0 && number <= mostDevices && v1helper.IsExtendedResourceName(name) {
			one := c.known(&ask{key: "resource " + string(name), extended: name})
			made.asks = append(made.asks, asked{one, int(number)})
		}
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%d %d", made.cpu, made.memory)
	for _, one := range made.asks {
		fmt.Fprintf(&key, "\n%d %s", one.count, one.ask.key)
	}
	made.key = key.String()
	if known := c.byKey[made.key]; known != nil {
		return known
	}
	c.byKey[made.key] = made
	return made
}

// askedBy is what a claim asks for. Of alternatives it is the first, and requests that take no device, or all, are left out.
func (c *classes) askedBy(claim *resourceapi.ResourceClaimSpec) (found []asked) {
	for _, one := range claim.Devices.Requests {
		exactly := one.Exactly
		if len(one.FirstAvailable) > 0 {
			first := one.FirstAvailable[0]
			exactly = &resourceapi.ExactDeviceRequest{DeviceClassName: first.DeviceClassName, Selectors: first.Selectors,
				AllocationMode: first.AllocationMode, Count: first.Count, Tolerations: first.Tolerations, Capacity: first.Capacity}
		}
		if exactly == nil || ptr.Deref(exactly.AdminAccess, false) ||
			exactly.AllocationMode != resourceapi.DeviceAllocationModeExactCount || exactly.Count < 1 {
			continue
		}
		wanted := resourceapi.ExactDeviceRequest{DeviceClassName: exactly.DeviceClassName, Selectors: exactly.Selectors,
			Tolerations: exactly.Tolerations, Capacity: exactly.Capacity}
		encoded, err := json.Marshal(wanted)
		if err != nil {
			continue // plain values always marshal
		}
		found = append(found, asked{c.known(&ask{key: string(encoded), request: wanted}), int(min(exactly.Count, mostDevices))})
	}
	return found
}

func (c *classes) known(one *ask) *ask {
	if known := c.asks[one.key]; known != nil {
		return known
	}
	c.asks[one.key] = one
	return one
}

// mix is the share of each class among the pods of the window.
func (c *classes) mix() map[*class]float64 {
	shares := map[*class]float64{}
	for _, one := range c.byKey {
		if one.pods > 0 {
			shares[one] = float64(one.pods) / float64(len(c.seen))
		}
	}
	return shares
}

// distance is the share of pods by which two mixes differ.
func distance(a, b map[*class]float64) (sum float64) {
	for of, share := range a {
		sum += math.Abs(share - b[of])
	}
	for of, share := range b {
		if _, both := a[of]; !both {
			sum += share
		}
	}
	return sum / 2
}
