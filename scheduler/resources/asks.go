package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// The reasons for which no plan can give a pod the devices it asks for; most are followed by a name.
const (
	namedClaim        = "device-claim-by-name"
	templateMissing   = "device-template-missing"
	requestOfAll      = "device-allocation-mode-all"
	alternatives      = "device-first-available"
	adminAccess       = "device-admin-access"
	requestOfCapacity = "device-capacity"
	constraints       = "device-constraints"
	derivedAttributes = "device-derived-attributes"
	unknownKind       = "device-request-unknown"
	requestNotRead    = "device-request-not-read-yet"
	closedDevice      = "device-unavailable"
	alreadyAllocated  = "device-claim-allocated"
)

// ask is what a request wants of each of its devices.
type ask struct {
	// name depends on nothing but the rest. It is that of the class if the request wants nothing else.
	name        string
	class       string
	selectors   []string
	tolerations []resourceapi.DeviceToleration
	// extended is the resource for which a pod asks instead of the class; a node may offer it without devices, too.
	extended v1.ResourceName
	// capacity is what it takes of each device that pods share; nil: as much as the device gives by default.
	capacity *resourceapi.CapacityRequirements
	// taking is the same as text; empty: nothing in particular.
	taking string
	// alternatives are the names of the other asks of the same request; they are not part of what it wants.
	alternatives []string
}

// askOf is what a request for devices of the class wants.
func askOf(request *resourceapi.ExactDeviceRequest) ask {
	made := ask{name: request.DeviceClassName, class: request.DeviceClassName, tolerations: request.Tolerations,
		capacity: request.Capacity}
	for _, one := range request.Selectors {
		made.selectors = append(made.selectors, one.CEL.Expression)
	}
	described := []any{made.selectors, made.tolerations}
	if made.capacity != nil {
		described, made.taking = append(described, made.capacity), textOf(made.capacity)
	}
	if len(made.selectors)+len(made.tolerations) > 0 || made.capacity != nil {
		made.name += "." + digestOf(textOf(described))
	}
	return made
}

// askFor is what a request for an extended resource wants, which the class serves. No class has a name with "_".
func askFor(name v1.ResourceName, class string) ask {
	return ask{name: strings.ReplaceAll(string(name), "/", "_"), class: class, extended: name}
}

// textOf is the value as JSON.
func textOf(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value) // plain values always marshal
	}
	return string(encoded)
}

func digestOf(text string) string { return longDigestOf(text)[:8] }

func longDigestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// claimed is what a claim asks for.
type claimed struct {
	requests []request
	refused  []string
}

// claimedBy reads a claim; with bins, requests for parts of devices and with alternatives, too.
func claimedBy(spec *resourceapi.ResourceClaimSpec, bins bool) (found claimed) {
	refuse := func(reason, of string) { found.refused = append(found.refused, strings.TrimSpace(reason+" "+of)) }
	if len(spec.Devices.Constraints) > 0 {
		refuse(constraints, "")
	}
	total := int64(0)
	for i := range spec.Devices.Requests {
		of := &spec.Devices.Requests[i]
		choices := []*resourceapi.ExactDeviceRequest{of.Exactly}
		if len(of.FirstAvailable) > 0 {
			if !bins {
				refuse(alternatives, of.Name)
				continue
			}
			choices = nil
			for j := range of.FirstAvailable {
				choices = append(choices, minor.Exactly(&of.FirstAvailable[j]))
			}
		}
		made, most, refusals := request{}, int64(0), len(found.refused)
		for _, one := range choices {
			if reason, class := objectionTo(one, bins); reason != "" {
				refuse(reason, class)
				continue
			}
			made, most = append(made, choice{askOf(one), one.Count}), max(most, one.Count)
		}
		if len(found.refused) == refusals {
			found.requests, total = append(found.requests, made.linked()), total+most
		}
	}
	if total > resourceapi.AllocationResultsMaxSize {
		refuse(unknownKind, "")
	}
	return found
}

