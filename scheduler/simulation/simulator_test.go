package simulation_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	st "k8s.io/kubernetes/pkg/scheduler/testing"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

const gib = int64(1) << 30

// What the simulation does beside the scheduler must not show in where pods end up.
func TestPodsEndUpWhereTheSchedulerPutsThem(t *testing.T) {
	gated := func(p *v1.Pod) { p.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}} }
	foreign := func(p *v1.Pod) { p.Spec.SchedulerName = "other" }
	limited := func(p *v1.Pod) {
		p.Spec.Containers[0].Resources = v1.ResourceRequirements{Limits: v1.ResourceList{v1.ResourceCPU: resource.MustParse("700m")}}
	}
	replacing := func(nodes []v1.Node, pods ...v1.Pod) simulation.Instance {
		return simulation.Instance{Nodes: nodes, Pods: pods, Replace: true}
	}
	with := func(nodes []v1.Node, pods ...v1.Pod) simulation.Instance {
		return simulation.Instance{Nodes: nodes, Pods: pods}
	}
	aGoes := func(after int, instance simulation.Instance) simulation.Instance {
		instance.Changes = []simulation.Change{{After: after, PodGone: "default/a"}}
		return instance
	}
	one, sizes := nodes(1, 1000, gib), []v1.Node{node("large", 1000, gib), node("small", 600, gib)}
	three := []v1.Node{node("a", 1000, gib), node("b", 900, gib), node("c", 600, gib)}
	low, high := pod("low", 800, 1, withPriority(1)), pod("high", 800, 1, withPriority(2))
	less, more := pod("low", 500, 1, withPriority(1)), pod("high", 900, 1, withPriority(2))
	for name, row := range map[string]struct {
		profile  string
		instance simulation.Instance
		// want are pods with their nodes, evicted those that were preempted or removed.
		want, evicted string
	}{
		// The paper's opening example: the stock scheduler spreads two pods over two nodes, and then neither has room.
		"the third pod of figure 1 stays pending": {"deterministic",
			with(nodes(2, 4000, 4*gib), pod("a", 100, 2*gib), pod("b", 100, 2*gib), pod("c", 100, 3*gib)), "a@node-000 b@node-001 c@", ""},
		// The scheduler wakes a pending pod when the pod that it waits for is bound.
		"a pod with an affinity to a later pod is tried again": {"deterministic",
			with(nodes(3, 4000, 8*gib), pod("first", 100, gib), pod("follower", 100, gib, nextTo("leader")), pod("leader", 100, gib)),
			"first@node-000 leader@node-001 follower@node-001", ""},
		"placed pods count wherever they stand in the list": {"deterministic",
			with(nodes(2, 1000, 8*gib), pod("new", 600, gib), pod("old", 600, gib, onNode("node-000"))), "new@node-001 old@node-000", ""},
		// Gated pods and those of another scheduler reach no queue, and nothing may wait for them.
		"pods of others stay pending": {"deterministic",
			with(one, pod("gated", 1, 1, gated), pod("foreign", 1, 1, foreign), pod("ours", 1, 1)), "gated@ foreign@ ours@node-000", ""},
		"a pod with limits alone requests as much": {"deterministic",
			with(one, pod("a", 0, 0, limited), pod("b", 0, 0, limited)), "a@node-000 b@", ""},
		// The scheduler tries it again and again, and a simulation must end all the same.
		"a pod without any node is pending":  {"default", with(nil, pod("a", 1, 1)), "a@", ""},
		"the stock scheduler preempts":       {"default", with(one, low, high), "low@ high@node-000", "default/low"},
		"the deterministic profile does not": {"deterministic", with(one, low, high), "low@node-000 high@", ""},
		// The scheduler's own hints wake it, as in a cluster.
		"a pending pod is tried again after a change": {"deterministic",
			aGoes(2, with(one, pod("a", 600, 1), pod("b", 600, 1))), "b@node-000", "default/a"},
		// Their ReplicaSets replace them; without that, the count of running pods would be too low.
		"a preempted pod comes back where there is room": {"default", replacing(sizes, less, more), "low@small high@large", "default/low"},
		"no pod comes back unasked":                      {"default", with(sizes, less, more), "low@ high@large", "default/low"},
		// The replacement of the first victim is the next victim, and its own replacement belongs to the same pod.
		"a pod is replaced as often as it is preempted": {"default",
			replacing(three, less, pod("first", 950, 1, withPriority(3)), pod("second", 850, 1, withPriority(2))),
			"low@c first@a second@b", "default/low"},
		// It may not preempt pods of its own priority, and the run still ends.
		"a replacement without room is pending": {"default", replacing(one, low, high), "low@ high@node-000", "default/low"},
		// A change takes it out of the instance, which is no preemption.
		"a pod that is removed on purpose stays away": {"default",
			aGoes(1, replacing(one, pod("a", 800, 1), pod("b", 800, 1))), "a@ b@node-000", "default/a"},
	} {
		t.Run(name, func(t *testing.T) {
			row.instance.ID = name
			result := place(t, row.profile, row.instance)
			for _, want := range strings.Fields(row.want) {
				pod, node, _ := strings.Cut(want, "@")
				expectNodes(t, result, map[string]string{pod: node})
			}
			if got := strings.Join(result.Evicted, " "); got != row.evicted {
				t.Errorf("evicted %s, want %s", got, row.evicted)
			}
		})
	}
}

