package reservation_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

const driver = "gpu.example.com"

// counted is a ledger whose book counts the devices 0 and 1 of n1. Of the classes, "first" is of device 0, the others are of
// both; each has a template of its name.
func counted(t *testing.T, classes ...string) (*reservation.Ledger, *resources.Book) {
	t.Helper()
	logger, ctx := ktesting.NewTestContext(t)
	node := "n1"
	objects := []runtime.Object{
		&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}},
		&resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: node, ResourceSliceCount: 1},
			Devices: []resourceapi.Device{{Name: "0", Attributes: attributed(true)}, {Name: "1", Attributes: attributed(false)}}}},
	}
	for _, name := range classes {
		expression := `device.driver == "` + driver + `"`
		if name == "first" {
			expression = `device.attributes["` + driver + `"].first`
		}
		template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{
			DeviceClassName: name, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}
		objects = append(objects, template, &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{
				{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}}})
	}
	client := fake.NewClientset(objects...)
	informers := minor.NewInformerFactory(client, 0)
	built := testobjects.Value(kubescheduler.New(ctx, client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }))(t)
	profile, catalogue := built.Profiles[v1.DefaultSchedulerName], resources.NewCatalogue()
	testobjects.Must(t, catalogue.Connect(profile))
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	testobjects.Must(t, built.WaitForHandlersSync(ctx))

	ledger, custom := reservation.NewLedger(), testobjects.CustomClient()
	book := resources.NewBook(profile, catalogue)
	book.Refresh()
	_, err := ledger.Watch(logger, reservation.Informers{Reservations: reservation.NewInformer(custom),
		Plans: packingplan.NewInformer(custom), Pods: informers.Core().V1().Pods().Informer(), Book: book}, func() {})
	testobjects.Must(t, err)
	return ledger, book
}

func attributed(first bool) map[resourceapi.QualifiedName]resourceapi.DeviceAttribute {
	return map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"first": {BoolValue: &first}}
}

// claiming is the pod with a claim by the template.
func claiming(template string, pod *v1.Pod) *v1.Pod {
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	return pod
}

// ofDevice has the reservation hold a device by the template, too.
func ofDevice(template string) func(*unstructured.Unstructured) {
	return func(object *unstructured.Unstructured) {
		pod := object.Object["spec"].(map[string]any)["template"].(map[string]any)
		pod["metadata"] = map[string]any{"namespace": "ns"}
		pod["spec"].(map[string]any)["resourceClaims"] = []any{map[string]any{"name": "gpu", "resourceClaimTemplateName": template}}
	}
}

// What somebody begins to ask for gives the same devices further names. A reservation that knew only those of its own time
// would refuse its owner, and hold a second device beside it.
func TestAReservationOfADeviceIsForItsOwnerWhateverOthersBeginToAskFor(t *testing.T) {
	l, book := counted(t, "first", "any", "other")
	record := reserved(t, "r", "n1", "2", "a", ofDevice("first"))
	l.Put(record)
	owner, stranger := claiming("first", podOf("a", "p", "1", 0)), podOf("b", "s", "1", 0)
	devices := func(ask string) int64 {
		held, _ := l.For(stranger, false).Held("n1")
		return held.Of(v1.ResourceName(resources.DevicePrefix + ask))
	}

	book.Needs(claiming("any", podOf("c", "c", "1", 0)))
	if offers := l.For(owner, false).Offers["n1"]; len(offers) != 1 || devices("first") != 1 || devices("any") != 1 {
		t.Errorf("the owner is offered %+v; %d and %d devices are held against others, want 1 each", offers, devices("first"), devices("any"))
	}
	if taken, ok := l.Take(owner, "n1"); !ok || taken.UID != record.UID() {
		t.Errorf("the owner takes from %+v: %t", taken, ok)
	}

	book.Needs(claiming("other", podOf("d", "d", "1", 0)))
	for _, ask := range []string{"first", "any", "other"} {
		if devices(ask) != 0 {
			t.Errorf("%d devices for %q are held beside the owner", devices(ask), ask)
		}
	}
	if room := resources.OfList(v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}).WithPods(1); !l.HasRoom(record, room) {
		t.Error("a reservation whose device is taken lacks one")
	}
	if _, more := l.Take(claiming("first", podOf("a", "q", "1", 0)), "n1"); more {
		t.Error("a second owner takes the only device")
	}
}
