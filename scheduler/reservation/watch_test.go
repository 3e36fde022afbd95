package reservation_test

import (
	"context"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/reservation"
)

// kept is a ledger that follows the API, and the client of reservations and plans.
func kept(t *testing.T) (context.Context, *reservation.Ledger, dynamic.Interface) {
	t.Helper()
	logger, ctx := ktesting.NewTestContext(t)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		reservation.Resource: reservation.Kind + "List", packingplan.Resource: packingplan.Kind + "List"})
	factory, l := informers.NewSharedInformerFactory(fake.NewClientset(), 0), reservation.NewLedger()
	from := reservation.Informers{Reservations: reservation.NewInformer(client), Plans: packingplan.NewInformer(client),
		Pods: factory.Core().V1().Pods().Informer()}
	synced, err := l.Watch(logger, from, func() {})
	if err != nil {
		t.Fatal(err)
	}
	go from.Reservations.RunWithContext(ctx)
	go from.Plans.RunWithContext(ctx)
	factory.Start(ctx.Done())
	eventually(ctx, t, "the ledger knows what there is", synced)
	return ctx, l, client
}

func eventually(ctx context.Context, t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(ctx, 2*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
	if err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
}

// written is the plan that sends a pod of 1 CPU to n1, in a phase.
func written(t *testing.T, phase packingplan.Phase) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&packingplan.Status{
		Phase:   phase,
		Classes: []packingplan.Class{{ID: "k", Priority: 5, Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}},
		Moves:   []packingplan.Move{{Pod: "ns/a-1", PodUID: "a-1", OwnerUID: "rs-a", Class: "k", FromNode: "n2", ToNode: "n1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}, "status": content}}
	object.SetAPIVersion(packingplan.Resource.GroupVersion().String())
	object.SetKind(packingplan.Kind)
	object.SetName("p")
	object.SetUID("uid-p")
	return object
}

// Every process holds a plan's room, even one that only stands by, from the start of the plan's execution until its end.
// Before that it holds none, and earlier updates must not keep it from holding the room later.
func TestEveryProcessHoldsTheRoomOfPlansThatAreCarriedOut(t *testing.T) {
	for name, end := range map[string]func(context.Context, dynamic.ResourceInterface) error{
		"completed": func(ctx context.Context, plans dynamic.ResourceInterface) error {
			_, err := plans.Update(ctx, written(t, packingplan.Completed), metav1.UpdateOptions{})
			return err
		},
		"aborted": func(ctx context.Context, plans dynamic.ResourceInterface) error {
			_, err := plans.Update(ctx, written(t, packingplan.Aborted), metav1.UpdateOptions{})
			return err
		},
		"deleted": func(ctx context.Context, plans dynamic.ResourceInterface) error {
			return plans.Delete(ctx, "p", metav1.DeleteOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, l, client := kept(t)
			plans, stranger := client.Resource(packingplan.Resource), podOf("d", "d", "1", 5)
			_, err := plans.Create(ctx, written(t, packingplan.Proposed), metav1.CreateOptions{})
			must(t, err)
			before := held(l, stranger, "n1")

			_, err = plans.Update(ctx, written(t, packingplan.Executing), metav1.UpdateOptions{})
			must(t, err)
			eventually(ctx, t, "its room is held", func() bool { return held(l, stranger, "n1") == 1000 })
			must(t, end(ctx, plans))
			eventually(ctx, t, "its room is free", l.Empty)

			if before != 0 || !l.Freed().Has("n1") {
				t.Errorf("%d held before it was carried out; no event says that its room is free", before)
			}
		})
	}
}

// One object that cannot be read must not keep all others from being known.
func TestObjectThatCannotBeReadIsLeftOut(t *testing.T) {
	ctx, l, client := kept(t)
	broken := written(t, packingplan.Executing)
	broken.SetName("broken")
	must(t, unstructured.SetNestedField(broken.Object, "soon", "status", "startTime"))
	must(t, unstructured.SetNestedField(broken.Object, "no list", "status", "moves"))
	for _, object := range []*unstructured.Unstructured{broken, written(t, packingplan.Executing)} {
		_, err := client.Resource(packingplan.Resource).Create(ctx, object, metav1.CreateOptions{})
		must(t, err)
	}

	eventually(ctx, t, "the other one is known", func() bool { return held(l, podOf("d", "d", "1", 5), "n1") == 1000 })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
