package scorecache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/simulation"
)

// seeds is how many clusters each test makes. A thousand have been tried.
const seeds = uint64(12)

// TestTheCacheChoosesAsScoringAllNodesWould is the promise from which all others follow. In the deterministic
// profile the scheduler scores all nodes for each pod, and ties go to the first by name. With the cache, every
// pod of random clusters, with random events, must get the same node, and those without one must be the same.
func TestTheCacheChoosesAsScoringAllNodesWould(t *testing.T) {
	stock := simulatorOf(t, shipped("deterministic"), nil)
	hits := 0
	for _, threshold := range []float64{0.1, 0.5, 1} {
		cached := simulatorOf(t, withCache(t, "deterministic", map[string]any{"refreshThreshold": threshold}), nil)
		for seed := range seeds {
			instance := randomInstance(seed)
			got := place(t, cached, instance)
			same(t, instance, place(t, stock, instance), got)
			hits += counted(got, "hits_total")
			if counted(got, "feasible_set_mismatches_total") > 0 {
				t.Errorf("seed %d: feasible nodes changed behind the cache's back", seed)
			}
			if t.Failed() {
				t.Fatalf("threshold %g, seed %d", threshold, seed)
			}
		}
	}
	if hits == 0 {
		t.Error("nothing was placed by a ranking, so nothing was shown")
	}
}

// randomInstance fills a cluster of unequal nodes with pods of a few templates, to about its brim, while nodes
// change, come and go, and pods are deleted.
func randomInstance(seed uint64) simulation.Instance {
	random := rand.New(rand.NewPCG(seed, 1))
	var instance simulation.Instance
	for i := range 5 + random.IntN(20) {
		instance.Nodes = append(instance.Nodes, *randomNode(random, nodeName(i)))
	}
	templates := make([]func(string) v1.Pod, 1+random.IntN(4))
	for i := range templates {
		templates[i] = randomTemplate(random)
	}
	for i := range 10 * len(instance.Nodes) {
		made := templates[random.IntN(len(templates))](fmt.Sprintf("pod-%04d", i))
		if random.IntN(20) == 0 {
			made.Spec.NodeName = instance.Nodes[random.IntN(len(instance.Nodes))].Name
		}
		instance.Pods = append(instance.Pods, made)
	}
	for range random.IntN(12) {
		instance.Changes = append(instance.Changes, randomChange(random, &instance))
	}
	return instance
}

func randomNode(random *rand.Rand, name string) *v1.Node {
	changes := []func(*v1.Node){inZone(random.IntN(3))}
	for _, key := range []string{"ssd", "fast"} {
		if random.IntN(3) == 0 {
			changes = append(changes, labelled(key, "yes"))
		}
	}
	switch random.IntN(8) {
	case 0:
		changes = append(changes, tainted("soft", v1.TaintEffectPreferNoSchedule))
	case 1:
		changes = append(changes, tainted("hard", v1.TaintEffectNoSchedule))
	case 2:
		changes = append(changes, cordoned)
	}
	sizes := []int64{2000, 4000, 8000}
	return node(name, sizes[random.IntN(3)], 4*sizes[random.IntN(3)], changes...)
}

// randomTemplate returns what makes pods of one template. Some templates the cache has to leave alone.
func randomTemplate(random *rand.Rand) func(string) v1.Pod {
	cpuMilli, memoryMiB := 100*random.Int64N(12), 128*random.Int64N(16)
	var changes []func(*v1.Pod)
	switch random.IntN(9) {
	case 0:
		changes = append(changes, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"ssd": "yes"} })
	case 1:
		changes = append(changes, prefers("fast", 50), prefers("ssd", 20))
	case 2:
		changes = append(changes, func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "hard", Operator: v1.TolerationOpExists}}
		})
	case 3:
		changes = append(changes, withPort)
	case 4:
		changes = append(changes, apart)
	case 5:
		changes = append(changes, spread(v1.LabelTopologyZone, 2, v1.DoNotSchedule))
	case 6:
		changes = append(changes, spread(v1.LabelHostname, 1, v1.ScheduleAnyway))
	}
	return func(name string) v1.Pod { return pod(name, cpuMilli, memoryMiB, changes...) }
}

func prefers(label string, weight int32) func(*v1.Pod) {
	return func(p *v1.Pod) {
		if p.Spec.Affinity == nil {
			p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
		}
		terms := &p.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		*terms = append(*terms, v1.PreferredSchedulingTerm{Weight: weight, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: label, Operator: v1.NodeSelectorOpExists}}}})
	}
}

func withPort(p *v1.Pod) {
	p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}
}

// apart keeps pods of app a off each other's nodes.
func apart(p *v1.Pod) {
	p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{
		{TopologyKey: v1.LabelHostname, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "a"})}}}}
}

func randomChange(random *rand.Rand, instance *simulation.Instance) simulation.Change {
	after := random.IntN(len(instance.Pods))
	existing := instance.Nodes[random.IntN(len(instance.Nodes))].Name
	switch random.IntN(6) {
	case 0, 1:
		return simulation.Change{After: after, Node: randomNode(random, existing)}
	case 2:
		return simulation.Change{After: after, Node: randomNode(random, fmt.Sprintf("late-%d", random.IntN(1000)))}
	default:
		gone := 0
		if after > 0 {
			gone = random.IntN(after)
		}
		return simulation.Change{After: after, PodGone: "default/" + instance.Pods[gone].Name}
	}
}

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
	templates := []func(string) v1.Pod{zonedTemplate(random), zonedTemplate(random)}
	for i := range 12 * len(instance.Nodes) {
		instance.Pods = append(instance.Pods, templates[random.IntN(2)](fmt.Sprintf("pod-%04d", i)))
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

// zonedTemplate makes pods that are spread over zones, by the default constraints or by their own.
func zonedTemplate(random *rand.Rand) func(string) v1.Pod {
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

// TestPodsAreSpreadByTheDefaultConstraintsOfTheProfile: these need not be the zones of Kubernetes' own defaults.
func TestPodsAreSpreadByTheDefaultConstraintsOfTheProfile(t *testing.T) {
	path := composed(t, "default", map[string]any{
		"PodTopologySpread": map[string]any{
			"defaultingType":     "List",
			"defaultConstraints": []any{map[string]any{"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}},
		},
	}, "ScoreCache")
	instance := simulation.Instance{Objects: []simulation.Object{aService()}, Nodes: nodes(12, 8000, 8192), Pods: pods(24, 100, 128)}
	racks := map[string]string{}
	for i := range instance.Nodes {
		inZone(i % 3)(&instance.Nodes[i])
		racks[nodeName(i)] = fmt.Sprint(i % 4)
		labelled("rack", racks[nodeName(i)])(&instance.Nodes[i])
	}
	result := place(t, simulatorOf(t, path, nil), instance)
	counts := map[string]int{}
	for _, node := range result.Placements {
		counts[racks[node]]++
	}
	if counted(result, "hits_total") == 0 {
		t.Errorf("some should be placed by a ranking: %v", result.Measurement.Counters)
	}
	for rack, count := range counts {
		if count != 6 {
			t.Errorf("rack %s has %d pods, should have 6 as each", rack, count)
		}
	}
}
