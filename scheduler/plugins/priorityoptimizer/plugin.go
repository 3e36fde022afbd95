package priorityoptimizer

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	args   *PriorityOptimizerArgs
	handle fwk.Handle
}

var (
	_ fwk.PreEnqueuePlugin = &Plugin{}
	_ fwk.PreFilterPlugin  = &Plugin{}
	_ fwk.PostFilterPlugin = &Plugin{}
	_ fwk.ReservePlugin    = &Plugin{}
	_ fwk.PostBindPlugin   = &Plugin{}
)

func newPlugin(_ context.Context, args *PriorityOptimizerArgs, handle fwk.Handle) (*Plugin, error) {
	return &Plugin{args: args, handle: handle}, nil
}

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// PreEnqueue holds new pods back while a solve goes on.
func (p *Plugin) PreEnqueue(_ context.Context, _ *v1.Pod) *fwk.Status { return nil }

// PreFilter steers the pods of a plan to their nodes.
func (p *Plugin) PreFilter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, nil
}

// PreFilterExtensions returns nil: nothing that PreFilter decides changes with one pod.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable.
func (p *Plugin) PostFilter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// Reserve takes an open place of the plan.
func (p *Plugin) Reserve(_ context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	return nil
}

// Unreserve gives the place back.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) {}

// PostBind counts the arrival.
func (p *Plugin) PostBind(_ context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) {}
