package gate

import (
	"context"
	"errors"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/minor"
)

// HandleFailures puts the pods that the plugin rejected back into the queue without a status write: the plugin activates
// them again, and the rejection says nothing about them. The scheduler writes each failure before it takes the next pod,
// 50 a second at its stock limits, so a solve for 500 pods would make all others wait for ten seconds. It must be called
// before the scheduler runs.
func (g *Gate) HandleFailures(of *scheduler.Scheduler) {
	handle := of.FailureHandler
	of.FailureHandler = func(ctx context.Context, profile framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time) {
		rejected := false
		if profile.ProfileName() == g.handle.ProfileName() {
			reason := g.Waiting.Reason(pod.Pod.UID)
			rejected = reason != "" && reason != ReasonReserved
		}
		if !rejected || !requeue(ctx, of.SchedulingQueue, profile, pod, status) {
			handle(ctx, profile, pod, status, nominating, start)
		}
	}
}

// requeue does with the queue what the scheduler does after a failed cycle. It reports false, and does nothing, where
// more has to be done.
func requeue(ctx context.Context, queue internalqueue.SchedulingQueue, profile framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status) bool {
	var unfit *framework.FitError
	if !errors.As(status.AsError(), &unfit) || pod.Pod.Status.NominatedNodeName != "" {
		return false
	}
	live, err := profile.SharedInformerFactory().Core().V1().Pods().Lister().Pods(pod.Pod.Namespace).Get(pod.Pod.Name)
	if err != nil || live.UID != pod.Pod.UID || live.Spec.NodeName != "" {
		return false
	}
	// The error is about selectors that the API server accepted; such a pod is queued like any other.
	info, _ := framework.NewPodInfo(live.DeepCopy())
	pod.ClearRejectorPlugins()
	pod.PodInfo = info
	pod.UnschedulablePlugins, pod.PendingPlugins = unfit.Diagnosis.UnschedulablePlugins, unfit.Diagnosis.PendingPlugins
	if err := minor.AddUnschedulable(queue, klog.FromContext(ctx), pod, queue.SchedulingCycle()); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Error occurred")
	}
	return true
}
