package resources

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

const (
	driver = "gpu.example.com"
	// gpu is an extended resource that the class "gpu" serves.
	gpu = v1.ResourceName("example.com/gpu")
)

// cluster is a scheduler's view of some objects, and a book of it.
type cluster struct {
	client    *fake.Clientset
	framework framework.Framework
	book      *Book
}

func newCluster(t testing.TB, objects ...runtime.Object) *cluster {
	t.Helper()
	return newClusterOf(t, fake.NewClientset(objects...), NewCatalogue())
}

// newClusterWithoutBins is one whose allocator does not know shares.
func newClusterWithoutBins(t testing.TB, objects ...runtime.Object) *cluster {
	t.Helper()
	catalogue := NewCatalogue()
	catalogue.judge.countsBins = false
	return newClusterOf(t, fake.NewClientset(objects...), catalogue)
}

func newClusterOf(t testing.TB, client *fake.Clientset, catalogue *Catalogue) *cluster {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	informers := minor.NewInformerFactory(client, 0)
	built, err := kubescheduler.New(ctx, client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} })
	if err != nil {
		t.Fatal(err)
	}
	profile := built.Profiles[v1.DefaultSchedulerName]
	if err := catalogue.Connect(profile); err != nil {
		t.Fatal(err)
	}
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	if err := built.WaitForHandlersSync(ctx); err != nil {
		t.Fatal(err)
	}
	made := &cluster{client: client, framework: profile, book: NewBook(profile, catalogue)}
	made.book.Refresh()
	return made
}

// free are the devices that the pods leave on the node, by ask.
func (c *cluster) free(node *v1.Node, ask string, pods ...*v1.Pod) int64 {
	return c.book.Free(infoOf(node, pods...)).Of(dimensionOf(ask))
}

func infoOf(node *v1.Node, pods ...*v1.Pod) fwk.NodeInfo {
	info := framework.NewNodeInfo(pods...)
	info.SetNode(node)
	return info
}

func dimensionOf(ask string) v1.ResourceName { return v1.ResourceName(DevicePrefix + ask) }

func aNode(name string, listed ...string) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}}}
	node.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("110"), v1.ResourceCPU: resource.MustParse("8")}
	for _, amount := range listed {
		node.Status.Allocatable[gpu] = resource.MustParse(amount)
	}
	return node
}

// aClass selects the driver's devices, of one model or of all.
func aClass(name, model string) *resourceapi.DeviceClass {
	text := fmt.Sprintf("device.driver == %q", driver)
	if model != "" {
		text += fmt.Sprintf(" && device.attributes[%q].model == %q", driver, model)
	}
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Selectors = selecting(text)
	return class
}

func selecting(texts ...string) (found []resourceapi.DeviceSelector) {
	for _, text := range texts {
		found = append(found, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: text}})
	}
	return found
}

// served is the class with the extended resource.
func served(class *resourceapi.DeviceClass) *resourceapi.DeviceClass {
	class.Spec.ExtendedResourceName = ptr.To(string(gpu))
	return class
}

// aSlice has a device of each model on the node: "<node>-0" and so on, in the node's own pool.
func aSlice(node string, models ...string) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-gpus"}, Spec: resourceapi.ResourceSliceSpec{
		Driver: driver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1}}}
	for i, model := range models {
		slice.Spec.Devices = append(slice.Spec.Devices, aDevice(fmt.Sprint(node, "-", i), model))
	}
	return slice
}

func aDevice(name, model string) resourceapi.Device {
	return resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
		"model": {StringValue: &model}, "uuid": {StringValue: &name}}}
}

func exactly(class string, count int64, selectors ...string) resourceapi.DeviceRequest {
	return resourceapi.DeviceRequest{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: class, Count: count,
		AllocationMode: resourceapi.DeviceAllocationModeExactCount, Selectors: selecting(selectors...)}}
}

func aTemplate(name string, requests ...resourceapi.DeviceRequest) *resourceapi.ResourceClaimTemplate {
	made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}}
	made.Spec.Spec.Devices.Requests = requests
	return made
}

// aPod asks for a claim from each template. It has no claims yet.
func aPod(name, node string, templates ...string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID("uid-" + name)}}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []v1.Container{{Name: "main"}}
	for _, template := range templates {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
	}
	return pod
}

// extended asks for so much of the extended resource.
func extended(pod *v1.Pod, amount string) *v1.Pod {
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{gpu: resource.MustParse(amount)}
	return pod
}

// claimOf is what the controller manager makes of the pod's template, and the scheduler allocates if there are devices.
func claimOf(pod *v1.Pod, template *resourceapi.ResourceClaimTemplate, node string, devices ...string) *resourceapi.ResourceClaim {
	name := pod.Name + "-" + template.Name
	pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses,
		v1.PodResourceClaimStatus{Name: template.Name, ResourceClaimName: &name})
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: name, UID: types.UID("uid-" + name),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}}}
	claim.Spec = *template.Spec.Spec.DeepCopy()
	if len(devices) > 0 {
		claim.Status.Allocation = allocationOf(node, devices...)
	}
	return claim
}

// allocationOf is what the allocator gives on one node.
func allocationOf(node string, devices ...string) *resourceapi.AllocationResult {
	made := &resourceapi.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchFields: []v1.NodeSelectorRequirement{{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	for _, device := range devices {
		made.Devices.Results = append(made.Devices.Results,
			resourceapi.DeviceRequestAllocationResult{Request: "r", Driver: driver, Pool: node, Device: device})
	}
	return made
}
