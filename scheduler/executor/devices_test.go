package executor_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// The claim of a pod keeps its devices when the binding fails. If the plan took it for another pod from then on, and its
// devices for taken, the pod would wait on the only node that it can have until the plan times out.
func TestAPodKeepsItsPlaceWhenItsBindingFailsAfterItsClaimGotDevices(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	node, name, template := testobjects.Node("n1", "4", "4Gi").Obj(), "waits-gpu", "gpu"
	waits := testobjects.Pod("rs", "1", "").Namespace("ns").Name("waits").UID("waits").Obj()
	waits.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	waits.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &name}}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(waits, v1.SchemeGroupVersion.WithKind("Pod"))}}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: resourceapi.ResourceSliceSpec{Driver: "d",
		NodeName: &node.Name, Pool: resourceapi.ResourcePool{Name: "n1", ResourceSliceCount: 1}, Devices: []resourceapi.Device{{Name: "0"}}}}
	client := fake.NewClientset(node, waits, claim, slice, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	informers := minor.NewInformerFactory(client, 0)
	built := testobjects.Value(kubescheduler.New(ctx, client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }))(t)
	profile, catalogue := built.Profiles[v1.DefaultSchedulerName], resources.NewCatalogue()
	testobjects.Must(t, catalogue.Connect(profile))
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	testobjects.Must(t, built.WaitForHandlersSync(ctx))
	book, info := resources.NewBook(profile, catalogue), testobjects.NodeInfos(node)[0]

	s := snapshot.Build(snapshot.Input{ID: "s", Nodes: []*v1.Node{node}, Pods: []*v1.Pod{waits}, Book: book, Cache: &snapshot.Cache{},
		Rules: snapshot.Rules{SchedulerName: waits.Spec.SchedulerName}})
	e := executor.New(&plan.Plan{Classes: s.Classes, Placements: []plan.Step{{Pod: s.Pods[waits.UID], To: "n1"}}}, s.Free(), 0)
	e.Note(waits)
	allocated := claim.DeepCopy()
	allocated.Status.Allocation = &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
			{Request: "r", Driver: "d", Pool: "n1", Device: "0"}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}}}}}}
	testobjects.Value(client.ResourceV1().ResourceClaims("ns").Update(ctx, allocated, metav1.UpdateOptions{}))(t)
	testobjects.Eventually(t, "the claim has a device", func() bool {
		of, _ := book.Allocated(waits)
		return of == "n1"
	})
	e.Note(waits)

	free := map[string]resources.Vector{"n1": book.Free(info)}
	if need := book.Needs(waits); need.FitsIn(free["n1"]) || !need.FitsIn(book.FreeFor(waits, info)) {
		t.Errorf("%+v is free, and %+v for the pod", free["n1"], book.FreeFor(waits, info))
	}
	if own := e.OwnDevices()["n1"]; !e.Outstanding()["n1"].FitsIn(free["n1"].Plus(own)) {
		t.Errorf("the plan lacks room for it beside the devices that it has, %+v", own)
	}
	if ready := e.Activatable(free, none); ready["waits"] == nil {
		t.Errorf("ready are %v", ready)
	}
	if nodes, planned := e.Nodes(waits, nil); !planned || !slices.Equal(nodes, []string{"n1"}) || !e.Reserve(waits, "n1", true) {
		t.Errorf("the pod is sent to %v, planned: %t", nodes, planned)
	}
}
