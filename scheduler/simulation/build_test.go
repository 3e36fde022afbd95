package simulation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

const profileFolder = "../../charts/stowage/profiles"

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	if err := simulation.SetFeatureGates(""); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func simulatorOf(t *testing.T, path string) *simulation.Simulator {
	t.Helper()
	configuration := testobjects.Value(simulation.LoadConfiguration(path))(t)
	return simulatorFrom(t, configuration)
}

func simulatorFrom(t *testing.T, configuration *config.KubeSchedulerConfiguration) *simulation.Simulator {
	t.Helper()
	simulator := testobjects.Value(simulation.New(context.Background(), configuration, plugins.Registry()))(t)
	return simulator
}

// place fills an instance under a shipped profile.
func place(t *testing.T, profile string, instance simulation.Instance) simulation.Result {
	t.Helper()
	return run(t, simulatorOf(t, filepath.Join(profileFolder, profile+".yaml")), instance)
}

func run(t *testing.T, simulator *simulation.Simulator, instance simulation.Instance) simulation.Result {
	t.Helper()
	result := testobjects.Value(simulator.Run(t.Context(), instance))(t)
	return result
}

func expectNodes(t *testing.T, result simulation.Result, want map[string]string) {
	t.Helper()
	for pod, node := range want {
		if got, exists := result.Placements["default/"+pod]; !exists || got != node {
			t.Errorf("pod %s should be on %q, is on %q", pod, node, got)
		}
	}
}

func node(name string, cpuMilli, memoryBytes int64) v1.Node {
	return *testobjects.Node(name, fmt.Sprint(cpuMilli, "m"), fmt.Sprint(memoryBytes)).Obj()
}

func nodes(count int, cpuMilli, memoryBytes int64) []v1.Node {
	list := make([]v1.Node, count)
	for i := range list {
		list[i] = node(fmt.Sprintf("node-%03d", i), cpuMilli, memoryBytes)
	}
	return list
}

func pod(name string, cpuMilli, memoryBytes int64, changes ...func(*v1.Pod)) v1.Pod {
	p := st.MakePod().Namespace("default").Name(name).Label("name", name).Containers([]v1.Container{
		st.MakeContainer().Name("c").Image("image").ResourceRequests(map[v1.ResourceName]string{
			v1.ResourceCPU: fmt.Sprint(cpuMilli, "m"), v1.ResourceMemory: fmt.Sprint(memoryBytes)}).Obj()}).Obj()
	return *testobjects.With(p, changes...)
}

func withPriority(priority int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &priority }
}

func onNode(name string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.NodeName = name }
}

// nextTo asks for a node that already runs the named pod.
func nextTo(name string) func(*v1.Pod) {
	term := v1.PodAffinityTerm{TopologyKey: v1.LabelHostname, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"name": name})}
	return func(p *v1.Pod) {
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
}

// randomInstance fills eight nodes to about their brim.
func randomInstance(seed uint64) simulation.Instance {
	random := rand.New(rand.NewPCG(seed, 0))
	instance := simulation.Instance{ID: fmt.Sprint(seed), Nodes: nodes(8, 8000, 16<<30)}
	for i := range 48 {
		instance.Pods = append(instance.Pods, pod(
			fmt.Sprintf("pod-%02d", i), 100*(1+random.Int64N(25)), (1+random.Int64N(48))<<27))
	}
	return instance
}
