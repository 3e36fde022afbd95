package simulation

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
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
	a := &customAPI{tracker: tracker{ObjectTracker: client.Tracker()}, client: client, now: now}
	client.PrependReactor("*", "*", clienttesting.ObjectReaction(a))
	client.PrependWatchReactor("*", a.watch)
	return a
}

// Create stores a new object.
func (a *customAPI) Create(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.CreateOptions,
) error {
	made, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	made.SetUID(types.UID(fmt.Sprintf("%s-%d", made.GetName(), a.version.Load()+1)))
	made.SetCreationTimestamp(metav1.NewTime(a.now()))
	made.SetGeneration(1)
	return a.tracker.Create(of, object, namespace, options...)
}

// Update writes a status: nobody updates a spec.
func (a *customAPI) Update(
	of schema.GroupVersionResource, object runtime.Object, namespace string, options ...metav1.UpdateOptions,
) error {
	written := object.(*unstructured.Unstructured)
	found, err := a.Get(of, namespace, written.GetName())
	if err != nil {
		return err
	}
	stored := found.(*unstructured.Unstructured)
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
	patched, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	patched.SetGeneration(patched.GetGeneration() + 1)
	return a.tracker.Patch(of, object, namespace, options...)
}

// apply creates the object or replaces its spec, as kubectl apply does.
func (a *customAPI) apply(of schema.GroupVersionResource, object *unstructured.Unstructured) error {
	found, err := a.Get(of, "", object.GetName())
	if apierrors.IsNotFound(err) {
		return a.Create(of, object, "")
	}
	if err != nil {
		return err
	}
	stored := found.(*unstructured.Unstructured)
	stored.Object["spec"] = object.Object["spec"]
	return a.Patch(of, stored, "")
}
