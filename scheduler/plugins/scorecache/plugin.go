package scorecache

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/plugins/scorecache/podkey"
)

// Plugin is the ScoreCache plugin of one profile.
type Plugin struct {
	args     *Args
	handle   fwk.Handle
	owners   *podkey.Owners
	features podkey.Features
	served   servedPods
	// profile is looked at once, when it is complete: plugins are made before.
	profile func() profile

	// mu is the paper's in-flight guard: whoever asks while a ranking is made waits, and uses it.
	mu      sync.Mutex
	changes nodeChangeLog
	entries entries
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// PreFilter names the one node that the framework is to look at, if the cache has one for the pod.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	began := time.Now()
	if reason := p.bypass(state, pod); reason != "" {
		bypassesTotal.WithLabelValues(reason).Inc()
		return nil, nil
	}
	node, made, miss := p.pick(ctx, state, pod, nodes)
	if miss != "" {
		missesTotal.WithLabelValues(miss).Inc()
		return nil, nil
	}
	if !made {
		hitsTotal.Inc()
		pickSeconds.Observe(time.Since(began).Seconds())
	}
	p.served.add(pod.UID)
	return &fwk.PreFilterResult{NodeNames: sets.New(node)}, nil
}

// PreFilterExtensions returns nil: nothing that PreFilter decides changes with one pod.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PreScore is reached on the full way only, and learns which filter plugins had nothing to say.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if data := cycleDataOf(state); data != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		data.entry.skip, data.entry.learnt = state.GetSkipFilterPlugins(), data.epochs
	}
	return fwk.NewStatus(fwk.Skip)
}

// PostFilter sends a pod whose cached node was refused after all the full way at once. It must be the first
// such plugin: no other may make room on that node while others are free. Some filter had something to say that the
// cache did not ask for, so that what is known of the key is forgotten.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	data := cycleDataOf(state)
	if data == nil || !data.served {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	refusedTotal.Inc()
	p.mu.Lock()
	p.retire(data.entry, causeRefused)
	data.entry.forget()
	p.mu.Unlock()
	p.handle.Activate(klog.FromContext(ctx), map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod})
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageRefused)
}

const messageRefused = "the node found for earlier pods like this one is taken; all nodes are looked at next"

// EventsToRegister names what may help a pod that was refused. PostFilter wakes it up by itself.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.All}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.All}},
	}, nil
}
