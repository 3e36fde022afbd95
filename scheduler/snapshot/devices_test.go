package snapshot_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const (
	driver      = "gpu.example.com"
	gpuResource = v1.ResourceName("example.com/gpu")
)

// withBook is the state of n1 with these objects, which a book has read.
func withBook(t *testing.T, pods []*v1.Pod, objects ...runtime.Object) snapshot.Input {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	client := fake.NewClientset(append(objects, n1()[0])...)
	informers := minor.NewInformerFactory(client, 0)
	built := testobjects.Value(kubescheduler.New(ctx, client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }))(t)
	catalogue, profile := resources.NewCatalogue(), built.Profiles[ourScheduler]
	if err := catalogue.Connect(profile); err != nil {
		t.Fatal(err)
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := built.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	return snapshot.Input{ID: "s", Nodes: n1(), Pods: pods, Rules: rules(), Book: resources.NewBook(profile, catalogue),
		Cache: &snapshot.Cache{}}
}

// ofModel is a class of the driver's devices of one model, or of all.
func ofModel(name, model string) *resourceapi.DeviceClass {
	text := fmt.Sprintf("device.driver == %q", driver)
	if model != "" {
		text += fmt.Sprintf(" && device.attributes[%q].model == %q", driver, model)
	}
	return &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
		Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}}}
}

// serving is the class of all devices, which also serves the extended resource.
func serving() *resourceapi.DeviceClass {
	return testobjects.With(ofModel("any", ""), func(class *resourceapi.DeviceClass) {
		class.Spec.ExtendedResourceName = ptr.To(string(gpuResource))
	})
}

// gpusOf are devices of n1 of these models, named by them.
func gpusOf(models ...string) *resourceapi.ResourceSlice {
	node := "n1"
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourceapi.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1}}}
	for _, model := range models {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: model,
			Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: &model}}})
	}
	return slice
}

// aTemplate is of claims of one device of the class, and has its name.
func aTemplate(class string) *resourceapi.ResourceClaimTemplate {
	made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: class}}
	made.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}
	return made
}

// claiming asks for a device by the template of the class.
func claiming(class string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &class}}
	}
}

// claimOf is the pod's own claim, by the template of the class; with a device of its node, if any.
func claimOf(pod *v1.Pod, class, device string) *resourceapi.ResourceClaim {
	name := pod.Name + "-gpu"
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &name}}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}},
		Spec: aTemplate(class).Spec.Spec}
	if device != "" {
		claim.Status.Allocation = allocated(pod.Spec.NodeName, device)
	}
	return claim
}

func allocated(node, device string) *resourceapi.AllocationResult {
	return &resourceapi.AllocationResult{
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
			{Request: "r", Driver: driver, Pool: node, Device: device}}},
		NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}}
}

func dimensionOf(ask string) v1.ResourceName { return v1.ResourceName(resources.DevicePrefix + ask) }

// A plan and its pods are told by their classes, and its nodes by their states: what others begin to ask for is no change.
func TestWhatOthersAskForChangesNeitherClassesNorNodes(t *testing.T) {
	waits, comes := aPod("waits", "", claiming("any")), aPod("comes", "", claiming("a"))
	input := withBook(t, []*v1.Pod{waits}, ofModel("any", ""), ofModel("a", "a"), gpusOf("a", "b"), aTemplate("any"), aTemplate("a"))

	before := snapshot.Build(input)
	input.Pods = append(input.Pods, comes)
	input.Book.Needs(comes) // from now on it is known what it asks for
	after := snapshot.Build(input)

	if was, is := before.Pods[waits.UID], after.Pods[waits.UID]; was.Class != is.Class || was.Unsupported || is.Unsupported {
		t.Errorf("the class was %s and is %s", was.Class, is.Class)
	}
	if was, is := before.Nodes["n1"], after.Nodes["n1"]; was.State != is.State || was.Allocatable.Equal(is.Allocatable) {
		t.Errorf("the node was %+v and is %+v", was, is)
	}
	if later := after.Classes.ID(waits); later != before.Pods[waits.UID].Class {
		t.Errorf("by itself the pod is of class %s", later)
	}
}

// A replacement is known for one when it comes, before the controller has made its claim.
func TestAReplacementIsOfTheClassOfItsPodBeforeItHasAClaim(t *testing.T) {
	runs := aPod("runs", "n1", claiming("a"))
	s := snapshot.Build(withBook(t, []*v1.Pod{runs}, ofModel("a", "a"), gpusOf("a"), aTemplate("a"), claimOf(runs, "a", "a")))

	if pod := s.Pods[runs.UID]; s.Classes.ID(aPod("replaces", "", claiming("a"))) != pod.Class || pod.Immovable != "" {
		t.Errorf("the pod is %s, of class %s", describe(pod), pod.Class)
	}
}

