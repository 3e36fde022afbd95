package snapshot

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/stowage/stowage/scheduler/resources"
)

// What pods need beyond the contract. No plan contains such pods.
const (
	openVolumes = "volumes"
	// ephemeralVolumes go with their pod. Where a replacement's volume could be made, the storage class, the driver and its
	// capacity say.
	ephemeralVolumes = "ephemeral-volumes"
	// resourceClaims are refused where nothing is known of devices; elsewhere each reason has its name.
	resourceClaims = "resource-claims"
	// Kubernetes accepts what the scheduler then cannot read; the scheduler reports that on the pod itself.
	unreadableNodeAffinity = "node-affinity-that-the-scheduler-cannot-read"
	unreadablePodSelector  = "pod-selector-that-the-scheduler-cannot-read"
	// uncountable is more of a resource than any machine has, so sums would overflow.
	uncountable = "more-than-any-machine-has"
	notText     = "bytes-that-are-no-text"
	tooLarge    = "selectors-too-large"
)

// unsupported names what the pod needs beyond the contract.
func unsupported(pod *v1.Pod, book *resources.Book, groups Groups) []string {
	devices := book.Devices(pod)
	refused := slices.Concat(unsupportedBySpec(pod, book.CountsDevices()), devices.Refused)
	if !IsInGroup(pod) {
		return refused
	}
	of := groupsOf(groups, []*v1.Pod{pod})[GroupOf(pod)]
	return append(refused, refusedInGroup(of, len(devices.Requests) > 0)...)
}

func unsupportedBySpec(pod *v1.Pod, countsDevices bool) []string {
	var needs []string
	add := func(need string, applies bool) {
		if applies {
			needs = append(needs, need)
		}
	}
	add(openVolumes, hasVolume(pod, bindsToNodes))
	add(ephemeralVolumes, hasVolume(pod, func(source *v1.VolumeSource) bool { return source.Ephemeral != nil }))
	add(resourceClaims, len(pod.Spec.ResourceClaims) > 0 && !countsDevices)
	add(unreadableNodeAffinity, !readableNodes(pod))
	add(unreadablePodSelector, !readablePods(pod))
	add(uncountable, !resources.Countable(pod))
	return needs
}

func hasVolume(pod *v1.Pod, of func(*v1.VolumeSource) bool) bool {
	for i := range pod.Spec.Volumes { // they are large
		if of(&pod.Spec.Volumes[i].VolumeSource) {
			return true
		}
	}
	return false
}

// readableNodes says whether the scheduler can read every term. Kubernetes accepts Gt with a value that is not a number.
func readableNodes(pod *v1.Pod) bool {
	affinity, _, _ := affinitiesOf(pod)
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		if _, err := nodeaffinity.NewNodeSelector(required); err != nil {
			return false
		}
	}
	_, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.PreferredDuringSchedulingIgnoredDuringExecution)
	return err == nil
}

func readablePods(pod *v1.Pod) bool {
	return !slices.ContainsFunc(podAffinityTerms(pod), func(term v1.PodAffinityTerm) bool {
		return !readable(term.LabelSelector) || !readable(term.NamespaceSelector)
	}) && !slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(constraint v1.TopologySpreadConstraint) bool {
		return !readable(constraint.LabelSelector)
	})
}

func readable(selector *metav1.LabelSelector) bool {
	_, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil
}

// bindsToNodes says whether the volume restricts the pod's node. A volume that is made on the pod's node does not, unless
// the node takes only so many of its driver's.
func bindsToNodes(source *v1.VolumeSource) bool {
	free := source.ConfigMap != nil || source.Secret != nil || source.EmptyDir != nil ||
		source.Projected != nil || source.DownwardAPI != nil || source.HostPath != nil ||
		source.NFS != nil || source.Image != nil || source.Ephemeral != nil ||
		source.CSI != nil || source.PersistentVolumeClaim != nil // looked up when the snapshot is taken
	return !free
}
