package priorityoptimizer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	kubescheduler "k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// optimizerProfile is the profile the chart ships.
const optimizerProfile = "../../../charts/stowage/profiles/optimizer.yaml"

// testTimeout is how long a test waits, in real time, before it gives up.
const testTimeout = 2 * time.Minute

// usual are the arguments of a profile that says nothing.
var usual = config.Default()

// cluster is a fake API server with the real scheduler and this plugin. Evicted pods keep terminating until the test
// removes them, and their controller replaces them at once.
type cluster struct {
	t         *testing.T
	ctx       context.Context
	client    *fake.Clientset
	watches   *atomic.Int32
	plans     *dynamicfake.FakeDynamicClient
	clock     *testingclock.FakeClock
	scheduler *kubescheduler.Scheduler
	plugin    *Plugin
	ledger    *reservation.Ledger
	optimizer *optimizer
	args      *config.PriorityOptimizerArgs
	stop      func()
	// lease is nil where no other process can lead.
	lease *leadership.Lease
	// statusBytes is the largest status of a plan.
	statusBytes int
	// devices is the catalogue of devices; nil: none are counted.
	devices *resources.Catalogue
	// standby: the process waits for the lease, and schedules no pods.
	standby bool
	// reserved is called for each pod that is about to be bound, unless it is nil.
	reserved func(*v1.Pod)
	// refusingNode is a node that the test's own Filter plugin keeps pods off; "" is none.
	refusingNode string

	mu              sync.Mutex
	names           int
	slowTermination bool
	refuse          bool
	// apiDown: the API server answers nothing about plans and reservations.
	apiDown bool
	// withoutControllers: no controller creates replacements.
	withoutControllers bool
	// slowStart: pods that are bound are not ready before the test says so.
	slowStart bool
	evicted   []string
}

// startCluster runs the scheduler against an optimiser with that script; nil is none. The setting, unless nil, applies
// before the scheduler starts.
func startCluster(t *testing.T, does script, setting func(*cluster), objects ...runtime.Object) *cluster {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	client, watches := testobjects.Client(objects...)
	c := &cluster{t: t, ctx: ctx, client: client, watches: watches, optimizer: &optimizer{socket: t.TempDir() + "/missing"},
		clock: testingclock.NewFakeClock(time.Now()), args: config.Default(), statusBytes: records.MaxStatusBytes}
	if does != nil {
		c.optimizer = startOptimizer(t, does)
	}
	c.plans = testobjects.CustomClient()
	c.client.PrependReactor("create", "pods", c.react)
	c.plans.PrependReactor("create", "*", c.named)
	c.plans.PrependReactor("update", "*", c.writeStatus)
	c.plans.PrependReactor("*", "*", c.unlessDown)
	// Most pods of the tests are singletons that have only just been created, and some have no kubelet.
	c.args.EvictSingletons, c.args.EvictNotReady, c.args.MinPodAgeSeconds = true, true, 0
	if setting != nil {
		setting(c)
	}
	c.args.Socket = c.optimizer.socket
	c.begin()
	t.Cleanup(func() { c.stop(); cancel() })
	return c
}

// begin starts a scheduler process, restart puts another one in its place.
func (c *cluster) begin() {
	ctx, cancel := context.WithCancel(c.ctx)
	stopped := make(chan struct{})
	c.runScheduler(ctx, stopped)
	c.stop = func() { cancel(); <-stopped }
}

func (c *cluster) restart() {
	c.t.Helper()
	c.stop()
	c.begin()
}

