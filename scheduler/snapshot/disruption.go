package snapshot

import (
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
)

// deletionCost is the pod's deletion cost annotation; one that cannot be read counts as 0, as for the ReplicaSet
// controller.
func deletionCost(pod *v1.Pod) int32 {
	asked, some := pod.Annotations[v1.PodDeletionCost]
	if !some {
		return 0
	}
	cost, err := strconv.ParseInt(asked, 10, 32)
	if err != nil {
		return 0
	}
	return int32(cost)
}

// ageSeconds is how long ago the pod started; it is never negative, although clocks of different machines may disagree.
func ageSeconds(pod *v1.Pod, now time.Time) int64 {
	if pod.Status.StartTime == nil || now.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(pod.Status.StartTime.Time).Seconds()))
}
