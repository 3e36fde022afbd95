// Package customobject reads and writes objects of custom resources that have a spec and a status.
package customobject

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Type is what the API calls a custom resource and its objects.
type Type struct {
	Resource schema.GroupVersionResource
	Kind     string
}

// Object is one object as it was last seen.
type Object[Spec, Status any] struct {
	Spec   Spec
	Status Status
	of     Type
	seen   *unstructured.Unstructured
}

func (o *Object[Spec, Status]) Name() string { return o.seen.GetName() }

func (o *Object[Spec, Status]) UID() types.UID { return o.seen.GetUID() }

func (o *Object[Spec, Status]) Labels() map[string]string { return o.seen.GetLabels() }

func (o *Object[Spec, Status]) Annotations() map[string]string { return o.seen.GetAnnotations() }

// Generation changes with the spec.
func (o *Object[Spec, Status]) Generation() int64 { return o.seen.GetGeneration() }

// GetObjectMeta lets informers keep objects that have been read.
func (o *Object[Spec, Status]) GetObjectMeta() metav1.Object { return o.seen }

func (o *Object[Spec, Status]) Created() time.Time { return o.seen.GetCreationTimestamp().Time }

// Reference is what events about the object point at.
func (o *Object[Spec, Status]) Reference() *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: o.of.Resource.GroupVersion().String(), Kind: o.of.Kind, Name: o.Name(), UID: o.UID()}
}

// Read reads an object of the API, or reads a Record again. The object of the API must not be changed afterwards; the
// result is the caller's own.
func Read[Spec, Status any](of Type, object any) (*Object[Spec, Status], error) {
	if known, again := object.(interface {
		source() *unstructured.Unstructured
	}); again {
		object = known.source()
	}
	from, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("want a %s, got %T", of.Kind, object)
	}
	var content struct {
		Spec   Spec   `json:"spec"`
		Status Status `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &content); err != nil {
		return nil, fmt.Errorf("%s %s: %w", of.Kind, from.GetName(), err)
	}
	return &Object[Spec, Status]{Spec: content.Spec, Status: content.Status, of: of, seen: from}, nil
}

func (o *Object[Spec, Status]) source() *unstructured.Unstructured { return o.seen }

// dated is an object that knows its age.
type dated interface {
	Name() string
	Created() time.Time
}

// OldestFirst orders objects by their age, and those of the same age by name.
func OldestFirst[O dated](a, b O) int {
	return cmp.Or(a.Created().Compare(b.Created()), strings.Compare(a.Name(), b.Name()))
}

// Records are the objects in an informer's store that could be read, the oldest first. The others were logged when they came.
func Records[Record dated](store cache.Store) []Record {
	var all []Record
	for _, object := range store.List() {
		if record, read := object.(Record); read {
			all = append(all, record)
		}
	}
	slices.SortFunc(all, OldestFirst)
	return all
}

// NewInformer watches the objects of one type. Its store and its handlers get the result of read, made once for each
// version of an object; it must not be changed. An object that cannot be read stays as it came.
func NewInformer[Record any](of Type, client dynamic.Interface, read func(object any) (Record, error)) cache.SharedIndexInformer {
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(of.Resource).Informer()
	// This fails only on an informer that has been started.
	_ = informer.SetTransform(Transform(read))
	return informer
}

// Transform has an informer keep the results of read. An object that cannot be read stays as it came: an error would stop
// the informer for one object.
func Transform[Record any](read func(object any) (Record, error)) cache.TransformFunc {
	return func(object any) (any, error) {
		if _, raw := object.(*unstructured.Unstructured); raw { // else it has been transformed already
			if record, err := read(object); err == nil {
				return record, nil
			}
		}
		return object, nil
	}
}

// LastKnown is the object that an informer's handler of deletions got, as it was seen last.
func LastKnown(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}