func (c *cluster) runScheduler(ctx context.Context, stopped chan struct{}) {
	c.t.Helper()
	client, err := optimizerclient.New(c.args.Socket)
	c.must(err)
	c.t.Cleanup(func() { _ = client.Close() })
	if c.optimizer.server != nil {
		// How long it takes to connect depends on the load of the machine, and a user's plan fails if it takes too long.
		connecting, cancel := context.WithTimeout(ctx, testTimeout)
		defer cancel()
		c.must(client.Ready(connecting))
	}
	plans := packingplan.NewInformer(c.plans)
	c.ledger = reservation.NewLedger()
	registry := frameworkruntime.Registry{Name: func(ctx context.Context, _ runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := assemble(ctx, c.args, handle, parts{World: World{Clock: c.clock, Dynamic: c.plans, Plans: plans, Ledger: c.ledger,
			Client: c.client, Devices: c.devices},
			solver: watchedSolver{client, c.optimizer}, statusBytes: c.statusBytes})
		c.plugin = plugin
		return plugin, err
	}}
	c.must(registry.Merge(c.otherPlugins(c.ledger, false)))
	configuration, err := options.LoadConfigFromFile(klog.Background(), optimizerProfile)
	c.must(err)
	enabled := &configuration.Profiles[0].Plugins.MultiPoint.Enabled
	*enabled = append(*enabled, schedulerconfig.Plugin{Name: "SelectiveFilter"})
	informers := minor.NewInformerFactory(c.client, 0)
	c.scheduler, err = kubescheduler.New(ctx, c.client, informers, nil,
		func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
		kubescheduler.WithProfiles(configuration.Profiles...),
		kubescheduler.WithFrameworkOutOfTreeRegistry(registry),
		kubescheduler.WithPodInitialBackoffSeconds(1), kubescheduler.WithPodMaxBackoffSeconds(1))
	c.must(err)
	rehearser, err := rehearsal.NewFramework(ctx, rehearsal.Profile{
		Original: c.scheduler.Profiles[v1.DefaultSchedulerName], Configuration: configuration.Profiles[0],
		OutOfTree: c.otherPlugins(c.ledger, true), Without: []string{Name}, Devices: c.devices,
	}, c.scheduler.Cache)
	c.must(err)
	from := reservation.Informers{Reservations: reservation.NewInformer(c.plans), Plans: plans,
		Pods: informers.Core().V1().Pods().Informer()}
	_, err = c.ledger.Watch(klog.Background(), from, func() {})
	c.must(err)
	go from.Reservations.RunWithContext(ctx)
	go from.Plans.RunWithContext(ctx)
	c.plugin.Attach(rehearser, c.lease)
	c.plugin.HandleFailures(c.scheduler)
	leadership.Announce(c.scheduler, c.plugin.StartLeading)
	c.watches.Store(0)
	informers.Start(ctx.Done())
	kinds := len(informers.WaitForCacheSync(ctx.Done()))
	c.await("every kind is watched", func() bool { return int(c.watches.Load()) >= kinds }, false)
	c.must(c.scheduler.WaitForHandlersSync(ctx))
	if c.standby {
		context.AfterFunc(ctx, func() { close(stopped) })
		return
	}
	go func() { c.scheduler.Run(ctx); close(stopped) }()
}

// otherPlugins are the out-of-tree plugins beside this one.
func (c *cluster) otherPlugins(ledger *reservation.Ledger, rehearsal bool) frameworkruntime.Registry {
	return frameworkruntime.Registry{
		reservations.Name: func(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return reservations.New(args, handle, ledger, c.devices, rehearsal)
		},
		"SelectiveFilter": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return &selectiveFilter{c}, nil },
	}
}

// stored are the objects of a custom resource, also while the API server is down.
func (c *cluster) stored(of schema.GroupVersionResource, kind string) []unstructured.Unstructured {
	found := testobjects.Value(c.plans.Tracker().List(of, of.GroupVersion().WithKind(kind), ""))(c.t)
	return found.(*unstructured.UnstructuredList).Items
}

// kept is the memory in GB that is held against pods outside the plan, by node.
func (c *cluster) kept() map[string]int64 {
	view, kept := c.ledger.For(testPod("stranger", 1, 0), false), map[string]int64{}
	for _, node := range []string{"n1", "n2"} {
		if held, some := view.Held(node); some {
			kept[node] = held.Of(v1.ResourceMemory) / 1e9
		}
	}
	return kept
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) add(pods ...*v1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		testobjects.Value(c.client.CoreV1().Pods(pod.Namespace).Create(c.ctx, pod, metav1.CreateOptions{}))(c.t)
	}
}

// addInTurn waits for each pod to be placed before it adds the next.
func (c *cluster) addInTurn(pods ...*v1.Pod) {
	c.t.Helper()
	for _, pod := range pods {
		c.add(pod)
		c.hasNode(pod.Name)
	}
}

