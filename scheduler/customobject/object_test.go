package customobject_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/customobject"
)

var things = customobject.Type{Kind: "Thing",
	Resource: schema.GroupVersionResource{Group: "stowage.dev", Version: "v1", Resource: "things"}}

// Otherwise every access to the store would read and copy all objects.
func TestObjectIsReadOnceAVersion(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{things.Resource: "ThingList"})
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": "large"}}}
	object.SetAPIVersion("stowage.dev/v1")
	object.SetKind("Thing")
	object.SetName("one")
	if _, err := client.Resource(things.Resource).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	type thing = customobject.Object[map[string]string, struct{}]
	read := 0
	informer := customobject.NewInformer(things, client, func(object any) (*thing, error) {
		read++
		return customobject.Read[map[string]string, struct{}](things, object)
	})
	handled := make(chan any, 1)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) { handled <- object }}); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(ctx)

	first := (<-handled).(*thing)
	stored, known, err := informer.GetStore().GetByKey("one")
	own, again := customobject.Read[map[string]string, struct{}](things, first)

	if !known || err != nil || stored != first || read != 1 || first.Spec["size"] != "large" {
		t.Errorf("stored %v, handled %v, read %d times: %v", stored, first, read, err)
	}
	if again != nil || own == first || own.Name() != "one" {
		t.Errorf("read anew: %v, %v", own, again)
	}
}

type named struct {
	name string
	age  time.Duration
}

func (n named) Name() string       { return n.name }
func (n named) Created() time.Time { return time.Unix(0, 0).Add(-n.age) }

// The object that has waited longest comes first. Timestamps have whole seconds, so many objects have the same age: then
// their names decide, so that the order is deterministic.
func TestOldestComeFirstAndNamesBreakTies(t *testing.T) {
	objects := []named{{"c", 0}, {"b", time.Second}, {"a", time.Second}, {"d", time.Minute}}

	slices.SortFunc(objects, customobject.OldestFirst)

	want := []named{{"d", time.Minute}, {"a", time.Second}, {"b", time.Second}, {"c", 0}}
	if !slices.Equal(objects, want) {
		t.Errorf("%v, want %v", objects, want)
	}
}
