//go:build policyday

package priorityoptimizer

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/packingpolicy/controller"
)

// The day's cluster, its pods and its windows.
const (
	dayWorkloads   = 60
	dayTick        = 5 * time.Minute
	dayHours       = 24
	dayWindowEvery = 6 * time.Hour
	// lineage labels a pod and all that replace it. No selector reads it.
	lineage = "lineage"
)

// dayFigures is what one day with one way of emptying nodes came to.
type dayFigures struct {
	Nodes        int         `json:"nodes"`
	Pods         int         `json:"pods"`
	Windows      []dayWindow `json:"windows"`
	Moves        int         `json:"moves"`
	Emptied      int         `json:"emptied"`
	BudgetBreaks int         `json:"budgetBreaks"`
	MovedBack    int         `json:"movedBack"`
	NodeHours    float64     `json:"nodeHours"`
	Seconds      float64     `json:"seconds"`
}

// dayWindow is one window: nodes in use before and after, and what the optimiser proved of them in the first plan.
type dayWindow struct {
	Before     int   `json:"before"`
	After      int   `json:"after"`
	LowerBound int32 `json:"lowerBound"`
	Plans      int32 `json:"plans"`
	Moves      int   `json:"moves"`
	Pending    int   `json:"pending"`
}

// day is a cluster over a day of pods that come and go.
type day struct {
	*cluster
	random  *rand.Rand
	created int
	sizes   []v1.ResourceList
	figures *dayFigures
	// lastNode is where each lineage was last, left where it was moved away from.
	lastNode map[string]string
	left     map[string]map[string]bool
}