func (c *cluster) pods() []*v1.Pod {
	c.t.Helper()
	found := testobjects.Value(c.client.Tracker().List(podsResource, v1.SchemeGroupVersion.WithKind("Pod"), ""))(c.t)
	list := found.(*v1.PodList)
	var pods []*v1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods
}

// nodeOf is the node of the pod with that name, or "".
func (c *cluster) nodeOf(name string) string {
	for _, pod := range c.pods() {
		if pod.Name == name {
			return pod.Spec.NodeName
		}
	}
	return ""
}

// nodesOf are the nodes of the owner's pods; "" for a waiting one.
func (c *cluster) nodesOf(owner string) (nodes []string) {
	for _, pod := range c.pods() {
		if pod.OwnerReferences[0].Name == owner && pod.DeletionTimestamp == nil {
			nodes = append(nodes, pod.Spec.NodeName)
		}
	}
	return nodes
}

func (c *cluster) plansOf() []*packingplan.Record {
	var records []*packingplan.Record
	for _, object := range c.stored(packingplan.Resource, packingplan.Kind) {
		record := testobjects.Value(packingplan.Read(&object))(c.t)
		records = append(records, record)
	}
	return records
}

// phases counts the plans by phase.
func (c *cluster) phases() map[packingplan.Phase]int {
	phases := map[packingplan.Phase]int{}
	for _, record := range c.plansOf() {
		phases[record.Status.Phase]++
	}
	return phases
}

func (c *cluster) evictions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.evicted)
}

// reaches waits until one plan is in the phase.
func (c *cluster) reaches(phase packingplan.Phase) {
	c.t.Helper()
	c.eventually("one plan is "+string(phase), func() bool { return c.phases()[phase] == 1 })
}

// planReaches waits until the plan of that name is in the phase.
func (c *cluster) planReaches(name string, phase packingplan.Phase) {
	c.t.Helper()
	c.eventually(name+" is "+string(phase), func() bool { return c.phaseOf(name) == phase })
}

// hasNode waits until the pod has a node.
func (c *cluster) hasNode(name string) {
	c.t.Helper()
	c.eventually(name+" is placed", func() bool { return c.nodeOf(name) != "" })
}

// eventually advances the fake clock until the condition holds.
func (c *cluster) eventually(what string, condition func() bool) {
	c.t.Helper()
	c.await(what, condition, true)
}

// await waits in real time; the fake clock only advances if flows is set, and stands still while the optimiser is at work.
func (c *cluster) await(what string, condition func() bool, flows bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(c.ctx, 5*time.Millisecond, testTimeout, true, func(context.Context) (bool, error) {
		if condition() {
			return true, nil
		}
		if flows {
			c.flow(20 * time.Millisecond)
		}
		return false, nil
	})
	if err != nil {
		c.t.Fatalf("waiting until %s: %v; %s", what, err, c.state())
	}
}

// seen is the state of the cluster that the plugin sees.
func (c *cluster) seen() string {
	c.t.Helper()
	state := c.plugin.view.Snapshot("")
	text := fmt.Sprintln(len(state.Pods), state.Fingerprint())
	for _, name := range slices.Sorted(maps.Keys(state.Nodes)) {
		text += state.Nodes[name].State
	}
	return text
}

// state is the last state seen, for messages.
func (c *cluster) state() string {
	text := ""
	for _, pod := range c.pods() {
		text += fmt.Sprintf("pod %s on %q; ", pod.Name, pod.Spec.NodeName)
	}
	for _, record := range c.plansOf() {
		text += fmt.Sprintf("plan %s %s: %s; ", record.Name(), record.Status.Phase, record.Status.Message)
	}
	return text
}

func testNode(name string, memoryGB int) *v1.Node {
	return testobjects.Node(name, "100", fmt.Sprint(memoryGB, "G")).Obj()
}

// testPod is the first pod of a ReplicaSet of the same name.
func testPod(owner string, memoryGB int, priority int32) *v1.Pod {
	return testobjects.Pod(owner, "", fmt.Sprint(memoryGB, "G")).Priority(priority).Obj()
}

var podsResource = v1.SchemeGroupVersion.WithResource("pods")

