package scorecache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/simulation"
)

// inconsistent is a Filter plugin that accepts a pod when the cache runs it, and refuses the pod when the framework first
// does.
type inconsistent struct {
	mu      sync.Mutex
	about   string
	refused bool
}

func (*inconsistent) Name() string { return "Inconsistent" }

func (p *inconsistent) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, framework := state.(*framework.CycleState); !framework || pod.Name != p.about || p.refused {
		return nil
	}
	p.refused = true
	return fwk.NewStatus(fwk.Unschedulable, "changed its mind")
}

func registryOf(plugin fwk.Plugin) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		plugin.Name(): func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil },
	}
}

// trusting is a profile with a plugin that the cache is told to trust.
func trusting(t *testing.T, plugin string) string {
	t.Helper()
	return composed(t, "default", map[string]any{"ScoreCache": map[string]any{"trustedPlugins": []any{plugin}}}, plugin, "ScoreCache")
}

// TestACachedNodeThatIsRefusedAfterAllCostsOneAttempt: the framework would take the refusal for a pod that fits
// nowhere, and preempt others on the one node that it looked at.
func TestACachedNodeThatIsRefusedAfterAllCostsOneAttempt(t *testing.T) {
	plugin := &inconsistent{about: "pod-0007"}
	instance := simulation.Instance{Nodes: nodes(12, 1000, 8192), Pods: pods(12, 700, 128, withPriority(5))}
	for i := range 12 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("victim-%02d", i), 200, 128, onNode(nodeName(i)), withPriority(1)))
	}
	result := place(t, simulatorOf(t, trusting(t, plugin.Name()), registryOf(plugin)), instance)
	if result.Placements["default/pod-0007"] == "" {
		t.Error("the pod should be placed in its second cycle")
	}
	if len(result.Evicted) > 0 {
		t.Errorf("no pods should be evicted: %v", result.Evicted)
	}
	expectCounts(t, result, map[string]int{"refused_total": 1, "bypasses_total retry": 1, "retired_total refused": 1})
}

// late is a plugin that is skipped until it has seen some pods, and then refuses all nodes but one.
type late struct {
	mu   sync.Mutex
	seen int
}

func (*late) Name() string { return "Late" }

func (l *late) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen++; l.seen <= 6 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return nil, nil
}

func (*late) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (*late) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Name != nodeName(3) {
		return fwk.NewStatus(fwk.Unschedulable, "another is better")
	}
	return nil
}

// TestSkippedPluginsAreFoundAgainAfterARefusal: the cache does not run the plugins that were skipped for the first pod of
// a key. If they apply by now, each further pod would be given a node that is refused.
func TestSkippedPluginsAreFoundAgainAfterARefusal(t *testing.T) {
	plugin := &late{}
	instance := simulation.Instance{Nodes: nodes(12, 8000, 8192), Pods: pods(24, 100, 128)}
	result := place(t, simulatorOf(t, trusting(t, plugin.Name()), registryOf(plugin)), instance)
	expectCounts(t, result, map[string]int{"refused_total": 1})
	if result.Placements["default/pod-0023"] != nodeName(3) {
		t.Errorf("the last pod is on %q", result.Placements["default/pod-0023"])
	}
}

// TestTheCacheIsOffInAProfileThatItCannotServe: an unknown plugin may depend on anything. For the other reasons see
// TestAnUnavailableReasonSaysWhatToDo.
func TestTheCacheIsOffInAProfileThatItCannotServe(t *testing.T) {
	path := composed(t, "default", nil, "Inconsistent", "ScoreCache")
	instance := simulation.Instance{Nodes: nodes(12, 1000, 8192), Pods: pods(12, 100, 128)}

	result := place(t, simulatorOf(t, path, registryOf(&inconsistent{})), instance)

	expectCounts(t, result, map[string]int{"bypasses_total profile": len(instance.Pods)})
}