// A policy must free what is proved to be free, within its budget, and move nobody back and forth; beside it stands the
// descheduler's rule on the same world. It takes an optimiser that listens on STOWAGE_OPTIMIZER_SOCKET, and writes its
// figures to STOWAGE_POLICY_RESULT.
func TestPolicyOverADay(t *testing.T) {
	nodes := 200
	if text := os.Getenv("STOWAGE_POLICY_NODES"); text != "" {
		if _, err := fmt.Sscan(text, &nodes); err != nil {
			t.Fatal(err)
		}
	}
	results := map[string]*dayFigures{}
	for name, consolidate := range map[string]func(*day){
		"none": nil, "PackingPolicy": (*day).window, "HighNodeUtilization": (*day).deschedule,
	} {
		t.Run(name, func(t *testing.T) { results[name] = runDay(t, nodes, consolidate) })
	}
	encoded, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if file := os.Getenv("STOWAGE_POLICY_RESULT"); file != "" {
		if err := os.WriteFile(file, encoded, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(string(encoded))
	policy := results["PackingPolicy"]
	if policy == nil {
		t.Fatal("the policy's day did not end")
	}
	if policy.BudgetBreaks != 0 || policy.MovedBack != 0 {
		t.Errorf("%d breaks of the budget, %d pods moved back", policy.BudgetBreaks, policy.MovedBack)
	}
	for i, window := range policy.Windows {
		if window.After > int(window.LowerBound)+1 {
			t.Errorf("window %d: %+v", i, window)
		}
	}
}

func runDay(t *testing.T, nodes int, consolidate func(*day)) *dayFigures {
	t.Helper()
	began := time.Now()
	var objects []runtime.Object
	for i := range nodes {
		node := testNode(fmt.Sprintf("n%03d", i), 64)
		node.Status.Allocatable[v1.ResourceCPU] = resource.MustParse("16")
		node.Status.Capacity[v1.ResourceCPU] = resource.MustParse("16")
		objects = append(objects, node)
	}
	d := &day{random: rand.New(rand.NewPCG(2026, 1124)), figures: &dayFigures{Nodes: nodes},
		lastNode: map[string]string{}, left: map[string]map[string]bool{}}
	for range dayWorkloads {
		cpu := []int{250, 500, 1000, 1500, 2000, 4000}[d.random.IntN(6)]
		memory := []int{512, 1024, 2048, 4096, 8192}[d.random.IntN(5)]
		d.sizes = append(d.sizes, v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(cpu), resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(int64(memory)<<20, resource.BinarySI)})
	}
	d.cluster = startCluster(t, nil, func(c *cluster) {
		c.args.Trigger, c.args.CoolDownSeconds, c.args.HistoryLimit = TriggerManual, 60, 200
		c.args.TimeLimitSeconds, c.args.PlanTimeoutSeconds = 10, 600
		c.args.Limits.MaxUnavailablePerWorkload = 3
		c.optimizer.socket = os.Getenv("STOWAGE_OPTIMIZER_SOCKET")
		c.profile = mostAllocated(t)
		c.clock.SetTime(time.Date(2026, 11, 24, 1, 0, 0, 0, time.UTC))
	}, objects...)
	d.grow(d.target(0))
	morning := d.clock.Now()
	for at := dayTick; at <= dayHours*time.Hour; at += dayTick {
		d.clock.SetTime(morning.Add(at))
		if at == 3*dayTick && consolidate != nil {
			d.startPolicy(consolidate) // the first window has closed
		}
		d.churn(at)
		d.figures.NodeHours += float64(d.inUse()) * dayTick.Hours()
		if consolidate != nil && at%dayWindowEvery == 0 {
			consolidate(d)
			at += 2 * dayTick // as long as a window takes
		}
	}
	d.figures.Pods, d.figures.Seconds = len(d.pods()), time.Since(began).Seconds()
	return d.figures
}

// mostAllocated is the chart's profile, but it fills nodes: the descheduler's rule demands that, and an emptied node
// stays empty only so.
func mostAllocated(t *testing.T) string {
	t.Helper()
	profile, err := os.ReadFile(optimizerProfile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "profile.yaml")
	fills := `    pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}]}
`
	if err := os.WriteFile(file, append(profile, fills...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// target is how many pods there shall be at that time of the day: a tide between half of the load and all of it.
func (d *day) target(at time.Duration) int {
	share := 0.75 + 0.25*math.Cos(2*math.Pi*at.Hours()/dayHours)
	return int(share * 6 * float64(d.figures.Nodes))
}

// churn ends and begins pods at random: one in fifty is replaced at each tick beside the tide.
func (d *day) churn(at time.Duration) {
	alive := d.pods()
	less := max(0, len(alive)-d.target(at)) + len(alive)/50
	for _, i := range d.random.Perm(len(alive))[:min(less, len(alive))] {
		pod := alive[i]
		d.must(d.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name))
	}
	d.grow(d.target(at))
}

// grow adds pods until there are that many, and waits until all have nodes.
func (d *day) grow(to int) {
	d.t.Helper()
	missing := to - len(d.pods())
	for i := range missing {
		workload := d.random.IntN(dayWorkloads)
		d.created++
		pod := testPod(fmt.Sprintf("w%02d", workload), 1, 0)
		pod.Name = fmt.Sprintf("w%02d-%05d", workload, d.created)
		pod.UID = types.UID("uid-" + pod.Name)
		pod.Labels[lineage] = pod.Name
		pod.Spec.Containers[0].Resources.Requests = d.sizes[workload]
		d.add(pod)
		if i%50 == 49 || i == missing-1 {
			d.quiet()
		}
	}
}

// quiet waits in real time until every pod has a node, and the plugin knows all of it.
func (d *day) quiet() {
	d.t.Helper()
	d.patiently("all pods have nodes", func() bool {
		pods := d.pods()
		waits := slices.ContainsFunc(pods, func(pod *v1.Pod) bool { return pod.Spec.NodeName == "" })
		if waits {
			return false
		}
		state, err := d.plugin.view.snapshot("")
		if err != nil || len(state.Pods) != len(pods) || state.Pending() != 0 {
			return false
		}
		d.noteMoves(pods)
		return true
	})
}

// noteMoves compares where each lineage is with where it was.
func (d *day) noteMoves(pods []*v1.Pod) {
	for _, pod := range pods {
		name, node := pod.Labels[lineage], pod.Spec.NodeName
		before := d.lastNode[name]
		if before == node {
			continue
		}
		if before != "" {
			d.figures.Moves++
			if d.left[name] == nil {
				d.left[name] = map[string]bool{}
			}
			d.left[name][before] = true
			if d.left[name][node] {
				d.figures.MovedBack++
			}
		}
		d.lastNode[name] = node
	}
}

func (d *day) inUse() int {
	nodes := map[string]bool{}
	for _, pod := range d.pods() {
		nodes[pod.Spec.NodeName] = true
	}
	return len(nodes)
}

// patiently is eventually with minutes of real time.
func (d *day) patiently(what string, condition func() bool) {
	d.t.Helper()
	err := wait.PollUntilContextTimeout(d.ctx, 5*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		if condition() {
			return true, nil
		}
		d.flow(20 * time.Millisecond)
		return false, nil
	})
	if err != nil {
		d.t.Fatalf("waiting until %s: %v", what, err)
	}
}

const (
	dayBudget  = 150
	dayPerPlan = 150
)

// startPolicy creates the policy and runs its controller, unless another way of emptying nodes is tried.
func (d *day) startPolicy(consolidate func(*day)) {
	d.t.Helper()
	if fmt.Sprintf("%p", consolidate) != fmt.Sprintf("%p", (*day).window) {
		return
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"objective": "Consolidate", "approval": "Automatic", "timeZone": "Etc/UTC", "intervalSeconds": int64(300),
		"windows":        []any{map[string]any{"schedule": "2 1,7,13,19 * * *", "durationSeconds": int64(720)}},
		"minGainPerMove": 0.1, "coolDownSeconds": 1800.0, "timeLimitSeconds": 10.0,
		"budget": map[string]any{"maxMovesPerWindow": int64(dayBudget), "maxMovesPerPlan": int64(dayPerPlan)}}}}
	object.SetAPIVersion("stowage.dev/v1alpha1")
	object.SetKind(packingpolicy.Kind)
	object.SetName("day")
	object.SetUID("uid-day")
	_, err := d.plans.Resource(packingpolicy.Resource).Create(d.ctx, object, metav1.CreateOptions{})
	d.must(err)
	policies, plans := packingpolicy.NewInformer(d.plans), packingplan.NewInformer(d.plans)
	made, err := controller.New(controller.Parts{Clock: d.clock, Client: d.plans, Policies: policies, Plans: plans})
	d.must(err)
	go policies.RunWithContext(d.ctx)
	go plans.RunWithContext(d.ctx)
	go made.Run(d.ctx)
}

