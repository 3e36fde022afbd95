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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/yaml"

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
	return composed(t, profile, args, "ScoreCache")
}

// withPlugin is the same with another plugin before the cache.
func withPlugin(t *testing.T, profile, plugin string, args map[string]any) string {
	t.Helper()
	return composed(t, profile, args, plugin, "ScoreCache")
}

func composed(t *testing.T, profile string, args map[string]any, added ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(profiles, profile+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	only := content["profiles"].([]any)[0].(map[string]any)
	all, _ := only["plugins"].(map[string]any)
	if all == nil {
		all = map[string]any{}
	}
	multiPoint, _ := all["multiPoint"].(map[string]any)
	if multiPoint == nil {
		multiPoint = map[string]any{}
	}
	enabled, _ := multiPoint["enabled"].([]any)
	for _, name := range added {
		enabled = append(enabled, map[string]any{"name": name})
	}
	multiPoint["enabled"] = enabled
	all["multiPoint"] = multiPoint
	all["postFilter"] = map[string]any{"enabled": []any{map[string]any{"name": "ScoreCache"}}}
	only["plugins"] = all
	if args != nil {
		only["pluginConfig"] = []any{map[string]any{"name": "ScoreCache", "args": args}}
	}
	return written(t, content)
}

func written(t *testing.T, content any) string {
	t.Helper()
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "profile.yaml")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func shipped(profile string) string { return filepath.Join(profiles, profile+".yaml") }

func simulatorOf(t *testing.T, path string, more frameworkruntime.Registry) *simulation.Simulator {
	t.Helper()
	configuration, err := simulation.LoadConfiguration(path)
	if err != nil {
		t.Fatal(err)
	}
	registry := plugins.Registry()
	if err := registry.Merge(more); err != nil {
		t.Fatal(err)
	}
	simulator, err := simulation.New(context.Background(), configuration, registry)
	if err != nil {
		t.Fatal(err)
	}
	return simulator
}

// place runs a measured instance.
func place(t *testing.T, simulator *simulation.Simulator, instance simulation.Instance) simulation.Result {
	t.Helper()
	instance.ID, instance.Measure = t.Name(), true
	result, err := simulator.Run(context.Background(), instance)
	if err != nil {
		t.Fatal(err)
	}
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

func node(name string, cpuMilli, memoryMiB int64, changes ...func(*v1.Node)) v1.Node {
	n := v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{Capacity: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(memoryMiB<<20, resource.BinarySI),
			v1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI),
		}},
	}
	for _, change := range changes {
		change(&n)
	}
	return n
}

func nodes(count int, cpuMilli, memoryMiB int64) []v1.Node {
	list := make([]v1.Node, count)
	for i := range list {
		list[i] = node(nodeName(i), cpuMilli, memoryMiB)
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

func pod(name string, cpuMilli, memoryMiB int64, changes ...func(*v1.Pod)) v1.Pod {
	p := v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"name": name, "app": "a"}},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "c", Image: "image",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(memoryMiB<<20, resource.BinarySI),
			}},
		}}},
	}
	for _, change := range changes {
		change(&p)
	}
	return p
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
