package simulation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Kinds are those that the scheduler and the plugins of a profile list besides nodes and pods. Objects of other kinds, or
// of other versions of these, have no effect. A test compares them with what a running scheduler lists.
var Kinds = ofThisMinor(kindsOfAnyMinor)

var kindsOfAnyMinor = map[schema.GroupVersionKind]meta.RESTScopeName{
	v1.SchemeGroupVersion.WithKind("Namespace"):             meta.RESTScopeNameRoot,
	v1.SchemeGroupVersion.WithKind("PersistentVolume"):      meta.RESTScopeNameRoot,
	v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"): meta.RESTScopeNameNamespace,
	v1.SchemeGroupVersion.WithKind("ReplicationController"): meta.RESTScopeNameNamespace,
	v1.SchemeGroupVersion.WithKind("LimitRange"):            meta.RESTScopeNameNamespace,
	v1.SchemeGroupVersion.WithKind("ResourceQuota"):         meta.RESTScopeNameNamespace,
	v1.SchemeGroupVersion.WithKind("Service"):               meta.RESTScopeNameNamespace,
	versioned("apps/v1", "Deployment"):                      meta.RESTScopeNameNamespace,
	versioned("batch/v1", "Job"):                            meta.RESTScopeNameNamespace,
	versioned("apps/v1", "ReplicaSet"):                      meta.RESTScopeNameNamespace,
	versioned("apps/v1", "StatefulSet"):                     meta.RESTScopeNameNamespace,
	versioned("policy/v1", "PodDisruptionBudget"):           meta.RESTScopeNameNamespace,
	versioned("resource.k8s.io/v1", "DeviceClass"):          meta.RESTScopeNameRoot,
	versioned("resource.k8s.io/v1", "DeviceTaintRule"):      meta.RESTScopeNameRoot,
	versioned("resource.k8s.io/v1", "ResourceClaim"):        meta.RESTScopeNameNamespace,
	// The scheduler lists them with the feature gate GenericWorkload only.
	versioned("scheduling.k8s.io/v1beta1", "PodGroup"): meta.RESTScopeNameNamespace,
	// It is the simulation that reads them, to make claims.
	versioned("resource.k8s.io/v1", "ResourceClaimTemplate"): meta.RESTScopeNameNamespace,
	versioned("resource.k8s.io/v1", "ResourceSlice"):         meta.RESTScopeNameRoot,
	versioned("storage.k8s.io/v1", "CSIDriver"):              meta.RESTScopeNameRoot,
	versioned("storage.k8s.io/v1", "CSINode"):                meta.RESTScopeNameRoot,
	versioned("storage.k8s.io/v1", "CSIStorageCapacity"):     meta.RESTScopeNameNamespace,
	versioned("storage.k8s.io/v1", "StorageClass"):           meta.RESTScopeNameRoot,
	versioned("storage.k8s.io/v1", "VolumeAttachment"):       meta.RESTScopeNameRoot,
}

// ofThisMinor leaves out the kinds that came with a later minor.
func ofThisMinor(kinds map[schema.GroupVersionKind]meta.RESTScopeName) map[schema.GroupVersionKind]meta.RESTScopeName {
	known := maps.Clone(kinds)
	maps.DeleteFunc(known, func(kind schema.GroupVersionKind, _ meta.RESTScopeName) bool { return !scheme.Scheme.Recognizes(kind) })
	return known
}

// resourceOf is where the objects of a kind are kept.
func resourceOf(kind schema.GroupVersionKind) schema.GroupVersionResource {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return resource
}

func versioned(groupVersion, name string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(groupVersion, name)
}
