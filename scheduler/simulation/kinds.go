package simulation

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Scope is whether the objects of a kind belong to a namespace.
type Scope int

const (
	Namespaced Scope = iota + 1
	ClusterWide
)

// Kinds are those that the scheduler and the plugins of a profile list besides nodes and pods. Objects of other kinds, or
// of other versions of these, have no effect. A test compares them with what a running scheduler lists.
var Kinds = ofThisMinor(kindsOfAnyMinor)

var kindsOfAnyMinor = map[schema.GroupVersionKind]Scope{
	v1.SchemeGroupVersion.WithKind("Namespace"):             ClusterWide,
	v1.SchemeGroupVersion.WithKind("PersistentVolume"):      ClusterWide,
	v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"): Namespaced,
	v1.SchemeGroupVersion.WithKind("ReplicationController"): Namespaced,
	v1.SchemeGroupVersion.WithKind("LimitRange"):            Namespaced,
	v1.SchemeGroupVersion.WithKind("ResourceQuota"):         Namespaced,
	v1.SchemeGroupVersion.WithKind("Service"):               Namespaced,
	versioned("apps/v1", "Deployment"):                      Namespaced,
	versioned("batch/v1", "Job"):                            Namespaced,
	versioned("apps/v1", "ReplicaSet"):                      Namespaced,
	versioned("apps/v1", "StatefulSet"):                     Namespaced,
	versioned("policy/v1", "PodDisruptionBudget"):           Namespaced,
	versioned("resource.k8s.io/v1", "DeviceClass"):          ClusterWide,
	versioned("resource.k8s.io/v1", "DeviceTaintRule"):      ClusterWide,
	versioned("resource.k8s.io/v1", "ResourceClaim"):        Namespaced,
	versioned("resource.k8s.io/v1", "ResourceSlice"):        ClusterWide,
	versioned("storage.k8s.io/v1", "CSIDriver"):             ClusterWide,
	versioned("storage.k8s.io/v1", "CSINode"):               ClusterWide,
	versioned("storage.k8s.io/v1", "CSIStorageCapacity"):    Namespaced,
	versioned("storage.k8s.io/v1", "StorageClass"):          ClusterWide,
	versioned("storage.k8s.io/v1", "VolumeAttachment"):      ClusterWide,
}

// ofThisMinor leaves out the kinds that came with a later minor.
func ofThisMinor(kinds map[schema.GroupVersionKind]Scope) map[schema.GroupVersionKind]Scope {
	known := maps.Clone(kinds)
	maps.DeleteFunc(known, func(kind schema.GroupVersionKind, _ Scope) bool { return !scheme.Scheme.Recognizes(kind) })
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
