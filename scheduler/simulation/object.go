package simulation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
)

// decoder knows every built-in kind and refuses unknown fields.
var decoder = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// clusterScoped are the kinds without a namespace that the scheduler reads.
var clusterScoped = sets.New("CSIDriver", "CSINode", "DeviceClass", "Namespace", "PersistentVolume", "PriorityClass",
	"ResourceSlice", "StorageClass", "VolumeAttachment")

// Object is a Kubernetes object of any built-in kind, with its apiVersion and kind.
type Object struct {
	runtime.Object
}

// UnmarshalJSON reads the object of the given apiVersion and kind. Nodes and pods have their own lists, since their order
// matters.
func (o *Object) UnmarshalJSON(data []byte) error {
	object, kind, err := decoder.Decode(data, nil, nil)
	if err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("objects: %s: %w", kind.Kind, err)
	}
	switch object.(type) {
	case *v1.Pod, *v1.Node:
		return fmt.Errorf("objects: %s %s belongs in the list of its kind", kind.Kind, accessor.GetName())
	}
	if accessor.GetName() == "" {
		return fmt.Errorf("objects: %s without metadata.name", kind.Kind)
	}
	if accessor.GetNamespace() == "" && !clusterScoped.Has(kind.Kind) {
		accessor.SetNamespace(metav1.NamespaceDefault)
	}
	o.Object = object
	return nil
}

// create stores the object.
func (o *Object) create(a *api) error {
	accessor, err := meta.Accessor(o.Object)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(o.GetObjectKind().GroupVersionKind())
	return a.Create(resource, o.DeepCopyObject(), accessor.GetNamespace())
}

// namespaceOf returns the namespace with the label that the API server gives to each.
func namespaceOf(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1.LabelMetadataName: name},
	}}
}