// TestAPlacementDependsOnItsInstanceAlone: in the deterministic profile on the nodes' names, and on nothing that a cluster's
// start may shuffle; and one simulator gives each instance what a fresh one would give it.
func TestAPlacementDependsOnItsInstanceAlone(t *testing.T) {
	shared := simulatorOf(t, profileFolder+"/deterministic.yaml")
	for seed := range uint64(10) {
		instance := randomInstance(seed)
		alone, together := place(t, "deterministic", instance), run(t, shared, instance)
		slices.Reverse(instance.Nodes)
		reversed := run(t, shared, instance)
		if !maps.Equal(alone.Placements, together.Placements) || !maps.Equal(alone.Placements, reversed.Placements) {
			t.Errorf("seed %d: placements differ from those of a fresh simulator, or with the nodes reversed", seed)
		}
		if alone.Measurement != nil { // results of equal instances are compared byte by byte
			t.Errorf("measured unasked: %+v", alone.Measurement)
		}
	}
}

// TestNoGoroutineSurvivesItsInstance: a process that fills thousands of instances must not grow.
func TestNoGoroutineSurvivesItsInstance(t *testing.T) {
	simulator := simulatorOf(t, profileFolder+"/deterministic.yaml")
	before := runtime.NumGoroutine()
	for seed := range uint64(50) {
		run(t, simulator, randomInstance(seed))
	}
	// The last goroutines end on their own after their context has ended: wait for that, without a sleep.
	deadline := time.Now().Add(2 * time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before 50 instances, %d after", before, after)
	}
}

