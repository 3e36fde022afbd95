package scorecache_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/simulation"
)

// TestOnlyPodsOnNodesThatCountAreCounted: PodTopologySpread ignores nodes that the pod may not go to. If the cache counted
// the pods there, it would avoid a zone that has no more pods than the others.
func TestOnlyPodsOnNodesThatCountAreCounted(t *testing.T) {
	for name, row := range map[string]struct {
		out    func(*v1.Node)
		policy func(*v1.TopologySpreadConstraint)
	}{
		"affinity": {func(n *v1.Node) { delete(n.Labels, "ssd") }, func(*v1.TopologySpreadConstraint) {}},
		"taints": {tainted("hard", v1.TaintEffectNoSchedule), func(c *v1.TopologySpreadConstraint) {
			honor := v1.NodeInclusionPolicyHonor
			c.NodeTaintsPolicy = &honor
		}},
	} {
		instance := simulation.Instance{Nodes: nodes(18, 8000, 16384)}
		for i := range instance.Nodes {
			inZone(i % 2)(&instance.Nodes[i])
			labelled("ssd", "yes")(&instance.Nodes[i])
		}
		row.out(&instance.Nodes[0])
		instance.Pods = pods(64, 100, 128, func(p *v1.Pod) {
			constraint := v1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
			}
			row.policy(&constraint)
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{constraint}
			p.Spec.NodeSelector = map[string]string{"ssd": "yes"}
		})
		for i := 8; i < 40; i += 2 {
			instance.Pods[i] = pod(instance.Pods[i].Name, 100, 128, onNode(nodeName(0)))
		}
		got := nodeEntry(t, simulatorOf(t, withCache(t, "deterministic", map[string]any{"refreshThreshold": 1}), nil), instance)
		var counts [2]int
		for _, at := range got.Placements {
			for i := 1; i < len(instance.Nodes); i++ {
				if instance.Nodes[i].Name == at {
					counts[i%2]++
				}
			}
		}
		if difference := counts[0] - counts[1]; difference < -1 || difference > 1 {
			t.Errorf("%s: the zones should have as many, have %v", name, counts)
		}
		if counted(got, "hits_total") < 10 {
			t.Errorf("%s: too few were placed by a ranking: %v", name, got.Measurement.Counters)
		}
	}
}

// TestDefaultConstraintsThatAreNotTheArgumentsKeepPodsFromTheCache: it would follow other topologies than those that
// PodTopologySpread spreads the pods over.
func TestDefaultConstraintsThatAreNotTheArgumentsKeepPodsFromTheCache(t *testing.T) {
	for _, row := range []struct {
		said, real string
		served     bool
	}{
		{v1.LabelTopologyZone, "rack", false}, {"rack", "rack", true},
	} {
		path := written(t, map[string]any{
			"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
			"profiles": []any{map[string]any{
				"schedulerName": "default-scheduler",
				"plugins": map[string]any{
					"multiPoint": map[string]any{"enabled": []any{map[string]any{"name": "ScoreCache"}}},
					"postFilter": map[string]any{"enabled": []any{map[string]any{"name": "ScoreCache"}}},
				},
				"pluginConfig": []any{
					map[string]any{"name": "ScoreCache", "args": map[string]any{"defaultSpreadTopologyKeys": []any{row.said}}},
					map[string]any{"name": "PodTopologySpread", "args": map[string]any{
						"defaultingType":     "List",
						"defaultConstraints": []any{map[string]any{"topologyKey": row.real, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}},
					}},
				},
			}},
		})
		instance := simulation.Instance{Objects: []simulation.Object{aService()}, Nodes: nodes(12, 8000, 8192), Pods: pods(24, 100, 128)}
		for i := range instance.Nodes {
			inZone(i % 3)(&instance.Nodes[i])
			labelled("rack", fmt.Sprint(i%4))(&instance.Nodes[i])
		}
		result := nodeEntry(t, simulatorOf(t, path, nil), instance)
		served, missed := counted(result, "hits_total") > 0, counted(result, "misses_total topologies") > 0
		if served != row.served || missed == row.served {
			t.Errorf("said %s, is %s: served should be %t: %v", row.said, row.real, row.served, result.Measurement.Counters)
		}
	}
}
