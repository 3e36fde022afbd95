// Package leadership tells a scheduler's plugins that it has begun to schedule.
//
// A process that waits for the lease builds its plugins and fills its caches, but must change
// nothing in the cluster. The scheduler asks for its first pod only when it leads, and exits when it
// no longer does.
package leadership

import (
	"sync"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Announce calls begun once, as soon as the scheduler asks for its first pod. It must be called
// before the scheduler runs.
func Announce(of *scheduler.Scheduler, begun func()) {
	next := of.NextPod
	var once sync.Once
	of.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		once.Do(begun)
		return next(logger)
	}
}
