package lexicographicorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

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

// scorer is another Score plugin of the profile, with the points it gives to each node.
type scorer struct {
	name   string
	weight int32
	skips  bool
	points func(node string) int64
}

func (s scorer) Name() string { return s.name }

func (s scorer) PreScore(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) *fwk.Status {
	if s.skips {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

func (s scorer) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	return s.points(node.Node().Name), nil
}

func (s scorer) ScoreExtensions() fwk.ScoreExtensions { return nil }

// randomScorers returns up to four plugins; coarse points make many ties, fine ones make few.
func randomScorers(random *rand.Rand) []scorer {
	scorers := make([]scorer, 1+random.IntN(4))
	for i := range scorers {
		seed, values := random.Uint64(), 1+random.Int64N(fwk.MaxScore+1)
		scorers[i] = scorer{
			name:   fmt.Sprintf("Other%d", i),
			weight: 1 + random.Int32N(5),
			skips:  random.IntN(4) == 0,
			points: func(node string) int64 { return int64(hash(node, seed) % uint64(values)) },
		}
	}
	return scorers
}

func hash(text string, seed uint64) uint64 {
	for _, letter := range []byte(text) {
		seed = (seed ^ uint64(letter)) * 0x100000001b3
	}
	return seed >> 7
}

// firstOfBest is what the plugin promises, computed without it.
func firstOfBest(others []scorer, nodes []fwk.NodeInfo) string {
	winner, best := "", int64(-1)
	for _, node := range nodes {
		name, total := node.Node().Name, int64(0)
		for _, other := range others {
			if !other.skips {
				total += int64(other.weight) * other.points(name)
			}
		}
		if total > best || (total == best && name < winner) {
			winner, best = name, total
		}
	}
	return winner
}

// score runs the real framework, with the plugin and the others enabled, as a scheduling cycle does.
func score(t *testing.T, others []scorer, nodes []fwk.NodeInfo) []fwk.NodePluginScores {
	t.Helper()
	ctx := t.Context()
	metrics.Register()
	profile, registry := profileOf(others)
	objects := make([]*v1.Node, len(nodes))
	for i := range nodes {
		objects[i] = nodes[i].Node()
	}
	built, err := frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1, time.Second, ctx.Done())),
		frameworkruntime.WithSnapshotSharedLister(cache.NewSnapshot(nil, objects)))
	testobjects.Must(t, err)
	state, pod := framework.NewCycleState(), &v1.Pod{}
	if status := built.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	totals, status := built.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
	return totals
}

func profileOf(others []scorer) (*config.KubeSchedulerProfile, frameworkruntime.Registry) {
	registry := frameworkruntime.Registry{
		lexicographicorder.Name: lexicographicorder.New,
		queuesort.Name:          queuesort.New,
		defaultbinder.Name:      defaultbinder.New,
	}
	enabled := []config.Plugin{{Name: queuesort.Name}, {Name: defaultbinder.Name}, {Name: lexicographicorder.Name}}
	for _, other := range others {
		registry[other.name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
			return other, nil
		}
		enabled = append(enabled, config.Plugin{Name: other.name, Weight: other.weight})
	}
	return &config.KubeSchedulerProfile{
		SchedulerName: "test",
		Plugins:       &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabled}},
	}, registry
}

func nodeName(index int) string { return fmt.Sprintf("node-%05d", index) }

func shuffledNodes(random *rand.Rand, count int) []fwk.NodeInfo {
	nodes := make([]*v1.Node, count)
	for place, index := range random.Perm(count) {
		nodes[place] = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(index)}}
	}
	return testobjects.NodeInfos(nodes...)
}

// handleWith is a framework handle of which only the extenders matter.
type handleWith struct {
	fwk.Handle
	extenders []fwk.Extender
}

func (h handleWith) Extenders() []fwk.Extender { return h.extenders }

type extender struct {
	fwk.Extender
	prioritizes bool
}

func (extender) Name() string          { return "other" }
func (e extender) IsPrioritizer() bool { return e.prioritizes }
