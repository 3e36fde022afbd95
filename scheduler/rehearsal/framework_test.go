package rehearsal_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// testCluster is a rehearsal framework of a real scheduler that is never run, and the snapshot of its state.
type testCluster struct {
	rehearser *rehearsal.Framework
	scheduler framework.Framework
	client    *fake.Clientset
	seen      *snapshot.Snapshot
	// closed are idle nodes that a drain closes.
	closed []string
}

// refusing is a Filter plugin that only the scheduler knows. It counts how often PreFilter is run for each app.
type refusing struct {
	app, node string
	tried     map[string]int
}

func (r *refusing) PreFilter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if r.tried == nil {
		r.tried = map[string]int{}
	}
	r.tried[pod.Labels["app"]]++
	return nil, nil
}

// tries is the sum.
func (r *refusing) tries() (sum int) {
	for _, count := range r.tried {
		sum += count
	}
	return sum
}

func (r *refusing) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

func (r *refusing) Name() string { return "Refusing" }

func (r *refusing) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if pod.Labels["app"] == r.app && node.Node().Name == r.node {
		return fwk.NewStatus(fwk.Unschedulable, "not here")
	}
	return nil
}

func newCluster(t testing.TB, refuses *refusing, nodes []*v1.Node, pods ...*v1.Pod) *testCluster {
	t.Helper()
	return newClusterWith(t, refuses, nil, nodes, pods...)
}

// newClusterWith is one with other objects, too.
func newClusterWith(t testing.TB, refuses *refusing, others []runtime.Object, nodes []*v1.Node, pods ...*v1.Pod) *testCluster {
	t.Helper()
	return newClusterCounting(t, nil, refuses, others, nodes, pods...)
}

// newClusterCounting has its devices counted in the catalogue; nil: they are not.
func newClusterCounting(
	t testing.TB, devices *resources.Catalogue, refuses *refusing, others []runtime.Object, nodes []*v1.Node, pods ...*v1.Pod,
) *testCluster {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	objects := slices.Clone(others)
	for _, node := range nodes {
		objects = append(objects, node)
	}
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	registry := frameworkruntime.Registry{"Refusing": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return refuses, nil
	}}
	configuration := testobjects.Value(latest.Default())(t)
	profile := configuration.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: "Refusing"})
	client := fake.NewClientset(objects...)
	informers := minor.NewInformerFactory(client, 0)
	built, err := kubescheduler.New(ctx, client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		kubescheduler.WithProfiles(profile), kubescheduler.WithFrameworkOutOfTreeRegistry(registry))
	testobjects.Must(t, err)
	original := built.Profiles[v1.DefaultSchedulerName]
	rehearser, err := rehearsal.NewFramework(ctx, rehearsal.Profile{Original: original,
		Configuration: profile, OutOfTree: registry, Without: []string{"DefaultPreemption"}, Devices: devices}, built.Cache)
	testobjects.Must(t, err)
	testobjects.Must(t, devices.Connect(original))
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	testobjects.Must(t, built.WaitForHandlersSync(ctx))
	return &testCluster{rehearser: rehearser, scheduler: original, client: client, seen: snapshot.Build(snapshot.Input{ID: "s", Nodes: nodes, Pods: pods,
		Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}})}
}

// replay says which pods are refused, as in "pod on node: plugin".
func (c *testCluster) replay(t *testing.T, of *plan.Plan) map[string]string {
	t.Helper()
	refused := map[string]string{}
	for _, refusal := range c.outcome(t, of).Refusals {
		refused[refusal.Pod.Object.Name+" on "+refusal.Node] = refusal.Plugin
	}
	return refused
}

func (c *testCluster) outcome(t *testing.T, of *plan.Plan) rehearsal.Outcome {
	t.Helper()
	of.Classes = c.seen.Classes
	_, ctx := ktesting.NewTestContext(t)
	return testobjects.Value(c.rehearser.Replay(ctx, of))(t)
}

func (c *testCluster) pod(name string) *snapshot.Pod { return c.seen.Pods[types.UID(name)] }

// planOf reads steps as "pod>node", a move or the placement of a pod that waits, and "pod>", an eviction.
func (c *testCluster) planOf(steps string) *plan.Plan {
	of := &plan.Plan{}
	for _, step := range strings.Fields(steps) {
		name, to, _ := strings.Cut(step, ">")
		pod := c.pod(name)
		switch one := (plan.Step{Pod: pod, From: pod.Node, To: to}); {
		case to == "":
			of.Evictions = append(of.Evictions, one)
		case pod.Node == "":
			of.Placements = append(of.Placements, one)
		default:
			of.Moves = append(of.Moves, one)
		}
	}
	return of
}

func nodes(names ...string) (nodes []*v1.Node) {
	for _, name := range names {
		nodes = append(nodes, testobjects.Node(name, "4", "4G").Label("zone", name[:1]).Obj())
	}
	return nodes
}

func pod(name, on, memory string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := testobjects.Pod(name, "", memory).Node(on).Priority(0).Phase(v1.PodRunning).Obj()
	return testobjects.With(pod, changes...)
}

// apartFrom keeps the pod out of the zone of an app's pods.
func apartFrom(app string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: inZoneOf(app)}}
	}
}

// besideOf sends the pod to the zone of an app's pods.
func besideOf(app string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: inZoneOf(app)}}
	}
}

func inZoneOf(app string) []v1.PodAffinityTerm {
	return []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": app})}}
}

// withPort gives the pod a host port.
func withPort(pod *v1.Pod) {
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
}

// evenly spreads the pod over the zones, with all pods that have its labels.
func evenly(pod *v1.Pod) {
	pod.Labels["app"] = "web"
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
		WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "web"})}}
}

// Whoever deletes a pod: what it takes until it is gone is room to come. So is what the pods of a plan take.
func TestRoomToComeIsWhatLeavingPodsTake(t *testing.T) {
	terminates := pod("terminates", "a1", "1G")
	terminates.DeletionTimestamp, terminates.Finalizers = &metav1.Time{}, []string{"example.com/late"}
	at := newCluster(t, &refusing{}, nodes("a1", "a2"), terminates, pod("moved", "a1", "1G"), pod("stays", "a2", "1G"))
	_, ctx := ktesting.NewTestContext(t)

	free, toCome, err := at.rehearser.Room(ctx, sets.New[types.UID]("moved"), "a1", "a2", "gone")

	testobjects.Must(t, err)
	memory := func(of resources.Vector) int64 { return of.Of(v1.ResourceMemory) / 1e9 }
	if memory(free["a1"]) != 2 || memory(toCome["a1"]) != 2 || memory(free["a2"]) != 3 || memory(toCome["a2"]) != 0 || len(free) != 2 {
		t.Errorf("free %v, to come %v", free, toCome)
	}
}
