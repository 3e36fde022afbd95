package priorityoptimizer

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
)

// volumes finds claims and volumes in the informers.
type volumes struct {
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	nodes   storagelisters.CSINodeLister
	limited sets.Set[string]
}

// now looks up which drivers have limits, once for all pods of a snapshot.
func (v volumes) now() (volumes, error) {
	nodes, err := v.nodes.List(labels.Everything())
	v.limited = sets.New[string]()
	for _, node := range nodes {
		for _, driver := range node.Spec.Drivers {
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				v.limited.Insert(driver.Name)
			}
		}
	}
	return v, err
}

// Limited implements snapshot.Volumes.
func (v volumes) Limited(driver string) bool { return v.limited.Has(driver) }

// Claim implements snapshot.Volumes. A lister fails only where there is none.
func (v volumes) Claim(namespace, name string) *v1.PersistentVolumeClaim {
	claim, err := v.claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return nil
	}
	return claim
}

// Volume implements snapshot.Volumes.
func (v volumes) Volume(name string) *v1.PersistentVolume {
	volume, err := v.volumes.Get(name)
	if err != nil {
		return nil
	}
	return volume
}
