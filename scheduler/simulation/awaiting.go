package simulation

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/ephemeral"
	storagehelpers "k8s.io/component-helpers/storage/volume"
)

var (
	claimResource = v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	classResource = storagev1.SchemeGroupVersion.WithResource("storageclasses")
)

// awaiting says of a pod that was placed which of its volumes somebody has still to make: what becomes of the pod depends
// on that.
func (r *run) awaiting(pod *v1.Pod) []Remark {
	var remarks []Remark
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		var name string
		switch {
		case volume.PersistentVolumeClaim != nil:
			name = volume.PersistentVolumeClaim.ClaimName
		case volume.Ephemeral != nil:
			name = ephemeral.VolumeClaimName(pod, volume)
		default:
			continue
		}
		if maker := r.maker(pod.Namespace, name); maker != "" {
			remarks = append(remarks, Remark{Object: "Pod " + key(pod),
				Reason: fmt.Sprintf("its claim %s has no volume yet, and %s has to make one", name, maker)})
		}
	}
	return remarks
}

// maker is who makes the volume of a claim that has none; empty for claims that are bound, or get a volume that is there.
func (r *run) maker(namespace, name string) string {
	object, err := r.api.Get(claimResource, namespace, name)
	if err != nil {
		return "" // the scheduler places no pod without its claim
	}
	claim := object.(*v1.PersistentVolumeClaim)
	if claim.Spec.VolumeName != "" {
		return ""
	}
	object, err = r.api.Get(classResource, "", storagehelpers.GetPersistentVolumeClaimClass(claim))
	if err != nil {
		return ""
	}
	if maker := object.(*storagev1.StorageClass).Provisioner; maker != storagehelpers.NotSupportedProvisioner {
		return maker
	}
	return ""
}
