package scorecache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/simulation"
)

// jainTolerance is how much less even a placement may be than the stock scheduler's. Both break ties between nodes
// of the same whole-numbered total, each in its own way, so that either may be ahead by some pods that could
// as well lie elsewhere. Of n pods on every node, one that lies elsewhere on two of m nodes costs 2/(m n n) of the
// index: with the least that is placed here, 2 on each of 30 nodes, six such pods cost a tenth.
const jainTolerance = 0.1

// TestAsManyPodsArePlacedAndAsEvenlyAsByTheStockScheduler compares the two shipped profiles on random clusters of
// equal nodes, without the deterministic profile's help: the stock scheduler breaks ties as it likes.
func TestAsManyPodsArePlacedAndAsEvenlyAsByTheStockScheduler(t *testing.T) {
	stock, cached := simulatorOf(t, shipped("default"), nil), simulatorOf(t, shipped("score-cache"), nil)
	less := 0.0
	for seed := range seeds {
		instance := evenInstance(seed)
		want, got := place(t, stock, instance), place(t, cached, instance)
		if placed(got) != placed(want) {
			t.Errorf("seed %d: %d pods are placed, the stock scheduler places %d", seed, placed(got), placed(want))
		}
		difference := jain(want, instance) - jain(got, instance)
		if less += difference; difference > jainTolerance {
			t.Errorf("seed %d: Jain's index is %.3f, the stock scheduler's %.3f",
				seed, jain(got, instance), jain(want, instance))
		}
	}
	if less > 0 {
		t.Errorf("the stock scheduler is more even on the whole, by %.4f", less/float64(seeds))
	}
}

// evenInstance has equal nodes and a few kinds of small pods, fewer than there is room for.
func evenInstance(seed uint64) simulation.Instance {
	random := rand.New(rand.NewPCG(seed, 2))
	instance := simulation.Instance{Nodes: nodes(30+random.IntN(40), 8000, 32768)}
	kinds := 1 + random.IntN(4)
	for i := range (2 + random.IntN(3)) * len(instance.Nodes) {
		kind := int64(i % kinds)
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("pod-%04d", i), 100+50*kind, 256+128*kind))
	}
	return instance
}

func placed(result simulation.Result) int {
	count := 0
	for _, node := range result.Placements {
		if node != "" {
			count++
		}
	}
	return count
}

func jain(result simulation.Result, instance simulation.Instance) float64 {
	loads := map[string]float64{}
	for _, node := range result.Placements {
		loads[node]++
	}
	var sum, squares float64
	for i := range instance.Nodes {
		load := loads[instance.Nodes[i].Name]
		sum, squares = sum+load, squares+load*load
	}
	return sum * sum / (float64(len(instance.Nodes)) * squares)
}

// TestSpreadIsWeighedByThePluginsWhereItIsInDoubt: with unequal nodes, score and spread often speak for different
// zones, and a ranking that listed one zone's nodes first would fill that zone. The counts of the zones must be those of
// the stock scheduler.
func TestSpreadIsWeighedByThePluginsWhereItIsInDoubt(t *testing.T) {
	stock := simulatorOf(t, shipped("deterministic"), nil)
	cached, hits := simulatorOf(t, withCache(t, "deterministic", nil), nil), 0
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 3))
		instance := simulation.Instance{Objects: []simulation.Object{aService()}}
		for i := range 12 {
			// The names of a zone's nodes follow each other.
			instance.Nodes = append(instance.Nodes, *node(nodeName(i), 2000*(1+random.Int64N(4)), 16384, inZone(i/4)))
		}
		instance.Pods = pods(30+random.IntN(40), 100+100*random.Int64N(3), 256)
		// Fewest first.
		want := slices.Sorted(maps.Values(perZone(place(t, stock, instance), instance.Nodes)))
		result := place(t, cached, instance)
		hits += counted(result, "hits_total")
		got := slices.Sorted(maps.Values(perZone(result, instance.Nodes)))
		for i := range want {
			if difference := want[i] - got[i]; difference < -1 || difference > 1 {
				t.Errorf("seed %d: the zones have %v pods, should have %v", seed, got, want)
				break
			}
		}
	}
	if hits < int(10*seeds) {
		t.Errorf("only %d pods of %d clusters were placed by a ranking", hits, seeds)
	}
}

// aService selects the pods that the tests spread.
func aService() simulation.Object {
	return simulation.Object{Object: &v1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default"},
		Spec:       v1.ServiceSpec{Selector: map[string]string{"app": "a"}},
	}}
}
