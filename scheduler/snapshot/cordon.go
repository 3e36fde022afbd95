package snapshot

import (
	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

// cordon is how the scheduler sees that a node is unschedulable.
var cordon = v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}

// Takes says whether the node is open to the pod at all. Whether the pod fits is for the
// scheduler's plugins to say.
func (n *Node) Takes(pod *Pod) bool {
	return !n.Cordoned ||
		corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Object.Spec.Tolerations, &cordon, false)
}
