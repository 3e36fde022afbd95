package customobject

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// NewInformer watches the objects of one type. Its store and its handlers get the result of read, made once for each
// version of an object; it must not be changed. An object that cannot be read stays as it came.
func NewInformer[Record any](of Type, client dynamic.Interface, read func(object any) (Record, error)) cache.SharedIndexInformer {
	informer := dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(of.Resource).Informer()
	// This fails only on an informer that has been started.
	_ = informer.SetTransform(func(object any) (any, error) {
		if _, raw := object.(*unstructured.Unstructured); !raw {
			return object, nil // transformed already
		}
		if record, err := read(object); err == nil {
			return record, nil
		}
		return object, nil // an error would stop the informer for one object
	})
	return informer
}

// LastKnown is the object that an informer's handler of deletions got, as it was seen last.
func LastKnown(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}
