package priorityoptimizer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister names the events after which a pod that this plugin rejected may pass. The plugin itself activates
// the pods that wait for the end of a solve or a plan; the events are for those that wait for room.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint},
			QueueingHintFn: p.hint},
	}, nil
}

// hint keeps a pod out of the active queue while a solve goes on, and a pod of the active plan until the plan sends it
// to a node: otherwise each eviction of the plan would wake up all of its pods.
func (p *Plugin) hint(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
	if p.hold.active() || p.isPlanned(pod) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
