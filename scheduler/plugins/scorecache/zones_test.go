package scorecache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/simulation"
)

// TestSoftSpreadSurvivesWhatHappensToZones: services, soft constraints and full zones, with random events. The choice may
// differ from scoring all nodes (see the package's description), but each placed pod must have room on its node, no pod
// may wait while a node has room for it, and nothing may fail.
func TestSoftSpreadSurvivesWhatHappensToZones(t *testing.T) {
	hits, ended := 0, 0
	for _, threshold := range []float64{0.5, 1} {
		cached := simulatorOf(t, withCache(t, "deterministic", map[string]any{"refreshThreshold": threshold}), nil)
		for seed := range 4 * seeds {
			instance := zonedInstance(seed)
			got := place(t, cached, instance)
			hits += counted(got, "hits_total")
			ended += counted(got, "retired_total feasible-set")
			if counted(got, "feasible_set_mismatches_total") > 0 {
				t.Errorf("seed %d: feasible nodes changed behind the cache's back", seed)
			}
			checkPlacement(t, seed, instance, got)
		}
	}
	if hits == 0 || ended == 0 {
		t.Errorf("%d pods were placed by rankings, %d rankings ended with a zone: nothing was shown", hits, ended)
	}
}

// zonedInstance has zones some of whose nodes are full until their blockers end.
func zonedInstance(seed uint64) simulation.Instance {
	random := rand.New(rand.NewPCG(seed, 4))
	var instance simulation.Instance
	if random.IntN(2) == 0 {
		instance.Objects = []simulation.Object{aService()}
	}
	zones := 2 + random.IntN(3)
	full := random.IntN(zones)
	for i := range zones * (2 + random.IntN(4)) {
		instance.Nodes = append(instance.Nodes, *node(nodeName(i), 2000*(1+random.Int64N(2)), 16384, inZone(i%zones)))
		if i%zones == full || random.IntN(4) == 0 {
			free := instance.Nodes[i].Status.Capacity.Cpu().MilliValue() - 50
			instance.Pods = append(instance.Pods, pod(fmt.Sprintf("blocker-%d", i), free, 64, onNode(nodeName(i))))
		}
	}
	blockers := len(instance.Pods)
	kinds := []func(string) v1.Pod{zonedKind(random), zonedKind(random)}
	for i := range 12 * len(instance.Nodes) {
		instance.Pods = append(instance.Pods, kinds[random.IntN(2)](fmt.Sprintf("pod-%04d", i)))
	}
	for range 3 + random.IntN(8) {
		after := blockers + random.IntN(len(instance.Pods)-blockers)
		gone := random.IntN(after)
		if random.IntN(2) == 0 {
			gone = random.IntN(blockers)
		}
		instance.Changes = append(instance.Changes, simulation.Change{After: after, PodGone: "default/" + instance.Pods[gone].Name})
	}
	return instance
}

// zonedKind makes pods that are spread over zones, by the default constraints or by their own.
func zonedKind(random *rand.Rand) func(string) v1.Pod {
	cpuMilli, skew := 100*(1+random.Int64N(4)), 1+random.Int32N(3)
	var changes []func(*v1.Pod)
	if random.IntN(2) == 0 {
		changes = append(changes, spread(v1.LabelTopologyZone, skew, v1.ScheduleAnyway))
	}
	return func(name string) v1.Pod { return pod(name, cpuMilli, 64, changes...) }
}

// checkPlacement checks that no node is over-committed, and that no pod waits that would fit.
func checkPlacement(t *testing.T, seed uint64, instance simulation.Instance, result simulation.Result) {
	t.Helper()
	free := map[string]int64{}
	for i := range instance.Nodes {
		free[instance.Nodes[i].Name] = instance.Nodes[i].Status.Capacity.Cpu().MilliValue()
	}
	gone := map[string]bool{}
	for i := range instance.Changes {
		gone[instance.Changes[i].PodGone] = true
	}
	least := int64(1 << 40)
	for i := range instance.Pods {
		name := "default/" + instance.Pods[i].Name
		if gone[name] {
			continue
		}
		cpu := instance.Pods[i].Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
		if at := result.Placements[name]; at != "" {
			free[at] -= cpu
		} else {
			least = min(least, cpu)
		}
	}
	for name, left := range free {
		if left < 0 || left >= least {
			t.Errorf("seed %d: %s has %d left, the smallest pod that waits takes %d", seed, name, left, least)
		}
	}
}

// TestOnlyPodsOnNodesThatCountAreCounted: PodTopologySpread ignores nodes that the pod may not go to. If the cache counted
// the pods there, it would avoid a zone that has no more pods than the others.
func TestOnlyPodsOnNodesThatCountAreCounted(t *testing.T) {
	for name, row := range map[string]struct {
		out    func(*v1.Node)
		taints *v1.NodeInclusionPolicy
	}{
		"affinity": {func(n *v1.Node) { delete(n.Labels, "ssd") }, nil},
		"taints":   {tainted("hard", v1.TaintEffectNoSchedule), ptr.To(v1.NodeInclusionPolicyHonor)},
	} {
		instance := simulation.Instance{Nodes: nodes(18, 8000, 16384)}
		for i := range instance.Nodes {
			inZone(i % 2)(&instance.Nodes[i])
			labelled("ssd", "yes")(&instance.Nodes[i])
		}
		row.out(&instance.Nodes[0])
		instance.Pods = pods(64, 100, 128, spread(v1.LabelTopologyZone, 1, v1.ScheduleAnyway), func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = row.taints
			p.Spec.NodeSelector = map[string]string{"ssd": "yes"}
		})
		for i := 8; i < 40; i += 2 {
			instance.Pods[i] = pod(instance.Pods[i].Name, 100, 128, onNode(nodeName(0)))
		}
		got := place(t, simulatorOf(t, withCache(t, "deterministic", map[string]any{"refreshThreshold": 1}), nil), instance)
		counts := perZone(got, instance.Nodes[1:])
		if difference := counts["zone-0"] - counts["zone-1"]; difference < -1 || difference > 1 {
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
		path := composed(t, "default", map[string]any{
			"ScoreCache": map[string]any{"defaultSpreadTopologyKeys": []any{row.said}},
			"PodTopologySpread": map[string]any{
				"defaultingType":     "List",
				"defaultConstraints": []any{map[string]any{"topologyKey": row.real, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}},
			},
		}, "ScoreCache")
		instance := simulation.Instance{Objects: []simulation.Object{aService()}, Nodes: nodes(12, 8000, 8192), Pods: pods(24, 100, 128)}
		for i := range instance.Nodes {
			inZone(i % 3)(&instance.Nodes[i])
			labelled("rack", fmt.Sprint(i%4))(&instance.Nodes[i])
		}
		result := place(t, simulatorOf(t, path, nil), instance)
		served, missed := counted(result, "hits_total") > 0, counted(result, "misses_total topologies") > 0
		if served != row.served || missed == row.served {
			t.Errorf("said %s, is %s: served should be %t: %v", row.said, row.real, row.served, result.Measurement.Counters)
		}
	}
}
