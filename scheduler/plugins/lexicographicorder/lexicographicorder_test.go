package lexicographicorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
)

// A score has 101 values; the plugin must be exact on both sides of that number and far beyond it.
var nodeCounts = []int{2, 3, 100, 101, 102, 150, 1000, 10_000}

// TestTiesGoToTheFirstNodeByName: whatever the other plugins score, the only winner is the first by name of the nodes with
// the highest total.
func TestTiesGoToTheFirstNodeByName(t *testing.T) {
	for _, count := range nodeCounts {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("%d nodes, seed %d", count, seed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, uint64(count)))
				others := randomScorers(random)
				nodes := shuffledNodes(random, count)
				expectOnlyWinner(t, score(t, others, nodes), firstOfBest(others, nodes))
			})
		}
	}
}

// TestAPointOfAnotherPluginIsNeverOverruled gives the last node by name the smallest advantage there is. Where no other
// plugin scores, the first one wins.
func TestAPointOfAnotherPluginIsNeverOverruled(t *testing.T) {
	for _, count := range nodeCounts {
		nodes := shuffledNodes(rand.New(rand.NewPCG(1, 1)), count)
		last := nodeName(count - 1)
		others := []scorer{{name: "Other", weight: 1, points: func(node string) int64 {
			if node == last {
				return 1
			}
			return 0
		}}}
		expectOnlyWinner(t, score(t, others, nodes), last)
		expectOnlyWinner(t, score(t, nil, nodes), nodeName(0))
	}
}

// TestItTurnsOpportunisticBatchingOff: a batch would reuse a ranking of which only the first place is in
// order, so the plugin must never be able to sign pods.
func TestItTurnsOpportunisticBatchingOff(t *testing.T) {
	var plugin any = &lexicographicorder.Plugin{}
	if _, signs := plugin.(fwk.SignPlugin); signs {
		t.Error("the plugin signs pods, so their rankings may be reused")
	}
}

// TestWhatItCannotHonourIsRefused: the scores of a prioritising extender are added after all plugins, which do not see
// them, and an argument that has no effect would be a silent mistake.
func TestWhatItCannotHonourIsRefused(t *testing.T) {
	for _, row := range []struct {
		args        runtime.Object
		prioritizes bool
		names       string
	}{
		{nil, true, "prioritizeVerb"}, {&runtime.Unknown{}, false, "pluginConfig"}, {nil, false, ""},
	} {
		with := handleWith{extenders: []fwk.Extender{extender{prioritizes: row.prioritizes}}}
		_, err := lexicographicorder.New(t.Context(), row.args, with)
		if (err == nil) != (row.names == "") || err != nil && !strings.Contains(err.Error(), row.names) {
			t.Errorf("want an error that names %q, got %v", row.names, err)
		}
	}
}

// TestScoreWithoutPreScoreIsAnError: a profile that enables one without the other must not order wrongly.
func TestScoreWithoutPreScoreIsAnError(t *testing.T) {
	plugin := testobjects.Value(lexicographicorder.New(context.Background(), nil, handleWith{}))(t)
	status := plugin.(fwk.ScoreExtensions).NormalizeScore(
		context.Background(), framework.NewCycleState(), &v1.Pod{}, fwk.NodeScoreList{})
	if status.Code() != fwk.Error || !strings.Contains(status.Message(), "preScore") {
		t.Errorf("want an error that names preScore, got %v", status)
	}
}

func expectOnlyWinner(t *testing.T, totals []fwk.NodePluginScores, want string) {
	t.Helper()
	best, holders := int64(-1), []string{}
	for _, node := range totals {
		if node.TotalScore > best {
			best, holders = node.TotalScore, nil
		}
		if node.TotalScore == best {
			holders = append(holders, node.Name)
		}
	}
	if len(holders) != 1 || holders[0] != want {
		t.Errorf("of %d nodes, %s alone should be best; best are %v", len(totals), want, holders)
	}
}
