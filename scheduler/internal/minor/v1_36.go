//go:build k8s136

package minor

import (
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// AroundNext has before called whenever the scheduler asks for the pod that it schedules next, and after when it has one.
func AroundNext(of *scheduler.Scheduler, before func(), after func(pods int)) {
	next := of.NextPod
	of.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		before()
		pod, err := next(logger)
		if pod != nil {
			after(1)
		}
		return pod, err
	}
}

// PassOver has the scheduler pass over the pods that skip has dealt with, as long as there are more; else it gets none.
func PassOver(of *scheduler.Scheduler, skip func(pod *framework.QueuedPodInfo) bool, more func() bool) {
	next := of.NextPod
	of.NextPod = func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		for {
			pod, err := next(logger)
			if err != nil || pod == nil || !skip(pod) {
				return pod, err
			}
			if !more() {
				return nil, nil
			}
		}
	}
}

// NewInformerFactory returns the informers that the scheduler itself would make.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, resync)
}

// AddUnschedulable puts a pod back into the queue after a failed cycle.
func AddUnschedulable(queue internalqueue.SchedulingQueue, logger klog.Logger, pod *framework.QueuedPodInfo, cycle int64) error {
	return queue.AddUnschedulableIfNotPresent(logger, pod, cycle)
}

// Delete takes a pod out of the queue.
func Delete(queue internalqueue.SchedulingQueue, _ klog.Logger, pod *v1.Pod) { queue.Delete(pod) }

// SnapshotOptions are none: the framework knows no plugins of pod groups that would change a snapshot.
func SnapshotOptions(*cache.Snapshot) []frameworkruntime.Option { return nil }

// GroupPluginSets are none: pod groups have no extension points yet.
func GroupPluginSets(*config.Plugins) []*config.PluginSet { return nil }

// Groups is nil: plans have known pod groups since the next minor.
func Groups(fwk.Handle) func(namespace, name string) (Group, bool) { return nil }

// WideAntiAffinity is not told apart from other anti-affinity yet.
func WideAntiAffinity(fwk.NodeInfo) []fwk.PodInfo { return nil }

// TakesOfNode says that the device takes some of the resources that its node has for pods.
func TakesOfNode(device *resourceapi.Device) bool {
	return len(device.NodeAllocatableResourceMappings) > 0
}

// Exactly is the alternative of a request as a request by itself.
func Exactly(of *resourceapi.DeviceSubRequest) *resourceapi.ExactDeviceRequest {
	return &resourceapi.ExactDeviceRequest{DeviceClassName: of.DeviceClassName, Selectors: of.Selectors,
		AllocationMode: of.AllocationMode, Count: of.Count, Tolerations: of.Tolerations, Capacity: of.Capacity}
}

// DerivesAttributes is unknown yet.
func DerivesAttributes(*resourceapi.ExactDeviceRequest) bool { return false }

// HasAlphaFields is unknown yet.
func HasAlphaFields(*resourceapi.ResourceSliceSpec) bool { return false }
