package simulation

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// customAPI keeps the objects of the custom resources as the API server does: a status and a spec are written by
// different requests, and a status that was read before another write is a conflict.
type customAPI struct {
	tracker
	client *dynamicfake.FakeDynamicClient
	now    func() time.Time
}

func newCustomAPI(now func() time.Time) *customAPI {
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		packingplan.Resource: packingplan.Kind + "List", packingpolicy.Resource: packingpolicy.Kind + "List"})
	a := &customAPI{tracker: newTracker(client.Tracker()), client: client, now: now}
	client.PrependReactor("*", "*", clienttesting.ObjectReaction(a))
	return a
}

// Create stores a new object.
func (a *customAPI) Create(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	made := object.(*unstructured.Unstructured)
	made.SetUID(types.UID(fmt.Sprintf("%s-%d", made.GetName(), a.version+1)))
	made.SetCreationTimestamp(metav1.NewTime(a.now()))
	made.SetGeneration(1)
	return a.tracker.Create(of, object, namespace, options...)
}

// Update writes a status: nobody updates a spec.
func (a *customAPI) Update(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	written := object.(*unstructured.Unstructured)
	stored, there := find[*unstructured.Unstructured](&a.tracker, of, namespace, written.GetName())
	if !there {
		return apierrors.NewNotFound(of.GroupResource(), written.GetName())
	}
	if written.GetResourceVersion() != stored.GetResourceVersion() {
		return apierrors.NewConflict(of.GroupResource(), written.GetName(), errors.New("it has been changed meanwhile"))
	}
	stored.Object["status"] = written.Object["status"]
	return a.tracker.Update(of, stored, namespace, options...)
}

// Patch replaces a spec: nobody patches a status.
func (a *customAPI) Patch(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.PatchOptions,
) error {
	patched := object.(*unstructured.Unstructured)
	patched.SetGeneration(patched.GetGeneration() + 1)
	return a.tracker.Patch(of, object, namespace, options...)
}

// apply creates the object or replaces its spec, as kubectl apply does.
func (a *customAPI) apply(of schema.GroupVersionResource, object *unstructured.Unstructured) error {
	stored, there := find[*unstructured.Unstructured](&a.tracker, of, "", object.GetName())
	if !there {
		return a.Create(of, object, "")
	}
	stored.Object["spec"] = object.Object["spec"]
	return a.Patch(of, stored, "")
}