func (d *day) policy() *packingpolicy.Record {
	for _, object := range d.stored(packingpolicy.Resource, packingpolicy.Kind) {
		record, err := packingpolicy.Read(&object)
		d.must(err)
		return record
	}
	d.t.Fatal("no policy")
	return nil
}

// window lets the policy work for as long as it finds something, and twice at most. It opens two minutes after the pods
// have changed: they must not change while the clock stands still for a solve.
func (d *day) window() {
	d.t.Helper()
	before := dayWindow{Before: d.inUse()}
	for _, pause := range []time.Duration{2*time.Minute + time.Second, 5*time.Minute + time.Second} {
		last := ""
		if known := d.policy().Status.LastPlan; known != nil {
			last = known.Name
		}
		d.clock.Step(pause)
		d.patiently("the policy's plan has ended", func() bool {
			status := d.policy().Status
			return status.LastPlan != nil && status.LastPlan.Name != last && !status.LastPlan.Open()
		})
		d.quiet()
		status := d.policy().Status
		if before.Plans == 0 && status.LastPlan.NodesLowerBound != nil {
			before.LowerBound = *status.LastPlan.NodesLowerBound
		}
		before.Plans++
		d.t.Logf("%s: %s %s", d.clock.Now().Format(time.TimeOnly), status.LastPlan.Phase, status.LastPlan.Message)
		before.Moves = int(status.Window.Moves)
		if status.LastPlan.Phase != packingplan.Completed || before.Moves >= dayBudget {
			break
		}
	}
	if before.Moves > dayBudget {
		d.figures.BudgetBreaks++
	}
	d.closeWindow(before)
	d.clock.Step(d.policy().Status.Window.Ends.Sub(d.clock.Now()))
	d.patiently("the window has closed", func() bool { return d.policy().Status.Window == nil })
}

func (d *day) closeWindow(window dayWindow) {
	window.After = d.inUse()
	d.figures.Emptied += window.Before - window.After
	d.figures.Windows = append(d.figures.Windows, window)
}

// deschedule is the rule HighNodeUtilization of the descheduler with its usual threshold of 20 per cent: every pod of a
// node on which each resource is used less than that is evicted, the emptiest nodes first, as long as the other nodes
// have room for it; the scheduler places its replacement.
func (d *day) deschedule() {
	d.t.Helper()
	window, moves := dayWindow{Before: d.inUse()}, d.figures.Moves
	state, err := d.plugin.view.snapshot("")
	d.must(err)
	on := map[string][]*v1.Pod{}
	for _, pod := range d.pods() {
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], pod)
	}
	type loaded struct {
		name  string
		share float64
	}
	var low []loaded
	freeCPU, freeMemory := int64(0), int64(0)
	for name, node := range state.Nodes {
		cpu := float64(node.Used.CPUMilli) / float64(node.Allocatable.CPUMilli)
		memory := float64(node.Used.MemoryBytes) / float64(node.Allocatable.MemoryBytes)
		switch {
		case len(on[name]) == 0:
		case max(cpu, memory) < 0.2:
			low = append(low, loaded{name, cpu + memory})
		default:
			freeCPU += node.Allocatable.CPUMilli - node.Used.CPUMilli
			freeMemory += node.Allocatable.MemoryBytes - node.Used.MemoryBytes
		}
	}
	slices.SortFunc(low, func(a, b loaded) int { return int(math.Copysign(1, a.share-b.share)) })
	for _, node := range low {
		for _, pod := range on[node.name] {
			requests := pod.Spec.Containers[0].Resources.Requests
			freeCPU -= requests.Cpu().MilliValue()
			freeMemory -= requests.Memory().Value()
			if freeCPU < 0 || freeMemory < 0 {
				break
			}
			uid := pod.UID
			d.must(d.evict(&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}}))
		}
	}
	d.quiet()
	window.Moves = d.figures.Moves - moves
	d.closeWindow(window)
}
