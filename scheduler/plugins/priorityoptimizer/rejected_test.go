package priorityoptimizer

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Pods that are already in the active queue when a solve begins cannot be held before their cycle. Each costs a cycle,
// but no write: the scheduler would take no other pod until that is done.
func TestRejectedPodGoesBackIntoTheQueueWithoutAWrite(t *testing.T) {
	for text, rejected := range map[string]bool{"rejected by the plugin": true, "tried in vain": false} {
		t.Run(text, func(t *testing.T) {
			c, _ := fullNode(t, nothing, manual)
			c.await("it is tried", func() bool { return len(c.tried()) == 1 }, false)
			waiting := c.pods()[slices.IndexFunc(c.pods(), func(pod *v1.Pod) bool { return pod.Name == "waiting" })]
			info, err := framework.NewPodInfo(waiting)
			c.must(err)
			c.scheduler.SchedulingQueue.Delete(waiting)
			if rejected {
				c.plugin.rejected.add(waiting.UID)
			}

			c.scheduler.FailureHandler(c.ctx, c.scheduler.Profiles[v1.DefaultSchedulerName], &framework.QueuedPodInfo{PodInfo: info},
				fwk.AsStatus(&framework.FitError{Pod: waiting, NumAllNodes: 1,
					Diagnosis: framework.Diagnosis{UnschedulablePlugins: sets.New(Name), PreFilterMsg: messageHeld}}), nil, time.Now())

			pending, _ := c.scheduler.SchedulingQueue.PendingPods()
			if len(pending) != 1 {
				t.Errorf("%d pods are in the queue", len(pending))
			}
			if wrote := len(c.tried()) - 1; (wrote == 0) != rejected {
				t.Errorf("%d writes", wrote)
			}
		})
	}
}
