package simulation

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope is whether the objects of a kind belong to a namespace.
type Scope int

const (
	Namespaced Scope = iota + 1
	ClusterWide
)

// Kinds are those that the scheduler and the plugins of a profile list besides nodes and pods. Objects of other kinds, or
// of other versions of these, have no effect. A test compares them with what a running scheduler lists.
var Kinds = map[schema.GroupVersionKind]Scope{
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
	versioned("resource.k8s.io/v1", "ResourceClaim"):        Namespaced,
	versioned("resource.k8s.io/v1", "ResourceSlice"):        ClusterWide,
	versioned("storage.k8s.io/v1", "CSIDriver"):             ClusterWide,
	versioned("storage.k8s.io/v1", "CSINode"):               ClusterWide,
	versioned("storage.k8s.io/v1", "CSIStorageCapacity"):    Namespaced,
	versioned("storage.k8s.io/v1", "StorageClass"):          ClusterWide,
	versioned("storage.k8s.io/v1", "VolumeAttachment"):      ClusterWide,
}

func versioned(groupVersion, name string) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(groupVersion, name)
}
