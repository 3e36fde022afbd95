package snapshot_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// shared are GPUs of n1 that pods share, each with 100 of "memory".
func shared(models ...string) *resourceapi.ResourceSlice {
	slice := gpusOf(models...)
	for i := range slice.Spec.Devices {
		slice.Spec.Devices[i].AllowMultipleAllocations = ptr.To(true)
		slice.Spec.Devices[i].Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("100")}}
	}
	return slice
}

// shareOf is a template of claims of such amounts of memory, each of a device of any model.
func shareOf(name string, amounts ...string) *resourceapi.ResourceClaimTemplate {
	made := aTemplate("any")
	made.Name = name
	made.Spec.Spec.Devices.Requests = nil
	for _, amount := range amounts {
		made.Spec.Spec.Devices.Requests = append(made.Spec.Spec.Devices.Requests, resourceapi.DeviceRequest{Name: "of-" + amount,
			Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
				Capacity: &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}}}})
	}
	return made
}

// withShare gives the claim so much of the device's memory.
func withShare(claim *resourceapi.ResourceClaim, of *resourceapi.ResourceClaimTemplate, amount string) *resourceapi.ResourceClaim {
	claim.Spec = of.Spec.Spec
	result := &claim.Status.Allocation.Devices.Results[0]
	result.ShareID = ptr.To(types.UID("share-of-" + claim.Name))
	result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(amount)}
	return claim
}

// The optimiser knows no devices but those of the message.
func TestDevicesThatPodsShareAreToldAndWhoHoldsThem(t *testing.T) {
	template, runs, waits := shareOf("third", "33"), aPod("runs", "n1", claiming("third")), aPod("waits", "", claiming("third"))
	objects := []runtime.Object{ofModel("any", ""), shared("a", "b"), template, withShare(claimOf(runs, "third", "b"), template, "33")}
	s := snapshot.Build(withBook(t, []*v1.Pod{runs, waits}, objects...))

	m := s.Message
	if len(m.DeviceLayouts) != 1 || m.Nodes[0].DeviceLayout != m.DeviceLayouts[0].Id || len(m.DeviceLayouts[0].Devices) != 2 {
		t.Fatalf("the layouts are %v, and n1 has %q", m.DeviceLayouts, m.Nodes[0].DeviceLayout)
	}
	if len(m.DeviceHoldings) != 1 || !proto.Equal(m.DeviceHoldings[0], &contract.DeviceHolding{Node: "n1", Device: 1,
		PodUid: string(runs.UID), Amounts: map[string]int64{"memory": 33}}) {
		t.Errorf("held are %v", m.DeviceHoldings)
	}
	if len(m.DeviceRequests) != 1 || len(m.PodClasses) != 1 || !slices.Equal(m.PodClasses[0].DeviceRequests, []string{m.DeviceRequests[0].Id}) ||
		m.DeviceRequests[0].FirstAvailable[0].Takes[0].Amounts["memory"] != 33 || len(m.PodClasses[0].Unsupported) > 0 {
		t.Errorf("the requests are %v, of the classes %v", m.DeviceRequests, m.PodClasses)
	}

	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAConsumableCapacity, false)
	off := snapshot.Build(withBook(t, []*v1.Pod{runs, waits}, objects...)).Message
	if len(off.DeviceLayouts)+len(off.DeviceRequests)+len(off.DeviceHoldings) > 0 || off.Nodes[0].DeviceLayout != "" ||
		len(off.PodClasses[0].DeviceRequests) > 0 || !slices.Contains(off.PodClasses[0].Unsupported, "device-capacity any") {
		t.Errorf("where the scheduler knows no shares, the message is %v", off)
	}
}

// The optimiser places what counts most, so it must be told what each pod counts; and a proof of the one is none of the other.
func TestPodsCountByTheirDevicesWhereDevicesAreCounted(t *testing.T) {
	third, plain := aPod("third", "", claiming("third")), aPod("plain", "")
	input := withBook(t, []*v1.Pod{third, plain}, ofModel("any", ""), shared("a", "b"), shareOf("third", "33", "100"))
	pods := snapshot.Build(input)
	input.Rules.CountsDevices = true
	devices := snapshot.Build(input)

	for _, one := range pods.Message.PodClasses {
		if one.Worth != 0 {
			t.Errorf("where pods are counted, class %s counts %d", one.Id, one.Worth)
		}
	}
	if got := [2]int64{devices.Pods[third.UID].Worth, devices.Pods[plain.UID].Worth}; got != [2]int64{133, 1} {
		t.Errorf("the pods count %v", got)
	}
	if pods.Fingerprint() == devices.Fingerprint() {
		t.Error("two questions have one fingerprint")
	}
}

// Devices are allocated to one request after the other, and whoever replaces a pod asks in the same order.
func TestTheOrderOfRequestsForDevicesMakesAClass(t *testing.T) {
	one, other, same := aPod("one", "", claiming("up")), aPod("other", "", claiming("down")), aPod("same", "n1", claiming("up"))
	up, down := shareOf("up", "10", "20"), shareOf("down", "20", "10")
	s := snapshot.Build(withBook(t, []*v1.Pod{one, other, same}, ofModel("any", ""), shared("a"), up, down,
		testobjects.With(claimOf(same, "any", ""), func(claim *resourceapi.ResourceClaim) { claim.Spec = up.Spec.Spec })))

	if a, b, c := s.Pods[one.UID].Class, s.Pods[other.UID].Class, s.Pods[same.UID].Class; a == b || a != c {
		t.Errorf("the classes are %s, %s and %s", a, b, c)
	}
}

// What a plan cannot foretell, it leaves alone, and says so.
func TestANodeWithDevicesThatCannotBeToldHasNone(t *testing.T) {
	template, binds := shareOf("third", "33"), aPod("binds", "n1", claiming("third"))
	claim := claimOf(binds, "third", "")
	claim.Spec = template.Spec.Spec // the scheduler is choosing the device
	input := withBook(t, []*v1.Pod{binds}, ofModel("any", ""), shared("a"), template, claim)
	s := snapshot.Build(input)

	if s.Message.Nodes[0].DeviceLayout != "" || len(s.Message.DeviceLayouts)+len(s.Message.DeviceHoldings) > 0 {
		t.Errorf("told is %v", s.Message)
	}
	if len(s.Omissions()) == 0 {
		t.Error("a proof about it is one about the cluster")
	}
	input.Pods = nil
	if again := snapshot.Build(input); again.Message.Nodes[0].DeviceLayout == "" {
		t.Error("without the pod, n1 has no layout either")
	}
}

// Which device a pod has decides what another can get.
func TestTheFingerprintTellsWhichDevicesPodsHold(t *testing.T) {
	template, prints := shareOf("third", "33"), map[string]string{}
	for _, name := range []string{"runs", "again"} {
		for _, device := range []string{"a", "b"} {
			runs := aPod(name, "n1", claiming("third"))
			s := snapshot.Build(withBook(t, []*v1.Pod{runs}, ofModel("any", ""), shared("a", "b"), template,
				withShare(claimOf(runs, "third", device), template, "33")))
			if before := prints[device]; before != "" && before != s.Fingerprint() {
				t.Errorf("on %s, the fingerprint depends on the name of the pod", device)
			}
			prints[device] = s.Fingerprint()
		}
	}
	if prints["a"] == prints["b"] {
		t.Error("the fingerprint does not tell the devices apart")
	}
}