// The next minor may list a kind that this one did not: what-if must read it, and say what it cannot judge where it may
// not, and the simulation must let it in.
func TestEveryKindThatTheSchedulerListsIsRead(t *testing.T) {
	listed := testobjects.Value(simulatorOf(t, profileFolder+"/deterministic.yaml").Listed(t.Context()))(t)
	listed.Delete(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	listed.Delete(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	// The simulation reads them, in place of the controller that makes claims from them.
	listed.Insert(schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"})
	// The scheduler lists them with the feature gate GenericWorkload only.
	if groups := schema.FromAPIVersionAndKind("scheduling.k8s.io/v1beta1", "PodGroup"); scheme.Scheme.Recognizes(groups) {
		listed.Insert(groups.GroupVersion().WithResource("podgroups"))
	}
	known, names := sets.New[schema.GroupVersionResource](), sets.New[string]()
	for kind := range simulation.Kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		known.Insert(resource)
	}
	for kind := range simulation.KindsOfAnyMinor {
		names.Insert(kind.Kind)
	}
	if !known.Equal(listed) {
		t.Errorf("listed, and not in Kinds: %v; in Kinds, and not listed: %v",
			listed.Difference(known).UnsortedList(), known.Difference(listed).UnsortedList())
	}
	content := testobjects.Value(os.ReadFile("../../testbed/stowage_testbed/whatif/objects.yaml"))(t)
	var read struct {
		Kinds map[string]string `json:"kinds"`
	}
	testobjects.Must(t, yaml.Unmarshal(content, &read))
	if of := sets.New(slices.Collect(maps.Keys(read.Kinds))...); !of.Equal(names) {
		t.Errorf("what-if reads %v, the simulations let in %v", sets.List(of), sets.List(names))
	}
}

// TestChangesHappenWhenTheyAreDue: between the second pod and the third, and not before.
func TestChangesHappenWhenTheyAreDue(t *testing.T) {
	cordoned := node("node-000", 1000, gib)
	cordoned.Spec.Unschedulable = true
	added := node("node-009", 1000, gib)
	for name, row := range map[string]struct {
		changes []simulation.Change
		third   string
	}{
		"nothing":           {nil, ""},
		"a pod gone":        {[]simulation.Change{{After: 2, PodGone: "default/a"}}, "node-000"},
		"too late":          {[]simulation.Change{{After: 3, Node: &cordoned}}, ""},
		"a node more":       {[]simulation.Change{{After: 2, Node: &added}}, "node-009"},
		"room on a cordon":  {[]simulation.Change{{After: 2, PodGone: "a"}, {After: 2, Node: &cordoned}}, ""},
		"a node gone, late": {[]simulation.Change{{After: 3, NodeGone: "node-001"}}, ""},
	} {
		result := place(t, "deterministic", simulation.Instance{
			ID: name, Nodes: nodes(2, 1000, gib), Changes: row.changes,
			Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1), pod("c", 600, 1)},
		})
		if got := result.Placements["default/c"]; got != row.third {
			t.Errorf("%s: the third pod should be on %q, is on %q", name, row.third, got)
		}
	}
}

// TestPodsThatAreTriedOnceLeaveAgain: what comes free later is for those who come later.
func TestPodsThatAreTriedOnceLeaveAgain(t *testing.T) {
	for once, want := range map[bool][2]string{false: {"node-000", ""}, true: {"", "node-000"}} {
		result := place(t, "deterministic", simulation.Instance{
			ID: "once", Nodes: nodes(1, 1000, gib), Once: once, Changes: []simulation.Change{{After: 2, PodGone: "default/a"}},
			Pods: []v1.Pod{pod("a", 600, 1), pod("b", 600, 1), pod("c", 600, 1)},
		})
		if got := [2]string{result.Placements["default/b"], result.Placements["default/c"]}; got != want {
			t.Errorf("once %t: %q, want %q", once, got, want)
		}
		if once && (result.Reasons["default/b"] == "" || !slices.Equal(result.Evicted, []string{"default/a"})) {
			t.Errorf("a pod that left again was not preempted, and has a reason: %q, %q", result.Evicted, result.Reasons)
		}
	}
}

// TestPodsMayArriveAtOnce: more of them than a watch of the object tracker holds, and the most urgent first.
func TestPodsMayArriveAtOnce(t *testing.T) {
	instance := simulation.Instance{ID: "burst", Nodes: nodes(3, 100_000, 64*gib), Arrival: simulation.AtOnce, Measure: true}
	for i := range 300 {
		instance.Pods = append(instance.Pods, pod("pod-"+string(rune('a'+i/26/26))+string(rune('a'+i/26%26))+string(rune('a'+i%26)), 1000, 1))
	}
	instance.Pods = append(instance.Pods, pod("urgent", 100_000, 1, withPriority(9)))
	result := place(t, "deterministic", instance)
	expectNodes(t, result, map[string]string{"urgent": "node-000"})
	if m := result.Measurement; m == nil || m.Arrived != 301 || m.PodsSeconds <= 0 || m.CPUSeconds <= 0 {
		t.Errorf("the run should have been measured: %+v", m)
	}
}

// TestPreemptionIsRepeatable: among equal victims, those that started last are preempted, and their start times must not
// depend on the wall clock.
func TestPreemptionIsRepeatable(t *testing.T) {
	configuration := testobjects.Value(simulation.LoadConfiguration(profileFolder + "/default.yaml"))(t)
	configuration.Parallelism = 1
	simulator := simulatorFrom(t, configuration)
	instance := simulation.Instance{ID: "repeat", Nodes: nodes(12, 1000, gib), Replace: true}
	for i := range 24 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("low-%02d", i), 500, 1, withPriority(1)))
	}
	for i := range 6 {
		instance.Pods = append(instance.Pods, pod(fmt.Sprintf("high-%d", i), 700, 1, withPriority(2)))
	}
	first := run(t, simulator, instance)
	if len(first.Evicted) < 12 {
		t.Fatalf("both pods of a node must go for a high one, got %v", first.Evicted)
	}
	for range 10 {
		if again := run(t, simulator, instance); !maps.Equal(first.Placements, again.Placements) {
			t.Errorf("%v, then %v", first.Placements, again.Placements)
		}
	}
}

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

