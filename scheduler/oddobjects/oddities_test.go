package oddobjects_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func oddPorts(g generator, pod *v1.Pod) {
	for i := range 1 + g.IntN(4) {
		port := oneOf[int32](g, 1, 80, 8080, 65535)
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, v1.ContainerPort{Name: fmt.Sprintf("p%d", i),
			ContainerPort: port, HostPort: oneOf(g, 0, port, port), HostIP: oneOf(g, "", "0.0.0.0", "127.0.0.1", "::", "::1"),
			Protocol: oneOf(g, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)})
	}
	pod.Spec.HostNetwork, pod.Spec.HostPID, pod.Spec.HostIPC = g.seldom(), g.seldom(), g.seldom()
}

func oddPriority(g generator, pod *v1.Pod) {
	priority := oneOf[int32](g, math.MinInt32, math.MinInt32+1, -1, 0, 1, 1_999_999_999, 2_000_000_000, math.MaxInt32)
	pod.Spec.Priority = &priority
	if g.often() {
		policy := oneOf(g, v1.PreemptNever, v1.PreemptLowerPriority)
		pod.Spec.PreemptionPolicy = &policy
	}
}

func oddMetadata(g generator, pod *v1.Pod) {
	switch g.IntN(5) {
	case 0:
		pod.Labels = g.labels(g.upTo(3000))
	case 1:
		pod.Name += strings.Repeat("p", 253-len(pod.Name))
	case 2:
		pod.Annotations = map[string]string{v1.PodDeletionCost: oneOf(g, "-2147483648", "2147483647", "0")}
	case 3:
		pod.Annotations = map[string]string{oneOf(g, "stowage.dev/do-not-move", "stowage.dev/reservation-allocated",
			"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict", v1.MirrorPodAnnotationKey): oneOf(g,
			"", "true", "\xff", "false", "{", `{"uid":{}}`)}
	case 4:
		pod.Labels = map[string]string{"statefulset.kubernetes.io/pod-name": pod.Name[:min(63, len(pod.Name))],
			"controller-revision-hash": g.value()}
	}
}

func oddOwner(g generator, pod *v1.Pod) {
	if len(pod.OwnerReferences) == 0 {
		return
	}
	switch g.IntN(4) {
	case 0:
		pod.OwnerReferences = nil
	case 1:
		pod.OwnerReferences[0].Kind = oneOf(g, "DaemonSet", "Job", "StatefulSet", "Weird", "\xfe")
	case 2:
		pod.OwnerReferences[0].Name = oneOf(g, strings.Repeat("w", 5000), "\xff\xff", "a/b\nc")
	case 3:
		for i := range 100 {
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap",
				Name: "x", UID: types.UID(fmt.Sprintf("x-%d", i))})
		}
	}
}

func oddLife(g generator, pod *v1.Pod) {
	grace := oneOf[int64](g, 0, 1, math.MaxInt64)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Finalizers = []string{"example.com/never"}
	pod.Status.StartTime = oneOf(g, nil, &metav1.Time{}, &metav1.Time{Time: time.Unix(1<<40, 0)}, &metav1.Time{Time: time.Unix(-1<<40, 0)})
	if g.often() {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(2000, 0)}, &grace
	}
	if pod.Spec.NodeName == "" && g.seldom() {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
}

func oddVolumes(g generator, pod *v1.Pod) {
	for i := range 1 + g.IntN(3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: oneOf(g,
			v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
			v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}},
			v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}},
			v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "example.com"}},
			v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/"}},
			v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
				Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
					Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}}}}},
			v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{
				ClaimName: oneOf(g, "claim-0", "claim-0", "claim-1", "claim-2", "missing", "unbound")}})})
	}
}

func oddNeeds(g generator, pod *v1.Pod) {
	claim, group := "claim", "group"
	if g.often() {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "a", ResourceClaimName: &claim}, {Name: "b", ResourceClaimName: &claim}}
		return
	}
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
}

// oddSelf is of another scheduler, or on a node that the scheduler did not choose.
func oddSelf(g generator, pod *v1.Pod) {
	if g.often() {
		pod.Spec.SchedulerName = oneOf(g, "other", strings.Repeat("s", 63))
		return
	}
	pod.Spec.NodeName, pod.Status.Phase = oneOf(g, "node-0", "nowhere"), v1.PodRunning
}
