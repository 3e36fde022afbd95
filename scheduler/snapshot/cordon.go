package snapshot

import (
	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// cordon is the taint of an unschedulable node.
var cordon = v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}

// Takes says whether the node accepts the pod despite a cordon. Whether the pod fits is for the scheduler's plugins to
// decide.
func (n *Node) Takes(pod *Pod) bool {
	return !n.Cordoned ||
		corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Object.Spec.Tolerations, &cordon, false)
}