// Whether a node lists a resource or devices serve it may change while a plan is carried out.
func TestTheClassOfAnExtendedResourceDoesNotDependOnWhatServesIt(t *testing.T) {
	waits := aPod("waits", "", asking(gpuResource, "1"))
	plain := snapshot.Build(snapshot.Input{ID: "s", Nodes: n1(), Pods: []*v1.Pod{waits}, Rules: rules()}).Pods[waits.UID]
	served := snapshot.Build(withBook(t, []*v1.Pod{waits}, serving(), gpusOf("a")))
	pod, asked := served.Pods[waits.UID], dimensionOf("example.com_gpu")

	if pod.Class != plain.Class || pod.Unsupported {
		t.Errorf("the class is %s, and %s without devices", pod.Class, plain.Class)
	}
	if pod.Requests.Of(asked) != 1 || pod.Requests.Of(gpuResource) != 0 || served.Free()["n1"].Of(asked) != 1 {
		t.Errorf("it asks for %+v, and %+v is free", pod.Requests, served.Free())
	}
}

// Amounts are by what pods ask for. Who would be content with any device may hold the one that others need, and claims that
// belong to no pod hold theirs for longer. No plan may give them away.
func TestDevicesThatAreHeldBesideWhatPodsAskForCountAsTaken(t *testing.T) {
	content := aPod("content", "n1", claiming("any"))
	byHand := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine", UID: "mine"}}
	byHand.Status.Allocation = allocated("n1", "b")
	s := snapshot.Build(withBook(t, []*v1.Pod{content, aPod("asks", "", claiming("a"))}, ofModel("any", ""), ofModel("a", "a"),
		gpusOf("a", "b"), aTemplate("any"), aTemplate("a"), claimOf(content, "any", "a"), byHand))

	free := s.Free()["n1"]
	if free.Of(dimensionOf("a")) != 0 || free.Of(dimensionOf("any")) != 0 || s.Nodes["n1"].Allocatable.Of(dimensionOf("any")) != 2 {
		t.Errorf("%+v is free of %+v", free, s.Nodes["n1"].Allocatable)
	}
	if held := s.Message.Reservations; len(held) != 1 || held[0].Node != "n1" || held[0].Held.Extended[string(dimensionOf("a"))] != 1 {
		t.Errorf("held are %v", held)
	}
	want := "1 nodes with devices that count as taken, although other claims or pods could get them"
	if !slices.ContainsFunc(s.Omissions(), func(one snapshot.Omission) bool { return one.String() == want }) {
		t.Errorf("a proof omits %v, want %q", s.Omissions(), want)
	}
}

// Each kind of claim has its own reason; the tests of the book have them all.
func TestAPodIsRefusedForWhatItAsksForAndForTheDevicesThatThereAre(t *testing.T) {
	attached := gpusOf("a")
	attached.Spec.Devices[0].BindingConditions = []string{"attached"}
	byName := func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("mine")}}
	}
	for want, pod := range map[string]*v1.Pod{
		"device-binding-conditions a": aPod("p", "", claiming("a")),
		"device-template-missing new": aPod("p", "", claiming("new")),
		"device-claim-by-name mine":   aPod("p", "", byName),
	} {
		s := snapshot.Build(withBook(t, []*v1.Pod{pod, aPod("plain", "")}, ofModel("a", "a"), attached, aTemplate("a")))
		for _, class := range s.Message.PodClasses {
			refused := class.Id == s.Pods[pod.UID].Class
			if refused != slices.Equal(class.Unsupported, []string{want}) {
				t.Errorf("class %s is refused for %q, want %q: %t", class.Id, class.Unsupported, want, refused)
			}
		}
		if omitted := s.WaitingOmitted(); omitted != 1 {
			t.Errorf("%s: a proof omits %d waiting pods", want, omitted)
		}
	}
}

// A scheduler without devices, or a test, has no book of them.
func TestClaimsAreRefusedWhereNothingIsKnownOfDevices(t *testing.T) {
	s := build(n1(), aPod("p", "", claiming("a")))

	if got := s.Message.PodClasses[0].Unsupported; !slices.Equal(got, []string{"resource-claims"}) {
		t.Errorf("refused for %q", got)
	}
}

// The replacement's claim is made from the template as it is then.
func TestAPodWhoseReplacementWouldGetAnotherClaimStays(t *testing.T) {
	changed := testobjects.With(aTemplate("a"), func(one *resourceapi.ResourceClaimTemplate) {
		one.Spec.Spec.Devices.Requests[0].Exactly.Count = 2
	})
	for want, templates := range map[string][]runtime.Object{
		"":                             {aTemplate("a")},
		snapshot.DeviceTemplateMissing: nil,
		snapshot.DeviceTemplateChanged: {changed},
	} {
		runs := aPod("runs", "n1", claiming("a"))
		input := withBook(t, []*v1.Pod{runs}, append(templates, ofModel("a", "a"), gpusOf("a"), claimOf(runs, "a", "a"))...)

		if got := snapshot.Build(input).Pods[runs.UID].Immovable; got != want {
			t.Errorf("it stays for %q, want %q", got, want)
		}
		if got := snapshot.KeptAway(runs, input.Book, nil, input.Rules); got != want {
			t.Errorf("right before its eviction it stays for %q, want %q", got, want)
		}
	}
}
