package scorecache_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// randomInstance fills a cluster of unequal nodes with a few kinds of pods, to about its brim, while nodes
// change, come and go, and pods are deleted.
func randomInstance(seed uint64) simulation.Instance {
	random := rand.New(rand.NewPCG(seed, 1))
	var instance simulation.Instance
	for i := range 5 + random.IntN(20) {
		instance.Nodes = append(instance.Nodes, *randomNode(random, nodeName(i)))
	}
	kinds := make([]func(string) v1.Pod, 1+random.IntN(4))
	for i := range kinds {
		kinds[i] = randomKind(random)
	}
	for i := range 10 * len(instance.Nodes) {
		made := kinds[random.IntN(len(kinds))](fmt.Sprintf("pod-%04d", i))
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

// randomKind returns what makes pods of one kind. Some kinds the cache has to leave alone.
func randomKind(random *rand.Rand) func(string) v1.Pod {
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
