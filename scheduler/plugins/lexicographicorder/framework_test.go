package lexicographicorder_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultbinder"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins/lexicographicorder"
)

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
	built, err := frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(1, time.Second, ctx.Done())))
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
