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

// TestEqualPodsShareARanking: the second pod pays for it, and as much of it may be used before the next as the paper's tau
// says. With room for two keys, the third drops the one that was not asked for.
func TestEqualPodsShareARanking(t *testing.T) {
	var threeSizes []v1.Pod
	for i, size := range []int64{1, 1, 2, 2, 1, 3, 3, 1, 2} {
		threeSizes = append(threeSizes, pod(fmt.Sprintf("pod-%d", i), 100*size, 128))
	}
	for name, row := range map[string]struct {
		args map[string]any
		pods []v1.Pod
		want map[string]int
	}{
		// 1 to learn from, then 21 to a ranking of 40: past tau are more than 20.
		"half of it": {nil, pods(41, 100, 128), map[string]int{"misses_total unknown": 1, "refreshes_total first": 1,
			"refreshes_total consumed": 1, "hits_total": 38, "retired_total consumed": 1}},
		// Past a tenth of 40 are 5 pods.
		"a tenth of it": {map[string]any{"refreshThreshold": 0.1}, pods(41, 100, 128), map[string]int{"refreshes_total consumed": 7}},
		"all of it":     {map[string]any{"refreshThreshold": 1}, pods(41, 100, 128), map[string]int{"refreshes_total consumed": 0}},
		// 3 drops 2, so that 1 is served by its ranking once more, and 2 is unknown again and drops 3.
		"three sizes": {map[string]any{"maxEntries": 2}, threeSizes, map[string]int{
			"evictions_total": 2, "refreshes_total first": 3, "misses_total unknown": 4, "hits_total": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			simulator := simulatorOf(t, withCache(t, "default", row.args), nil)
			expectCounts(t, place(t, simulator, simulation.Instance{Nodes: nodes(40, 8000, 16384), Pods: row.pods}), row.want)
		})
	}
}

// TestWhateverHappensThePlacementIsThatOfScoringAllNodes: one row for each thing that may happen to a ranking, with
// what the cache must make of it.
func TestWhateverHappensThePlacementIsThatOfScoringAllNodes(t *testing.T) {
	const count = 12
	changed := func(changes ...func(*v1.Node)) *v1.Node { return node(nodeName(6), 4000, 8192, changes...) }
	for _, row := range []struct {
		name   string
		change simulation.Change
		// retired is the cause for which the ranking must go; without one it must stay.
		retired string
	}{
		{"a node is added", simulation.Change{Node: node("a-new-one", 4000, 8192)}, "nodes"},
		{"a node is removed", simulation.Change{NodeGone: nodeName(6)}, "nodes"},
		{"a node is cordoned", simulation.Change{Node: changed(cordoned)}, ""},
		{"a node is tainted", simulation.Change{Node: changed(tainted("t", v1.TaintEffectNoSchedule))}, "node-properties"},
		{"a node is softly tainted", simulation.Change{Node: changed(tainted("t", v1.TaintEffectPreferNoSchedule))}, "node-properties"},
		{"a node is labelled", simulation.Change{Node: changed(labelled("a", "b"))}, "node-properties"},
		{"a node shrinks", simulation.Change{Node: node(nodeName(6), 100, 8192)}, "node-properties"},
		{"a node grows", simulation.Change{Node: node(nodeName(6), 9000, 8192)}, "node-properties"},
		{"a node's heartbeat", simulation.Change{Node: changed(func(n *v1.Node) {
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}}
		})}, ""},
		{"a node's image", simulation.Change{Node: changed(func(n *v1.Node) {
			n.Status.Images = []v1.ContainerImage{{Names: []string{"image:latest"}, SizeBytes: 1}}
		})}, ""},
		{"a cached pod is deleted", simulation.Change{PodGone: "default/pod-0002"}, ""},
		{"a pod is deleted that made a node infeasible", simulation.Change{PodGone: "default/blocker"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.change.After = 5
			instance := simulation.Instance{
				Nodes:   nodes(count, 4000, 8192),
				Pods:    append(pods(3*count, 300, 600), pod("blocker", 3900, 100, onNode(nodeName(3)))),
				Changes: []simulation.Change{row.change},
			}
			got := asStock(t, instance, map[string]any{"refreshThreshold": 1})
			if retired := countedAll(got, "retired_total"); row.retired == "" && retired > 1 {
				t.Errorf("the ranking should stay: %v", got.Measurement.Counters)
			}
			if row.retired != "" && counted(got, "retired_total "+row.retired) != 1 {
				t.Errorf("the ranking should go because of %s: %v", row.retired, got.Measurement.Counters)
			}
		})
	}
}

// TestImagesOnNodesDoNotEndRankings: nodes in use have pulled what they run, and a copy of a node that forgot on how
// many nodes an image is would score less than the node did.
func TestImagesOnNodesDoNotEndRankings(t *testing.T) {
	instance := simulation.Instance{Nodes: nodes(40, 8000, 16384), Pods: pods(40, 100, 128)}
	for i := range instance.Nodes {
		instance.Nodes[i].Status.Images = []v1.ContainerImage{{Names: []string{"image:latest"}, SizeBytes: 200 << 20}}
	}
	got := asStock(t, instance, nil)
	if hits, ended := counted(got, "hits_total"), counted(got, "retired_total frame"); hits < 30 || ended > 0 {
		t.Errorf("most pods should be placed by a ranking, none of which ends with its frame: %v", got.Measurement.Counters)
	}
}

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
