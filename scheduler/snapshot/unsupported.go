package snapshot

import (
	v1 "k8s.io/api/core/v1"
)

// unsupported names what the pod needs beyond the contract. No plan touches such a pod.
func unsupported(pod *v1.Pod) []string {
	var needs []string
	for i := range pod.Spec.Volumes {
		if bindsToNodes(&pod.Spec.Volumes[i].VolumeSource) {
			needs = append(needs, "volumes")
			break
		}
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		needs = append(needs, "resource-claims")
	}
	if pod.Spec.SchedulingGroup != nil {
		needs = append(needs, "pod-group")
	}
	return needs
}

// bindsToNodes says whether the scheduler has anything to decide about the volume. What is made
// for the pod on whatever node it lands leaves it free.
func bindsToNodes(source *v1.VolumeSource) bool {
	free := source.ConfigMap != nil || source.Secret != nil || source.EmptyDir != nil ||
		source.Projected != nil || source.DownwardAPI != nil || source.HostPath != nil ||
		source.NFS != nil || source.Image != nil ||
		source.PersistentVolumeClaim != nil // looked up when the snapshot is taken
	return !free
}
