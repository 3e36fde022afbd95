package scorecache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// nominationCluster is a framework with a few equal nodes, which only nominations change.
type nominationCluster struct {
	t         *testing.T
	framework framework.Framework
	nominated nominated
	change    func(*v1.Pod)
	pods      int
}

// newNominationCluster has a ranking for pods that are changed in this way.
func newNominationCluster(t *testing.T, change func(*v1.Pod)) *nominationCluster {
	t.Helper()
	var nodes []*v1.Node
	for i := range 6 {
		node := nodeOf(fmt.Sprintf("node-%d", i))
		node.Labels["number"] = fmt.Sprint(i)
		nodes = append(nodes, node)
	}
	c := &nominationCluster{t: t, nominated: nominated{to: map[string][]fwk.PodInfo{}}, change: change}
	c.framework = frameworkOf(t, t.Context(), nodes, c.nominated)
	runFullCycle(t, t.Context(), c.framework, c.pod())
	return c
}

func (c *nominationCluster) pod() *v1.Pod {
	pod := numbered(c.pods)
	c.pods++
	c.change(pod)
	return pod
}

// given is the node that the cache gives to the next pod, empty if the pod gets a full cycle.
func (c *nominationCluster) given() string {
	c.t.Helper()
	result, status, _ := c.framework.RunPreFilterPlugins(c.t.Context(), framework.NewCycleState(), c.pod())
	if !status.IsSuccess() {
		c.t.Fatal(status.AsError())
	}
	if result.AllNodes() {
		return ""
	}
	return result.NodeNames.UnsortedList()[0]
}

// nominate fills a node with a pod that is nominated to it.
func (c *nominationCluster) nominate(node string) {
	c.t.Helper()
	info, err := framework.NewPodInfo(testobjects.Pod("nominated", "8", "").Obj())
	if err != nil {
		c.t.Fatal(err)
	}
	c.nominated.to[node] = []fwk.PodInfo{info}
}

func asking(p *v1.Pod) {
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
}

// TestANodeIsFilteredAgainWhenTheNominatedPodIsGone: nothing happens to a node when a pod is nominated to it or is
// no more, so no change of the snapshot shows it.
func TestANodeIsFilteredAgainWhenTheNominatedPodIsGone(t *testing.T) {
	c := newNominationCluster(t, asking)
	best := c.given()
	c.nominate(best)
	made := value(t, refreshesTotal.WithLabelValues(causeFirst))
	for range 2 {
		if given := c.given(); given == best {
			t.Fatalf("%s is taken by a nominated pod", best)
		}
	}
	delete(c.nominated.to, best)
	if given := c.given(); given != best {
		t.Errorf("%s is free again, and better than %s", best, given)
	}
	if made := value(t, refreshesTotal.WithLabelValues(causeFirst)) - made; made != 0 {
		t.Error("all of this should be seen by one ranking")
	}
}

// TestANodeThatWasNominatedFromTheStartIsFilteredAgain: this holds as well for one that was not feasible
// when the ranking was made.
func TestANodeThatWasNominatedFromTheStartIsFilteredAgain(t *testing.T) {
	c := newNominationCluster(t, func(p *v1.Pod) { asking(p); towards(p, "5") })
	c.nominate("node-5")
	if given := c.given(); given == "node-5" || given == "" {
		t.Fatalf("node-5 is taken by a nominated pod, %q is given", given)
	}
	delete(c.nominated.to, "node-5")
	if given := c.given(); given != "node-5" && given != "" {
		t.Errorf("node-5 is free again, and preferred to %s", given)
	}
}

// towards makes a pod prefer a node.
func towards(p *v1.Pod, number string) {
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "number", Operator: v1.NodeSelectorOpIn, Values: []string{number}}}}}}}}
}

// TestARankingEndsWithTheNodeThatItsScoresDependOn: all other scores may be relative to a candidate that is refused, so
// the next one is not certainly the best.
func TestARankingEndsWithTheNodeThatItsScoresDependOn(t *testing.T) {
	for cause, change := range map[string]func(*v1.Pod){
		// The only node with the highest score.
		causeFrame: func(p *v1.Pod) { towards(p, "3") },
		// The hosts are weighed by how many there are.
		causeFeasible: func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
			}}
		},
	} {
		c := newNominationCluster(t, func(p *v1.Pod) { asking(p); change(p) })
		c.nominate(c.given())
		ended := value(t, retiredTotal.WithLabelValues(cause))
		c.given()
		if ended := value(t, retiredTotal.WithLabelValues(cause)) - ended; ended != 1 {
			t.Errorf("one ranking should end because of %s, %g did", cause, ended)
		}
	}
}

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
	defaults := testobjects.Value(latest.Default())(t)
	profile := defaults.Profiles[0].DeepCopy()
	// Devices would need a manager, which the whole scheduler makes.
	without := slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(plugin config.Plugin) bool {
		return plugin.Name == names.DynamicResources
	})
	profile.Plugins.MultiPoint.Enabled = append(without, config.Plugin{Name: Name})
	profile.Plugins.PostFilter.Enabled = []config.Plugin{{Name: Name}}
	registry := frameworkplugins.NewInTreeRegistry()
	testobjects.Must(t, registry.Register(Name, New))
	client := fake.NewClientset()
	built, err := frameworkruntime.NewFramework(ctx, registry, profile,
		frameworkruntime.WithClientSet(client), frameworkruntime.WithPodNominator(nominator),
		frameworkruntime.WithInformerFactory(informers.NewSharedInformerFactory(client, 0)),
		frameworkruntime.WithSnapshotSharedLister(cache.NewSnapshot(nil, nodes)),
	)
	testobjects.Must(t, err)
	return built
}

func nodeOf(name string) *v1.Node { return testobjects.Node(name, "8", "16Gi").Obj() }

func numbered(number int) *v1.Pod {
	return testobjects.Pod(fmt.Sprintf("pod-%d", number), "", "").Label("app", "a").Obj()
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
	nodes := testobjects.Value(built.SnapshotSharedLister().NodeInfos().List())(t)
	if status := built.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		t.Fatal(status.AsError())
	}
}

func value(t *testing.T, counter basemetrics.CounterMetric) float64 {
	t.Helper()
	return testobjects.Value(testutil.GetCounterMetricValue(counter))(t)
}
