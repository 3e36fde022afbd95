package priorityoptimizer

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

const gpuDriver = "gpu.example.com"

// gpuPod asks for a device by a claim that was made from the template. The claim is the pod's own.
func gpuPod(name string, priority int32) (*v1.Pod, *resourceapi.ResourceClaim) {
	pod := testPod(name, 1, priority)
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: ptr.To(name + "-gpu")}}
	return pod, &resourceapi.ResourceClaim{Spec: gpuTemplate().Spec.Spec, ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: name + "-gpu", UID: pod.UID + "-gpu", ResourceVersion: "1",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}}}
}

func gpuTemplate() *resourceapi.ResourceClaimTemplate {
	made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu"}}
	made.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}
	return made
}

// evictLowForHigh takes the node of the one pod for the other.
func evictLowForHigh(snapshot *contract.Snapshot) *contract.Plan {
	plan := &contract.Plan{Optimal: true}
	named := func(name string) *contract.Pod {
		if at := slices.IndexFunc(snapshot.Pods, func(pod *contract.Pod) bool { return pod.Name == name }); at >= 0 {
			return snapshot.Pods[at]
		}
		return nil
	}
	if low, high := named("low"), named("high"); low != nil && high != nil && high.Node == "" {
		plan.Evictions = []*contract.Eviction{{PodUid: low.Uid, Node: low.Node}}
		plan.Placements = []*contract.Placement{{PodUid: high.Uid, Node: low.Node}}
	}
	return plan
}

// The controller manager deallocates a claim some time after its pod has gone: the device is neither free then nor that of a
// pod that leaves. A plan that was given up for it would have disrupted its pods for nothing.
func TestAPlanWaitsForTheClaimsOfPodsThatAreGone(t *testing.T) {
	low, lowsClaim := gpuPod("low", 0)
	high, highsClaim := gpuPod("high", 10)
	device := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourceapi.ResourceSliceSpec{Driver: gpuDriver,
		Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}, NodeName: ptr.To("n1"),
		Devices: []resourceapi.Device{{Name: "g0"}}}}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}}}}}
	c := startCluster(t, answers(evictLowForHigh), func(c *cluster) {
		c.devices, c.withoutControllers = resources.NewCatalogue(), true
	}, testNode("n1", 4), class, device, gpuTemplate(), lowsClaim, highsClaim)
	c.addInTurn(low)
	c.add(high)
	c.eventually("the pod is gone", func() bool { return len(c.evictions()) == 1 })

	c.advanceClock(3 * time.Second)
	before := c.phases()
	testobjects.Must(t, c.client.ResourceV1().ResourceClaims(lowsClaim.Namespace).Delete(t.Context(), lowsClaim.Name, metav1.DeleteOptions{}))

	c.reaches(packingplan.Completed)
	if before[packingplan.Executing] != 1 || c.nodeOf("high") != "n1" {
		t.Errorf("before the claim was gone, the plans were %v; in the end the pod is on %q", before, c.nodeOf("high"))
	}
}

// Who reads a plan, or approves it once the release is set otherwise, must know what it maximizes.
func TestAPlanSaysThatItsReleaseMaximizesDevices(t *testing.T) {
	c := figureOne(t, nil, func(c *cluster) { c.args.Maximize = packingplan.Devices })

	c.reaches(packingplan.Completed)

	if plans := c.plansOf(); len(plans) != 1 || plans[0].Spec.Maximize != packingplan.Devices {
		t.Errorf("the plans are %+v", plans)
	}
}
