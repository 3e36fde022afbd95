package scorecache_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/simulation"
)

// TestEqualPodsShareARanking: the second pod pays for it, and as much of it may be used before the next as the paper's tau
// says. With room for two keys, the third drops the one that was not asked for.
func TestEqualPodsShareARanking(t *testing.T) {
	var kinds []v1.Pod
	for i, kind := range []int64{1, 1, 2, 2, 1, 3, 3, 1, 2} {
		kinds = append(kinds, pod(fmt.Sprintf("pod-%d", i), 100*kind, 128))
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
		"three kinds": {map[string]any{"maxEntries": 2}, kinds, map[string]int{
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
