package scorecache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// nominated are the pods that are nominated to each node.
type nominated struct {
	fwk.PodNominator
	to map[string][]fwk.PodInfo
}

func (n nominated) NominatedPodsForNode(node string) []fwk.PodInfo { return n.to[node] }

// frameworkOf is the stock profile with the cache, in front of a snapshot.
func frameworkOf(t *testing.T, ctx context.Context, nodes []*v1.Node, nominator fwk.PodNominator) framework.Framework {
	t.Helper()
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	profile := defaults.Profiles[0].DeepCopy()
	// Devices would need a manager, which the whole scheduler makes.
	without := slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(plugin config.Plugin) bool {
		return plugin.Name == names.DynamicResources
	})
	profile.Plugins.MultiPoint.Enabled = append(without, config.Plugin{Name: Name})
	profile.Plugins.PostFilter.Enabled = []config.Plugin{{Name: Name}}
	registry := frameworkplugins.NewInTreeRegistry()
	if err := registry.Register(Name, New); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	built, err := frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithClientSet(client), frameworkruntime.WithPodNominator(nominator),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)),
		frameworkruntime.WithSnapshotSharedLister(cache.NewSnapshot(nil, nodes)),
	)
	if err != nil {
		t.Fatal(err)
	}
	return built
}

func nodeOf(name string) *v1.Node {
	capacity := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("16Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

func numbered(number int) *v1.Pod {
	pod := plain()
	pod.Name, pod.UID = fmt.Sprintf("pod-%d", number), types.UID(fmt.Sprintf("pod-%d", number))
	return pod
}

// TestOneRankingIsMadeForConcurrentCallers: the paper's in-flight guard. Callers that come meanwhile wait and use it.
func TestOneRankingIsMadeForConcurrentCallers(t *testing.T) {
	const askers = 32
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var nodes []*v1.Node
	for i := range 200 {
		nodes = append(nodes, nodeOf(fmt.Sprintf("node-%03d", i)))
	}
	built := frameworkOf(t, ctx, nodes, nominated{})
	for i := range priceOf(len(nodes), nil) {
		runFullCycle(t, ctx, built, numbered(askers+i))
	}
	made := value(t, refreshesTotal.WithLabelValues(causeFirst))
	var asking sync.WaitGroup
	given := make([]*fwk.PreFilterResult, askers)
	for i := range askers {
		asking.Add(1)
		go func() {
			defer asking.Done()
			given[i], _, _ = built.RunPreFilterPlugins(ctx, framework.NewCycleState(), numbered(i))
		}()
	}
	asking.Wait()
	if made := value(t, refreshesTotal.WithLabelValues(causeFirst)) - made; made != 1 {
		t.Errorf("%g rankings were made, should be one", made)
	}
	for i, result := range given {
		// No pods were bound meanwhile, so the best node is the same for all.
		if result.AllNodes() || !result.NodeNames.Equal(given[0].NodeNames) {
			t.Errorf("asker %d was given %v, the first %v", i, result, given[0])
		}
	}
}

// runFullCycle runs what a cycle without the cache runs, so that the key is known.
func runFullCycle(t *testing.T, ctx context.Context, built framework.Framework, pod *v1.Pod) {
	t.Helper()
	state := framework.NewCycleState()
	result, status, _ := built.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() || !result.AllNodes() {
		t.Fatalf("the pod should get a full cycle: %v, %v", result, status)
	}
	nodes, err := built.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		t.Fatal(err)
	}
	if status := built.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
}

func value(t *testing.T, counter basemetrics.CounterMetric) float64 {
	t.Helper()
	value, err := testutil.GetCounterMetricValue(counter)
	if err != nil {
		t.Fatal(err)
	}
	return value
}
