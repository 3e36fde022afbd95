package devices

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// oneClaim is a tracker that knows one claim.
type oneClaim struct {
	fwk.ResourceClaimTracker
	claim *resourceapi.ResourceClaim
}

func (o oneClaim) Get(string, string) (*resourceapi.ResourceClaim, error) { return o.claim, nil }

// TestAPodCountsWithWhatItsClaimsAskForAfterTheyHaveIt: a pod is mostly counted in the cycle after its own, when its claims have
// their devices. Counted as one that asks for none, no pod would be known to need devices.
func TestAPodCountsWithWhatItsClaimsAskForAfterTheyHaveIt(t *testing.T) {
	pod := testobjects.Pod("p", "1", "1Gi").Obj()
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("gpu")}}
	claim := &resourceapi.ResourceClaim{Status: resourceapi.ResourceClaimStatus{Allocation: &resourceapi.AllocationResult{}}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 4}}}
	known := newClasses(1)
	if asks := known.of(pod, oneClaim{claim: claim}, false).asks; len(asks) != 1 || asks[0].count != 4 {
		t.Errorf("it counts as a pod that asks for %v", asks)
	}
	if asks := known.of(pod, oneClaim{claim: claim}, true).asks; len(asks) != 0 {
		t.Errorf("to be placed, it still needs %v", asks)
	}
}
