//go:build !k8s136

package minor

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/ptr"
)

// AroundNext has before called whenever the scheduler asks for what it schedules next, and after with its number of pods.
func AroundNext(of *scheduler.Scheduler, before func(), after func(pods int)) {
	next := of.NextEntity
	of.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		before()
		entity, err := next(logger)
		if entity != nil {
			after(entity.Size())
		}
		return entity, err
	}
}

// PassOver has the scheduler pass over the pods that skip has dealt with, as long as there are more; else it gets none.
func PassOver(of *scheduler.Scheduler, skip func(pod *framework.QueuedPodInfo) bool, more func() bool) {
	next := of.NextEntity
	of.NextEntity = func(logger klog.Logger) (framework.QueuedEntityInfo, error) {
		for {
			entity, err := next(logger)
			pod, alone := entity.(*framework.QueuedPodInfo)
			if err != nil || !alone || !skip(pod) {
				return entity, err
			}
			if !more() {
				return nil, nil
			}
		}
	}
}

// NewInformerFactory returns the informers that the scheduler itself would make.
func NewInformerFactory(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return scheduler.NewInformerFactory(client, resync, nil)
}

// AddUnschedulable puts a pod back into the queue after a failed cycle.
func AddUnschedulable(queue internalqueue.SchedulingQueue, logger klog.Logger, pod *framework.QueuedPodInfo, cycle int64) error {
	return queue.AddUnschedulablePodIfNotPresent(logger, pod, cycle)
}

// Delete takes a pod out of the queue.
func Delete(queue internalqueue.SchedulingQueue, logger klog.Logger, pod *v1.Pod) {
	queue.Delete(logger, pod)
}

// SnapshotOptions are what a framework with a snapshot of its own needs besides, for the plugins of pod groups.
func SnapshotOptions(snapshot *cache.Snapshot) []frameworkruntime.Option {
	return []frameworkruntime.Option{frameworkruntime.WithMutableSnapshotLister(snapshot)}
}

// GroupPluginSets are the extension points of pod groups.
func GroupPluginSets(plugins *config.Plugins) []*config.PluginSet {
	return []*config.PluginSet{&plugins.PlacementGenerate, &plugins.PlacementScore, &plugins.PodGroupPostFilter}
}

// Groups returns what finds a pod group by its namespace and name in the scheduler's informer. It is nil where the
// scheduler watches none: an informer of a kind that is not served never has all of its objects.
func Groups(handle fwk.Handle) func(namespace, name string) (Group, bool) {
	if !utilfeature.DefaultFeatureGate.Enabled(features.GenericWorkload) {
		return nil
	}
	groups := handle.SharedInformerFactory().Scheduling().V1beta1().PodGroups().Lister()
	return func(namespace, name string) (Group, bool) {
		object, err := groups.PodGroups(namespace).Get(name)
		if err != nil {
			return Group{}, false
		}
		spec := &object.Spec
		group := Group{
			MinCount:  1,
			Priority:  schedulerutil.PodGroupPriority(object),
			Parent:    ptr.Deref(spec.ParentCompositePodGroupName, ""),
			HasClaims: len(spec.ResourceClaims) > 0,

			LeavesWhole: spec.DisruptionMode != nil && spec.DisruptionMode.All != nil,
		}
		if gang := spec.SchedulingPolicy.Gang; gang != nil {
			group.Gang, group.MinCount = true, max(1, gang.MinCount)
		}
		keepsTogether := utilfeature.DefaultFeatureGate.Enabled(features.TopologyAwareWorkloadScheduling)
		if constraints := spec.SchedulingConstraints; keepsTogether && constraints != nil && len(constraints.Topology) > 0 {
			group.TopologyKey = constraints.Topology[0].Key
		}
		if utilfeature.DefaultFeatureGate.Enabled(features.PodGroupPreemptionPolicy) {
			group.PreemptionPolicy = v1.PreemptionPolicy(ptr.Deref(spec.PreemptionPolicy, "PreemptLowerPriority"))
		}
		return group, true
	}
}

// PodGroupPostFilter implements fwk.PodGroupPostFilterPlugin.
func (p GroupPostFilter) PodGroupPostFilter(
	_ context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, _ fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	if p.Failed == nil {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	return nil, p.Failed(state, group.GetUnscheduledPods())
}

// WideAntiAffinity returns the node's pods whose required anti-affinity goes beyond the node.
func WideAntiAffinity(node fwk.NodeInfo) []fwk.PodInfo {
	return node.GetPodsWithRequiredNonHostScopedAntiAffinity()
}

// TakesOfNode says that the device takes some of the resources that its node has for pods.
func TakesOfNode(device *resourceapi.Device) bool { return len(device.NodeAllocatableResources) > 0 }

// Exactly is the alternative of a request as a request by itself.
func Exactly(of *resourceapi.DeviceSubRequest) *resourceapi.ExactDeviceRequest {
	return &resourceapi.ExactDeviceRequest{DeviceClassName: of.DeviceClassName, Selectors: of.Selectors,
		AllocationMode: of.AllocationMode, Count: of.Count, Tolerations: of.Tolerations, Capacity: of.Capacity,
		DerivedAttributes: of.DerivedAttributes}
}

// DerivesAttributes says that the request computes attributes of devices.
func DerivesAttributes(request *resourceapi.ExactDeviceRequest) bool {
	return len(request.DerivedAttributes) > 0
}

// HasAlphaFields says that the slice's devices skip operations of the node, or may not be had with one another.
func HasAlphaFields(slice *resourceapi.ResourceSliceSpec) bool {
	return len(slice.SkipNodeOperations) > 0 || slices.ContainsFunc(slice.Devices, func(device resourceapi.Device) bool {
		return slices.ContainsFunc(device.ConsumesCounters, func(one resourceapi.DeviceCounterConsumption) bool {
			return len(one.CompatibilityGroups) > 0
		})
	})
}
