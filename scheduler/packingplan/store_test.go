package packingplan_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// The status is the scheduler's alone: that a user gives a plan up must neither keep the scheduler
// from writing down how far it came, nor be undone by that.
func TestStatusIsWrittenBesideAUsersChange(t *testing.T) {
	ctx := context.Background()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{packingplan.Resource: packingplan.Kind + "List"})
	store := packingplan.NewStore(client)
	record, err := store.Create(ctx, packingplan.Spec{Mode: packingplan.Execute})
	must(t, err)
	client.PrependReactor("update", "packingplans", aborting(t, client.Tracker(), record.Name()))

	record.Status.Phase = packingplan.Executing
	must(t, store.WriteStatus(ctx, record))

	object, err := client.Resource(packingplan.Resource).Get(ctx, record.Name(), metav1.GetOptions{})
	must(t, err)
	written, err := packingplan.Read(object)
	must(t, err)
	if written.Status.Phase != packingplan.Executing || !written.Spec.Abort {
		t.Errorf("phase %q, abort %t", written.Status.Phase, written.Spec.Abort)
	}
}

// aborting lets a user be quicker than the first update.
func aborting(t *testing.T, tracker clienttesting.ObjectTracker, name string) clienttesting.ReactionFunc {
	aborted := false
	return func(clienttesting.Action) (bool, runtime.Object, error) {
		if aborted {
			return false, nil, nil
		}
		aborted = true
		found, err := tracker.Get(packingplan.Resource, "", name)
		must(t, err)
		object := found.DeepCopyObject().(*unstructured.Unstructured)
		must(t, unstructured.SetNestedField(object.Object, true, "spec", "abort"))
		must(t, tracker.Update(packingplan.Resource, object, ""))
		return true, nil, apierrors.NewConflict(packingplan.Resource.GroupResource(), name, errors.New("it has changed"))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
