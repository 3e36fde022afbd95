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
	// profile is read once, when the profile is complete: plugins are made before that.
	profile func() profile

	// mu is the paper's in-flight guard: a caller that comes while a ranking is made waits, and uses it.
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

// PreFilter restricts the framework to one node, if the cache has one for the pod.
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

// PreFilterExtensions returns nil: no decision of PreFilter changes when one pod is added or removed.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PreScore is reached in full scheduling cycles only, and records which filter plugins did not apply.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if data := cycleDataOf(state); data != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		data.entry.skip, data.entry.learnt = state.GetSkipFilterPlugins(), data.epochs
	}
	return fwk.NewStatus(fwk.Skip)
}

// PostFilter at once gives a pod whose cached node was refused a full scheduling cycle. It must be the first PostFilter
// plugin: no other may make room on that node while other nodes are free. Some filter that the cache had skipped refused
// the node, so what is known of the key is discarded.
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

// EventsToRegister names the events after which a refused pod may pass. PostFilter itself activates it.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.All}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.All}},
	}, nil
}
