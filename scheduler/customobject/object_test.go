package customobject_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

var things = customobject.Type{Kind: "PackingPlan",
	Resource: schema.GroupVersionResource{Group: "stowage.dev", Version: "v1alpha1", Resource: "packingplans"}}

// Otherwise every access to the store would read and copy all objects.
func TestObjectIsReadOnceAVersion(t *testing.T) {
	_, ctx := ktesting.NewTestContext(t)
	client, object := testobjects.CustomClient(), testobjects.Custom(things.Kind, "one", map[string]any{"size": "large"})
	_, err := client.Resource(things.Resource).Create(ctx, object, metav1.CreateOptions{})
	testobjects.Must(t, err)
	type thing = customobject.Object[map[string]string, struct{}]
	read := 0
	informer := customobject.NewInformer(things, client, func(object any) (*thing, error) {
		read++
		return customobject.Read[map[string]string, struct{}](things, object)
	})
	handled := make(chan any, 1)
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) { handled <- object }})
	testobjects.Must(t, err)
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
