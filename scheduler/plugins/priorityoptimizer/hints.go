package priorityoptimizer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventsToRegister names what may let a pod pass that this plugin turned away. Pods that wait
// for the end of a solve or a plan are woken up by the plugin itself; the events are for those
// that wait for room.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint},
			QueueingHintFn: p.hint},
	}, nil
}

// hint spares a pod the way to the queue and back while a solve goes on, and one that the running plan will send to a
// node until it does: each of its evictions would wake up all of them.
func (p *Plugin) hint(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
	if p.hold.active() || p.isPlanned(pod) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