// react handles bindings and evictions as the API server does.
func (c *cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	create, ok := action.(clienttesting.CreateAction)
	if !ok {
		return false, nil, nil
	}
	switch object := create.GetObject().(type) {
	case *v1.Binding:
		return true, object, c.bind(object)
	case *policyv1.Eviction:
		return true, object, c.evict(object)
	}
	return false, nil, nil
}

func (c *cluster) bind(binding *v1.Binding) error {
	found, err := c.client.Tracker().Get(podsResource, binding.Namespace, binding.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod).DeepCopy()
	pod.Spec.NodeName, pod.Status.Phase = binding.Target.Name, v1.PodRunning
	pod.Status.StartTime = &metav1.Time{Time: c.clock.Now()}
	c.mu.Lock()
	setReady(pod, !c.slowStart)
	c.mu.Unlock()
	pod.Annotations = maps.Clone(binding.Annotations)
	return c.client.Tracker().Update(podsResource, pod, pod.Namespace)
}

func (c *cluster) evict(eviction *policyv1.Eviction) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse {
		return apierrors.NewTooManyRequests("the budget is spent", 1)
	}
	found, err := c.client.Tracker().Get(podsResource, eviction.Namespace, eviction.Name)
	if err != nil {
		return err
	}
	pod := found.(*v1.Pod)
	if uid := eviction.DeleteOptions.Preconditions.UID; uid == nil || *uid != pod.UID {
		return apierrors.NewConflict(v1.Resource("pods"), pod.Name, fmt.Errorf("precondition failed"))
	}
	c.evicted = append(c.evicted, pod.Name)
	if c.slowTermination {
		now := metav1.Now()
		terminating := pod.DeepCopy()
		terminating.DeletionTimestamp = &now
		terminating.Finalizers = []string{"test/slow-termination"}
		err = c.client.Tracker().Update(podsResource, terminating, pod.Namespace)
	} else {
		err = c.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name)
	}
	if err != nil {
		return err
	}
	if c.withoutControllers {
		return nil
	}
	return c.client.Tracker().Add(c.replacement(pod))
}

// replacement is the pod that the controller creates in place of the given one.
func (c *cluster) replacement(of *v1.Pod) *v1.Pod {
	c.names++
	pod := of.DeepCopy()
	pod.Name = fmt.Sprintf("%s-again-%d", of.OwnerReferences[0].Name, c.names)
	pod.UID = types.UID("uid-" + pod.Name)
	pod.Spec.NodeName, pod.DeletionTimestamp, pod.Finalizers = "", nil, nil
	pod.Status = v1.PodStatus{Phase: v1.PodPending}
	return pod
}

// endPods removes the terminating pods.
func (c *cluster) endPods() {
	c.mu.Lock()
	c.slowTermination = false
	c.mu.Unlock()
	for _, pod := range c.pods() {
		if pod.DeletionTimestamp != nil {
			c.must(c.client.Tracker().Delete(podsResource, pod.Namespace, pod.Name))
		}
	}
}

// unlessDown answers with an error while the API server is down.
func (c *cluster) unlessDown(clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.apiDown, nil, errors.New("connection refused")
}

// writeStatus writes a status as the API server does: the rest of the stored object stays as it is, whatever the writer
// has seen of it. The client's fake would replace the whole object.
func (c *cluster) writeStatus(action clienttesting.Action) (bool, runtime.Object, error) {
	update, ok := action.(clienttesting.UpdateAction)
	if !ok || update.GetSubresource() != "status" {
		return false, nil, nil
	}
	written, ok := update.GetObject().(*unstructured.Unstructured)
	if !ok {
		return false, nil, nil
	}
	found, err := c.plans.Tracker().Get(update.GetResource(), update.GetNamespace(), written.GetName())
	if err != nil {
		return true, nil, err
	}
	stored := found.DeepCopyObject().(*unstructured.Unstructured)
	stored.Object["status"] = written.Object["status"]
	return true, stored, c.plans.Tracker().Update(update.GetResource(), stored, update.GetNamespace())
}

// named gives a new object a UID of its own.
func (c *cluster) named(action clienttesting.Action) (bool, runtime.Object, error) {
	object, err := meta.Accessor(action.(clienttesting.CreateAction).GetObject())
	if err != nil {
		return true, nil, err
	}
	if object.GetUID() == "" {
		object.SetUID(uuid.NewUUID())
	}
	return false, nil, nil
}
