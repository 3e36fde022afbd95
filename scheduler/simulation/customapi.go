package simulation

import (
	"encoding/json"
	"fmt"
	"strconv"
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
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
)

// customAPI keeps the objects of the custom resources as the API server does: a status and a spec are written by
// different requests, and a status that was read before another write is a conflict.
type customAPI struct {
	client *dynamicfake.FakeDynamicClient
	// counters are by resource, for as long as a process lasts.
	counters map[schema.GroupVersionResource]*eventCounter
	now      func() time.Time
	version  int64
}

func newCustomAPI(now func() time.Time) *customAPI {
	a := &customAPI{
		client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			packingplan.Resource: packingplan.Kind + "List", packingpolicy.Resource: packingpolicy.Kind + "List"}),
		counters: map[schema.GroupVersionResource]*eventCounter{},
		now:      now,
	}
	a.client.PrependReactor("*", "*", a.react)
	return a
}

// counting has a new informer count the events that its handlers have handled, from those of what is there on.
func (a *customAPI) counting(informer cache.SharedIndexInformer, of schema.GroupVersionResource, kind string) (cache.SharedIndexInformer, error) {
	there, err := a.client.Tracker().List(of, of.GroupVersion().WithKind(kind), "")
	if err != nil {
		return nil, err
	}
	a.counters[of] = newEventCounter(meta.LenList(there))
	counted := countingInformer{informer, a.counters[of]}
	_, err = counted.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	return counted, err
}

// react answers requests that change something.
func (a *customAPI) react(action clienttesting.Action) (bool, runtime.Object, error) {
	resource := action.GetResource()
	switch request := action.(type) {
	case clienttesting.PatchActionImpl:
		object, err := a.mergeSpec(resource, request)
		return true, object, err
	case clienttesting.UpdateActionImpl:
		written, ok := request.Object.(*unstructured.Unstructured)
		if !ok {
			return false, nil, nil
		}
		object, err := a.writeStatus(resource, written)
		return true, object, err
	case clienttesting.CreateActionImpl:
		object, ok := request.Object.(*unstructured.Unstructured)
		if !ok {
			return false, nil, nil
		}
		object = object.DeepCopy()
		object.SetUID(types.UID(fmt.Sprintf("%s-%d", object.GetName(), a.version+1)))
		object.SetCreationTimestamp(metav1.NewTime(a.now()))
		object.SetGeneration(1)
		return true, object, a.change(resource, object, func() error { return a.client.Tracker().Create(resource, object.DeepCopy(), "") })
	case clienttesting.DeleteActionImpl:
		err := a.client.Tracker().Delete(resource, "", request.Name)
		if err == nil {
			a.counters[resource].send()
		}
		return true, nil, err
	}
	return false, nil, nil
}

// change gives the object its next version and counts the event.
func (a *customAPI) change(resource schema.GroupVersionResource, object *unstructured.Unstructured, store func() error) error {
	a.version++
	object.SetResourceVersion(strconv.FormatInt(a.version, 10))
	err := store()
	if err == nil {
		a.counters[resource].send()
	}
	return err
}

// get returns a copy of a stored object.
func (a *customAPI) get(resource schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	found, err := a.client.Tracker().Get(resource, "", name)
	if err != nil {
		return nil, err
	}
	object, ok := found.DeepCopyObject().(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%s %s is kept as a %T", resource.Resource, name, found)
	}
	return object, nil
}

func (a *customAPI) update(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	return a.change(resource, object, func() error { return a.client.Tracker().Update(resource, object.DeepCopy(), "") })
}

func (a *customAPI) writeStatus(resource schema.GroupVersionResource, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	object, err := a.get(resource, written.GetName())
	if err != nil {
		return nil, err
	}
	if written.GetResourceVersion() != object.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource.GroupResource(), written.GetName(), fmt.Errorf("it has been changed meanwhile"))
	}
	object.Object["status"] = runtime.DeepCopyJSONValue(written.Object["status"])
	return object, a.update(resource, object)
}

// mergeSpec is the only patch that is asked for: it sets fields of the spec.
func (a *customAPI) mergeSpec(resource schema.GroupVersionResource, patch clienttesting.PatchActionImpl) (*unstructured.Unstructured, error) {
	var fields struct{ Spec map[string]any }
	if err := json.Unmarshal(patch.Patch, &fields); err != nil {
		return nil, err
	}
	object, err := a.get(resource, patch.Name)
	if err != nil {
		return nil, err
	}
	for name, value := range fields.Spec {
		if err := unstructured.SetNestedField(object.Object, value, "spec", name); err != nil {
			return nil, err
		}
	}
	object.SetGeneration(object.GetGeneration() + 1)
	return object, a.update(resource, object)
}

// apply creates the object or replaces its spec, as kubectl apply does.
func (a *customAPI) apply(resource schema.GroupVersionResource, object *unstructured.Unstructured) error {
	before, err := a.get(resource, object.GetName())
	if apierrors.IsNotFound(err) {
		_, _, err = a.react(clienttesting.NewRootCreateAction(resource, object))
		return err
	}
	if err != nil {
		return err
	}
	before.Object["spec"] = object.Object["spec"]
	before.SetGeneration(before.GetGeneration() + 1)
	return a.update(resource, before)
}
