package resources

import (
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
)

// Published is a device that drivers have published and the scheduler may allocate.
type Published struct {
	Slice *resourceapi.ResourceSlice
	// At is its place among the slice's devices.
	At int
	// Node is the only one whose pods can have it; "" if there are others.
	Node string
}

// Device is the device as published.
func (p *Published) Device() *resourceapi.Device { return &p.Slice.Spec.Devices[p.At] }

// PublishedDevices are the devices of all complete pools, in the order in which the scheduler's allocator looks at them.
func PublishedDevices(all []*resourceapi.ResourceSlice) []Published {
	offers, _ := offersOf(all, false)
	slices.SortFunc(offers, compareInOrder)
	found := make([]Published, len(offers))
	for i, one := range offers {
		found[i] = Published{one.slice, one.at, one.node}
	}
	return found
}

// Matcher says which devices serve a request, as the scheduler's allocator does. It is for one goroutine at a time.
type Matcher struct {
	judge     judge
	selectors map[string]*selectors
}

// NewMatcher returns a matcher under the process's feature gates.
func NewMatcher() *Matcher { return &Matcher{judge: newJudge(), selectors: map[string]*selectors{}} }

// Serving says of each device of the slice whether it serves a request of the class with these selectors and tolerations.
// A device on which a selector cannot be evaluated serves none.
func (m *Matcher) Serving(
	slice *resourceapi.ResourceSlice, class *resourceapi.DeviceClass, request *resourceapi.ExactDeviceRequest,
) []bool {
	var expressions []string
	for _, one := range slices.Concat(class.Spec.Selectors, request.Selectors) {
		if one.CEL != nil {
			expressions = append(expressions, one.CEL.Expression)
		}
	}
	key := strings.Join(expressions, "\x00")
	by := m.selectors[key]
	if by == nil {
		if len(m.selectors) > cachedExpressions {
			clear(m.selectors)
		}
		by = newSelectors(expressions)
		m.selectors[key] = by
	}
	return m.judge.verdictsOn(slice, by, request.Tolerations).serves
}
