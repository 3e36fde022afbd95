package snapshot

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/stowage/stowage/scheduler/contract"
)

// Volumes finds what pods mount: volume claims, and the volumes that they are bound to.
type Volumes interface {
	// VolumeClaim returns nil if there is none of that name.
	VolumeClaim(namespace, name string) *v1.PersistentVolumeClaim
	// Volume returns nil if there is none of that name.
	Volume(name string) *v1.PersistentVolume
	// Limited says whether some node limits the number of the driver's volumes.
	Limited(driver string) bool
}

// volumeClaimNames are the names of the volume claims that the pod mounts. A replacement mounts the same.
func volumeClaimNames(pod *v1.Pod) (names []string) {
	for _, volume := range pod.Spec.Volumes {
		if claim := volume.PersistentVolumeClaim; claim != nil {
			names = append(names, claim.ClaimName)
		}
	}
	slices.Sort(names)
	return names
}

// driverNames are those of the drivers that make a volume for the pod alone, on its node.
func driverNames(pod *v1.Pod) (names []string) {
	for _, volume := range pod.Spec.Volumes {
		if volume.CSI != nil {
			names = append(names, volume.CSI.Driver)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unlimited says that no node limits the number of these drivers' volumes.
func (c *classes) unlimited(drivers []string) bool {
	if c.volumes == nil {
		return len(drivers) == 0
	}
	return !slices.ContainsFunc(drivers, c.volumes.Limited)
}

// volumeAffinity is where the volumes of the claims can be reached. known is false for claims that are not bound yet, that
// only one pod at a time may use, or whose number on a node is limited.
func (c *classes) volumeAffinity(namespace string, claims []string) (selectors []*contract.NodeSelector, known bool) {
	for _, name := range claims {
		volume := c.boundVolume(namespace, name)
		if volume == nil {
			return nil, false
		}
		if affinity := volume.Spec.NodeAffinity; affinity != nil && affinity.Required != nil {
			if _, err := nodeaffinity.NewNodeSelector(affinity.Required); err != nil {
				return nil, false // the scheduler cannot read it either
			}
			if terms, some := labelTerms(affinity.Required); some {
				selectors = append(selectors, &contract.NodeSelector{Terms: terms})
			}
		}
	}
	return selectors, true
}

// labelTerms are the terms of a volume's node affinity as the scheduler reads them: it reads only the node's labels, so a
// term about fields alone matches every node, and then there are no terms.
func labelTerms(selector *v1.NodeSelector) (terms []*contract.NodeSelectorTerm, some bool) {
	terms = nodeTermMessages(selector)
	for _, term := range terms {
		if len(term.MatchExpressions) == 0 && len(term.MatchFields) > 0 {
			return nil, false
		}
		term.MatchFields = nil
	}
	return terms, true
}

func (c *classes) boundVolume(namespace, name string) *v1.PersistentVolume {
	if c.volumes == nil {
		return nil
	}
	claim := c.volumes.VolumeClaim(namespace, name)
	if claim == nil || claim.Spec.VolumeName == "" || claim.DeletionTimestamp != nil ||
		slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
		return nil
	}
	volume := c.volumes.Volume(claim.Spec.VolumeName)
	if volume != nil && volume.Spec.CSI != nil && c.volumes.Limited(volume.Spec.CSI.Driver) {
		return nil
	}
	return volume
}