// objectionTo is why no plan can give a pod what is requested, or "", and what that is about.
func objectionTo(exactly *resourceapi.ExactDeviceRequest, bins bool) (reason, of string) {
	noExpression := func(one resourceapi.DeviceSelector) bool { return one.CEL == nil }
	switch {
	case exactly == nil:
		return unknownKind, ""
	case ptr.Deref(exactly.AdminAccess, false):
		return adminAccess, exactly.DeviceClassName
	case exactly.AllocationMode == resourceapi.DeviceAllocationModeAll:
		return requestOfAll, exactly.DeviceClassName
	case exactly.Capacity != nil && !bins:
		return requestOfCapacity, exactly.DeviceClassName
	case minor.DerivesAttributes(exactly):
		return derivedAttributes, ""
	case exactly.AllocationMode != resourceapi.DeviceAllocationModeExactCount, exactly.Count < 1,
		exactly.Count > resourceapi.AllocationResultsMaxSize, exactly.DeviceClassName == "",
		slices.ContainsFunc(exactly.Selectors, noExpression):
		return unknownKind, ""
	}
	return "", ""
}

// specs are what claims ask for, read once. A spec is part of a claim or a template, which informers replace and never change.
type specs struct {
	mu    sync.Mutex
	known map[*resourceapi.ResourceClaimSpec]claimed
}

func (s *specs) of(spec *resourceapi.ResourceClaimSpec, bins bool) claimed {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, known := s.known[spec]
	if !known {
		if s.known == nil {
			s.known = map[*resourceapi.ResourceClaimSpec]claimed{}
		}
		found = claimedBy(spec, bins)
		s.known[spec] = found
	}
	return found
}

// forget drops all if there are more than so many.
func (s *specs) forget(most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) > most {
		clear(s.known)
	}
}

// PodDevices is what a pod asks for in devices.
type PodDevices struct {
	// Asks are of the form "<ask>×<count>", in order.
	Asks []string
	// Claimed are those of claims; with bins, one for each request, and in the order of the requests.
	Claimed []string
	// Extended: some are of extended resources, which are amounts as long as no device serves them.
	Extended bool
	// Requests are the IDs of the requests for devices that pods share or that overlap, in the order in which the scheduler
	// allocates devices to them.
	Requests []string
	// Refused are the reasons, in order, for which no plan can give the pod what it asks for.
	Refused []string
}

// podDevices is the same, read by a state of the devices.
type podDevices struct {
	PodDevices
	counts map[string]int64
	// requests are those of claims, then those of extended resources, of which the names may be known twice.
	requests []request
	claimed  int
	// node is that of the devices of all its claims; empty as long as one has none.
	node string
}

// closed says that the pod holds a device that no pod like it could get now. What it holds is not what it asks for.
func (p *podDevices) closed() bool { return slices.Contains(p.Refused, closedDevice) }

// devicesOf reads what the pod asks for, and returns the state of the devices by which it has been read: the given one, or
// one in which all is known that the pod asks for.
func (c *Catalogue) devicesOf(pod *v1.Pod, now *state) (*podDevices, *state) {
	found := &podDevices{counts: map[string]int64{}}
	asks, held, whole := c.asksOf(pod, found)
	if now == nil {
		now = c.know(asks)
	}
	for _, one := range asks {
		if known := now.asks[one.name]; !known.covers(one) {
			reason := requestNotRead // it came after the state
			if len(now.asks) == maxAsks {
				reason = devicesOverlap
			}
			found.Refused = append(found.Refused, reason+" "+one.class)
		} else if one.extended != "" && !known.matched {
			delete(found.counts, one.name) // a plain amount
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found.counts)) {
		if ask := now.asks[name]; ask != nil && ask.extended != "" && found.counts[name] > resourceapi.AllocationResultsMaxSize {
			found.Refused = append(found.Refused, unknownKind)
		}
		asked := fmt.Sprintf("%s×%d", name, found.counts[name])
		found.Asks = append(found.Asks, asked)
		if ask := now.asks[name]; ask == nil || ask.extended == "" {
			found.Claimed = append(found.Claimed, asked)
		} else {
			found.Extended = true
		}
	}
	if c.bins() {
		found.readBins(pod, now)
	}
	if whole && len(held) > 0 {
		found.node = nodeOf(held[0])
	}
	if reason := now.objection(pod, held, found.counts); reason != "" {
		found.Refused = append(found.Refused, reason)
	}
	slices.Sort(found.Refused)
	found.Refused = slices.Compact(found.Refused)
	return found, now
}