// Who makes volumes and binds them is not there. The scheduler decides by what is listed, and waits for nobody: a plugin
// that did would be asked for ten minutes.
func TestNothingWaitsForVolumes(t *testing.T) {
	const (
		class = `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"disk"},"provisioner":"%s",` +
			`"volumeBindingMode":"WaitForFirstConsumer"}`
		claim = `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"%s","uid":"%s"},"spec":{%s` +
			`"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}},"status":{"phase":"Pending"}}`
		ofDisk = `"storageClassName":"disk",`
		local  = `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"v"},"spec":{"capacity":{"storage":"5Gi"},` +
			`"accessModes":["ReadWriteOnce"],"storageClassName":"disk","local":{"path":"/d"},"nodeAffinity":{"required":` +
			`{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["m"]}]}]}}},` +
			`"status":{"phase":"Available"}}`
		pod = `{"metadata":{"name":"%s"},"spec":{"containers":[{"name":"c","image":"i"}],` +
			`"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"%s"}}]}}`
		nodes = `{"metadata":{"name":"m","labels":{"kubernetes.io/hostname":"m"}},"status":{"allocatable":{"cpu":"2","pods":"10"}}}`
	)
	first, second := fmt.Sprintf(claim, "a", "a", ofDisk), fmt.Sprintf(claim, "b", "b", ofDisk)
	made, static := fmt.Sprintf(class, "disk.example.com"), fmt.Sprintf(class, "kubernetes.io/no-provisioner")
	for name, row := range map[string]struct {
		objects []string
		placed  map[string]bool
		on      string
		awaits  string
	}{
		"a volume that is still to be made":   {[]string{made, first, second}, map[string]bool{"x": true, "y": true}, "", "x y"},
		"a claim without a class":             {[]string{fmt.Sprintf(claim, "a", "a", ""), second, made}, map[string]bool{"x": false, "y": true}, "", "y"},
		"a class that is not listed":          {[]string{first}, map[string]bool{"x": false, "y": false}, "", ""},
		"a claim that is not listed":          {[]string{made, second}, map[string]bool{"x": false, "y": true}, "", "y"},
		"a volume of a node":                  {[]string{static, local, first}, map[string]bool{"x": true, "y": false}, "m", ""},
		"two claims for the volume of a node": {[]string{static, local, first, second}, map[string]bool{"x": true, "y": false}, "m", ""},
	} {
		t.Run(name, func(t *testing.T) {
			failed, results := stream(t, observed(nodes, fmt.Sprintf(pod, "x", "a")+","+fmt.Sprintf(pod, "y", "b"),
				strings.Join(row.objects, ",")))
			result := results[0]
			if failed > 0 || result.Placements["default/p"] == "" {
				t.Fatalf("the pod without volumes should be placed: %+v", result)
			}
			for pod, want := range row.placed {
				if on := result.Placements["default/"+pod]; (on != "") != want || on != "" && row.on != "" && on != row.on {
					t.Errorf("pod %s is on %q, want a node: %t %s; left out %+v", pod, on, want, row.on, result.LeftOut)
				}
			}
			awaits := []string{}
			for _, remark := range result.Awaiting {
				if !strings.Contains(remark.Reason, "disk.example.com has to make one") {
					t.Errorf("who makes the volume should be named: %+v", remark)
				}
				awaits = append(awaits, strings.TrimPrefix(remark.Object, "Pod default/"))
			}
			if got := strings.Join(awaits, " "); got != row.awaits {
				t.Errorf("volumes are still to be made for %q, want %q", got, row.awaits)
			}
			if len(result.Evicted) > 0 {
				t.Errorf("nobody was evicted, but it says %v", result.Evicted)
			}
		})
	}
}
