package resources

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// cachedExpressions is how many compiled selectors are kept.
const cachedExpressions = maxAsks

// judge says which devices serve which asks, as the scheduler's allocator does.
type judge struct {
	expressions *cel.Cache
	taints      bool
	// countsBins: the allocator knows shares, partitions and alternatives.
	countsBins bool
	features   structured.Features
}

// newJudge returns one under the process's feature gates. There is one compiler a process: with other features than the
// scheduler's plugin gives, both would make it anew in turn.
func newJudge() judge {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	features := dynamicresources.AllocatorFeatures(gates)
	return judge{taints: gates.EnableDRADeviceTaints, features: features,
		countsBins: features.ConsumableCapacity && features.PartitionableDevices && features.PrioritizedList, expressions: cel.NewCache(cachedExpressions, cel.Features{
			EnableConsumableCapacity: gates.EnableDRAConsumableCapacity,
			EnableListTypeAttributes: gates.EnableDRAListTypeAttributes,
		})}
}

// verdicts are which devices of a slice serve an ask. The scheduler gives up on a pod if it cannot evaluate a selector.
type verdicts struct {
	serves []bool
	failed bool
}

// selectors are those that a device must match for an ask. What they say of one device they say of all that are alike in
// what they read.
type selectors struct {
	expressions []string
	// reads are the attributes and capacities that they read.
	reads []reading
	// all: they may read anything.
	all   bool
	known map[string]bool
}

// reading is an attribute or a capacity by its full name.
type reading struct {
	capacity     bool
	domain, name string
}

var (
	readings = regexp.MustCompile(`\bdevice\.(attributes|capacity)\["([^"\\]+)"\]\.([A-Za-z_][A-Za-z0-9_]*)(\s*\()?`)
	others   = regexp.MustCompile(`\bdevice\.(driver|allowMultipleAllocations)\b`)
)

func newSelectors(expressions []string) *selectors {
	made := &selectors{expressions: expressions, known: map[string]bool{}}
	for _, text := range expressions {
		for _, found := range readings.FindAllStringSubmatch(text, -1) {
			made.reads = append(made.reads, reading{found[1] == "capacity", found[2], found[3]})
			made.all = made.all || found[4] != "" // a macro over all of them
		}
		rest := others.ReplaceAllString(readings.ReplaceAllString(text, " "), " ")
		made.all = made.all || strings.Contains(rest, "device")
	}
	return made
}

// match evaluates the selectors only for a device that differs in what they read from all before.
func (s *selectors) match(by *cel.Cache, driver string, device *resourceapi.Device) (matches, failed bool) {
	face := ""
	if !s.all {
		face = s.faceOf(driver, device)
		if matches, known := s.known[face]; known {
			return matches, false
		}
	}
	subject := cel.Device{Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: device.Attributes, Capacity: device.Capacity}
	for _, text := range s.expressions {
		compiled := by.GetOrCompile(text)
		if compiled.Error != nil {
			return false, true
		}
		matches, _, err := compiled.DeviceMatches(context.Background(), subject)
		if err != nil {
			return false, true
		}
		if !matches {
			s.remember(face, false)
			return false, false
		}
	}
	s.remember(face, true)
	return true, false
}

func (s *selectors) remember(face string, matches bool) {
	if !s.all {
		s.known[face] = matches
	}
}

// faceOf is all that the selectors read of the device.
func (s *selectors) faceOf(driver string, device *resourceapi.Device) string {
	seen := []any{driver, device.AllowMultipleAllocations}
	for _, of := range s.reads {
		full, short := resourceapi.QualifiedName(of.domain+"/"+of.name), resourceapi.QualifiedName(of.name)
		if of.capacity {
			seen = append(seen, either(device.Capacity, full, short, of.domain == driver))
		} else {
			seen = append(seen, either(device.Attributes, full, short, of.domain == driver))
		}
	}
	encoded, err := json.Marshal(seen)
	if err != nil {
		return device.Name // plain values always marshal
	}
	return string(encoded)
}

// either are the values under both names: without a domain, a name is of the driver's.
func either[V any](values map[resourceapi.QualifiedName]V, full, short resourceapi.QualifiedName, own bool) (found []V) {
	if value, some := values[full]; some {
		found = append(found, value)
	}
	if value, some := values[short]; own && some {
		found = append(found, value)
	}
	return found
}

// verdictsOn evaluates the selectors for all devices of the slice.
func (j judge) verdictsOn(slice *resourceapi.ResourceSlice, by *selectors, tolerations []resourceapi.DeviceToleration) verdicts {
	made := verdicts{serves: make([]bool, len(slice.Spec.Devices))}
	for i := range slice.Spec.Devices {
		device := &slice.Spec.Devices[i]
		matches, failed := by.match(j.expressions, slice.Spec.Driver, device)
		made.failed = made.failed || failed
		made.serves[i] = matches && (!j.taints || !isKeptOff(device, tolerations))
	}
	return made
}

// isKeptOff says that a taint keeps off those with these tolerations.
func isKeptOff(device *resourceapi.Device, tolerations []resourceapi.DeviceToleration) bool {
	return slices.ContainsFunc(device.Taints, func(taint resourceapi.DeviceTaint) bool {
		keeps := taint.Effect == resourceapi.DeviceTaintEffectNoSchedule || taint.Effect == resourceapi.DeviceTaintEffectNoExecute
		return keeps && !slices.ContainsFunc(tolerations, func(one resourceapi.DeviceToleration) bool {
			return resourceclaim.ToleratesTaint(one, taint)
		})
	})
}