// asksOf counts what the pod asks for. It returns the asks, the pod's own claims that have devices, and whether these are all.
func (c *Catalogue) asksOf(pod *v1.Pod, into *podDevices) (asks []ask, held []*resourceapi.ResourceClaim, whole bool) {
	count := func(one ask, devices int64) {
		if _, known := into.counts[one.name]; !known || len(one.alternatives) > 0 {
			asks = append(asks, one)
		}
		into.counts[one.name] = add(into.counts[one.name], devices)
	}
	whole = true
	for i := range pod.Spec.ResourceClaims {
		spec, claim, reason := c.specOf(pod, &pod.Spec.ResourceClaims[i])
		switch {
		case reason != "":
			into.Refused = append(into.Refused, reason)
			continue
		case spec == nil:
			continue
		case claim != nil && claim.Status.Allocation != nil:
			held = append(held, claim)
		default:
			whole = false
		}
		of := c.specs.of(spec, c.bins())
		into.Refused, into.requests = append(into.Refused, of.refused...), append(into.requests, of.requests...)
		for _, one := range of.requests {
			for _, choice := range one {
				count(choice.ask, choice.count)
			}
		}
	}
	into.claimed = len(into.requests)
	if extended := c.extendedOf(pod); len(extended) > 0 {
		list := ListOf(pod)
		for name, class := range extended {
			if quantity := list[name]; quantity.Sign() > 0 {
				count(askFor(name, class), quantity.Value())
			}
		}
		if c.bins() {
			into.requests = append(into.requests, extendedRequests(pod, extended)...)
		}
		isSpecial := func(claim *resourceapi.ResourceClaim) bool {
			return claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] == "true" && claim.Status.Allocation != nil
		}
		special := slices.DeleteFunc(c.claimsOf(pod), func(one *resourceapi.ResourceClaim) bool { return !isSpecial(one) })
		held, whole = append(held, special...), whole && len(special) > 0
	}
	return asks, held, whole
}

// specOf is what one of the pod's claims asks for, the claim itself if it is the pod's own, or why no plan can give it.
func (c *Catalogue) specOf(pod *v1.Pod, of *v1.PodResourceClaim) (*resourceapi.ResourceClaimSpec, *resourceapi.ResourceClaim, string) {
	switch {
	case of.ResourceClaimName != nil:
		return nil, nil, namedClaim + " " + *of.ResourceClaimName
	case of.ResourceClaimTemplateName == nil:
		return nil, nil, unknownKind
	}
	name, _, err := resourceclaim.Name(pod, of)
	if err == nil && name == nil {
		return nil, nil, "" // it needs none
	}
	if err == nil {
		if claim := c.claim(pod.Namespace, *name); claim != nil && metav1.IsControlledBy(claim, pod) {
			return &claim.Spec, claim, ""
		}
	}
	template := c.templateOf(pod.Namespace, *of.ResourceClaimTemplateName)
	if template == nil {
		return nil, nil, templateMissing + " " + *of.ResourceClaimTemplateName
	}
	return &template.Spec.Spec, nil, ""
}

// extendedOf are the extended resources that the pod asks for and classes serve, with these classes.
func (c *Catalogue) extendedOf(pod *v1.Pod) (found map[v1.ResourceName]string) {
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if !schedulerutil.IsDRAExtendedResourceName(name) {
					continue
				}
				if class := c.manager().DeviceClassResolver().GetDeviceClass(name); class != nil {
					if found == nil {
						found = map[v1.ResourceName]string{}
					}
					found[name] = class.Name
				}
			}
		}
	}
	return found
}

// nodeOf is the node on which the claim's devices are, or "" if they are not of one.
func nodeOf(claim *resourceapi.ResourceClaim) string {
	if claim.Status.Allocation == nil || claim.Status.Allocation.NodeSelector == nil {
		return ""
	}
	for _, term := range claim.Status.Allocation.NodeSelector.NodeSelectorTerms {
		for _, field := range term.MatchFields {
			if field.Key == metav1.ObjectNameField && field.Operator == v1.NodeSelectorOpIn && len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

// objection is why the pod with these claims cannot be given others like them, or "".
func (s *state) objection(pod *v1.Pod, held []*resourceapi.ResourceClaim, counts map[string]int64) string {
	if len(held) == 0 {
		return ""
	}
	if pod.Spec.NodeName == "" {
		return alreadyAllocated // it is bound to their node
	}
	var asked asksMask
	for name := range counts {
		if known := s.asks[name]; known != nil {
			asked = asked.with(maskOf(known.bit))
		}
	}
	for _, claim := range held {
		for i := range claim.Status.Allocation.Devices.Results {
			mask, counted := s.devices[deviceOf(&claim.Status.Allocation.Devices.Results[i])]
			if !counted || !mask.meets(asked) {
				return closedDevice
			}
		}
	}
	return ""
}
