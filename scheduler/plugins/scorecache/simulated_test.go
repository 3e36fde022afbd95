package scorecache_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

const profiles = "../../../charts/stowage/profiles"

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	if err := simulation.SetFeatureGates(""); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// withCache is a shipped profile with the cache added as the last plugin, and its arguments.
func withCache(t *testing.T, profile string, args map[string]any) string {
	t.Helper()
	return composed(t, profile, map[string]any{"ScoreCache": args}, "ScoreCache")
}

// composed is a shipped profile with further plugins, and their arguments by name. The cache is first at postFilter.
func composed(t *testing.T, profile string, args map[string]any, added ...string) string {
	t.Helper()
	data, err := os.ReadFile(shipped(profile))
	testobjects.Must(t, err)
	var content map[string]any
	testobjects.Must(t, yaml.Unmarshal(data, &content))
	only := content["profiles"].([]any)[0].(map[string]any)
	enabled, _, err := unstructured.NestedSlice(only, "plugins", "multiPoint", "enabled")
	testobjects.Must(t, err)
	for _, name := range added {
		enabled = append(enabled, map[string]any{"name": name})
	}
	testobjects.Must(t, unstructured.SetNestedSlice(only, enabled, "plugins", "multiPoint", "enabled"))
	testobjects.Must(t, unstructured.SetNestedSlice(only, []any{map[string]any{"name": "ScoreCache"}}, "plugins", "postFilter", "enabled"))
	var config []any
	for name, given := range args {
		config = append(config, map[string]any{"name": name, "args": given})
	}
	only["pluginConfig"] = config
	return written(t, content)
}

func written(t *testing.T, content any) string {
	t.Helper()
	data := testobjects.Value(yaml.Marshal(content))(t)
	path := filepath.Join(t.TempDir(), "profile.yaml")
	testobjects.Must(t, os.WriteFile(path, data, 0o600))
	return path
}

func shipped(profile string) string { return filepath.Join(profiles, profile+".yaml") }

func simulatorOf(t *testing.T, path string, more frameworkruntime.Registry) *simulation.Simulator {
	t.Helper()
	configuration := testobjects.Value(simulation.LoadConfiguration(path))(t)
	registry := plugins.Registry()
	testobjects.Must(t, registry.Merge(more))
	simulator := testobjects.Value(simulation.New(context.Background(), configuration, registry))(t)
	return simulator
}

// place runs a measured instance.
func place(t *testing.T, simulator *simulation.Simulator, instance simulation.Instance) simulation.Result {
	t.Helper()
	instance.ID, instance.Measure = t.Name(), true
	result := testobjects.Value(simulator.Run(context.Background(), instance))(t)
	return result
}

// asStock runs the instance with the cache in the deterministic profile, and reports placements that are not those of the
// same profile without it.
func asStock(t *testing.T, instance simulation.Instance, args map[string]any) simulation.Result {
	t.Helper()
	got := place(t, simulatorOf(t, withCache(t, "deterministic", args), nil), instance)
	same(t, instance, place(t, simulatorOf(t, shipped("deterministic"), nil), instance), got)
	return got
}

// counted is what the cache counted under a name.
func counted(result simulation.Result, name string) int {
	return int(result.Measurement.Counters["score_cache_"+name])
}

func expectCounts(t *testing.T, result simulation.Result, want map[string]int) {
	t.Helper()
	for name, count := range want {
		if got := counted(result, name); got != count {
			t.Errorf("%s should be %d, is %d: %v", name, count, got, result.Measurement.Counters)
		}
	}
}

// countedAll sums what was counted under a name with any label.
func countedAll(result simulation.Result, name string) int {
	sum := 0.0
	for full, value := range result.Measurement.Counters {
		if strings.HasPrefix(full, "score_cache_"+name) {
			sum += value
		}
	}
	return int(sum)
}

// same reports the first few pods that two results put on different nodes.
func same(t *testing.T, instance simulation.Instance, want, got simulation.Result) {
	t.Helper()
	if maps.Equal(want.Placements, got.Placements) {
		return
	}
	reported := 0
	for i := range instance.Pods {
		name := "default/" + instance.Pods[i].Name
		if want.Placements[name] != got.Placements[name] && reported < 5 {
			reported++
			t.Errorf("%s should be on %q, is on %q", name, want.Placements[name], got.Placements[name])
		}
	}
	t.Logf("counted: %v", got.Measurement.Counters)
}

func node(name string, cpuMilli, memoryMiB int64, changes ...func(*v1.Node)) *v1.Node {
	return testobjects.With(testobjects.Node(name, fmt.Sprint(cpuMilli, "m"), fmt.Sprint(memoryMiB, "Mi")).Obj(), changes...)
}

func nodes(count int, cpuMilli, memoryMiB int64) []v1.Node {
	list := make([]v1.Node, count)
	for i := range list {
		list[i] = *node(nodeName(i), cpuMilli, memoryMiB)
	}
	return list
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i) }

func labelled(key, value string) func(*v1.Node) {
	return func(n *v1.Node) { n.Labels[key] = value }
}

func tainted(key string, effect v1.TaintEffect) func(*v1.Node) {
	return func(n *v1.Node) { n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: effect}) }
}

func cordoned(n *v1.Node) { n.Spec.Unschedulable = true }

// pod is of app a, like all others.
func pod(name string, cpuMilli, memoryMiB int64, changes ...func(*v1.Pod)) v1.Pod {
	return *testobjects.With(testobjects.Pod(name, fmt.Sprint(cpuMilli, "m"), fmt.Sprint(memoryMiB, "Mi")).Label("app", "a").Obj(), changes...)
}

func pods(count int, cpuMilli, memoryMiB int64, changes ...func(*v1.Pod)) []v1.Pod {
	list := make([]v1.Pod, count)
	for i := range list {
		list[i] = pod(fmt.Sprintf("pod-%04d", i), cpuMilli, memoryMiB, changes...)
	}
	return list
}

func onNode(name string) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.NodeName = name } }

func withPriority(priority int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &priority }
}

// spread spreads a pod among those of app a.
func spread(topologyKey string, maxSkew int32, action v1.UnsatisfiableConstraintAction) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: maxSkew, TopologyKey: topologyKey,
			WhenUnsatisfiable: action, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "a"})}}
	}
}

// inZone puts a node into the zone of a number.
func inZone(zone int) func(*v1.Node) {
	return labelled(v1.LabelTopologyZone, fmt.Sprintf("zone-%d", zone))
}

// perZone counts the pods on the nodes of each zone.
func perZone(result simulation.Result, nodes []v1.Node) map[string]int {
	zones, counts := map[string]string{}, map[string]int{}
	for i := range nodes {
		zone := nodes[i].Labels[v1.LabelTopologyZone]
		zones[nodes[i].Name], counts[zone] = zone, 0
	}
	for _, at := range result.Placements {
		if zone, there := zones[at]; there {
			counts[zone]++
		}
	}
	return counts
}
