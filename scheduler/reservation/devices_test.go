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

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	rules "github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const driver = "gpu.example.com"

// counted is a ledger whose book counts the devices 0 and 1 of n1. Of the classes, "first" is of device 0, the others are of
// both; each has a template of its name, but for "either", of which the template asks for a device of "first" or else of "any".
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
		if name == "either" {
			template.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "r", FirstAvailable: []resourceapi.DeviceSubRequest{
				{Name: "a", DeviceClassName: "first", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1},
				{Name: "b", DeviceClassName: "any", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}}
		}
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

// A plan knows the devices that it counts on by what pods asked for when it was made. Who asks for another set of devices, in
// which these are, must not take them, whether the plan is carried out here or only known from its object.
func TestAPlanUnderWayHoldsItsDevicesWhateverOthersBeginToAskFor(t *testing.T) {
	for name, carried := range map[string]bool{"from its object": false, "carried out here": true} {
		l, book := counted(t, "first", "any", "either")
		moving, node := claiming("first", podOf("a", "a-1", "1", 5)), testobjects.Node("n0", "4", "4Gi").Obj()
		moving.Spec.NodeName = node.Name
		book.Needs(moving) // no informer shows it
		s := snapshot.Build(snapshot.Input{ID: "s", Nodes: []*v1.Node{node}, Pods: []*v1.Pod{moving}, Book: book})
		record := plan(t, moved("n1", "1", "a"))
		record.Status.Classes[0].Requests = s.Pods[moving.UID].Requests.List()
		l.HoldPlan(record)
		if carried {
			l.CarryPlan(record.UID(), executor.New(&rules.Plan{Classes: s.Classes,
				Moves: []rules.Step{{Pod: s.Pods[moving.UID], From: node.Name, To: "n1"}}}, nil, 0))
		}

		view := l.For(claiming("any", podOf("b", "b", "1", 0)), false)
		held, _ := view.Held("n1")
		for _, ask := range []v1.ResourceName{"first", "any"} {
			if devices := held.Of(resources.DevicePrefix + ask); devices != 1 || view.AwaitsTurns("n1") {
				t.Errorf("%s: %d devices are held against a pod that asks for %q, want 1", name, devices, ask)
			}
		}

		either := claiming("either", podOf("b", "c", "1", 0))
		if view := l.For(either, false); len(book.Requests(either)) == 0 || !view.AwaitsTurns("n1") {
			t.Errorf("%s: a pod that asks for one or the other is not kept off", name)
		}
		if held, some := l.For(podOf("b", "d", "1", 0), false).Held("n1"); !some || !held.WithoutDevices().Equal(held) {
			t.Errorf("%s: %+v is held, want no amount of devices that overlap", name, held)
		}
		if offers := l.For(claiming("first", podOf("a", "a-2", "1", 5)), false).Offers["n1"]; len(offers) != 1 {
			t.Errorf("%s: the replacement is offered %+v", name, offers)
		}
		l.EndPlan(record.UID())
		if view := l.For(either, false); view.IsRestricted() {
			t.Errorf("%s: something is held after the end of the plan", name)
		}
	}
}
