package fakecluster_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulercache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	frameworkplugins "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/plugins/reservations"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

// process is a scheduler: Stowage's plugins in a profile that fits pods by their requests, and the cycles that call them.
type process struct {
	*cluster
	ctx                              context.Context
	end                              context.CancelFunc
	pods, nodes, plans, reservations *informer
	framework                        framework.Framework
	plugin                           *priorityoptimizer.Plugin
	ledger                           *reservation.Ledger
	devices                          *resources.Catalogue
	// snapshot is that of the scheduling cycles, known the present one; nil after a change.
	snapshot, known *schedulercache.Snapshot
	// bound and queued are the pods that the scheduler knows, assumed those that it is binding.
	bound, assumed, queued map[types.UID]*v1.Pod
	cycles                 []*cycle
	due                    time.Time
	// stepping: a step of the plugin goes on. scheduling: a scheduling cycle does. There is one of each at a time.
	stepping, scheduling bool
}

// cycle is a pod that has been given a node.
type cycle struct {
	pod    *v1.Pod
	node   string
	state  fwk.CycleState
	asked  bool
	status *fwk.Status
}

// begin has a new process take the place of the one before.
func (c *cluster) begin(ctx context.Context, socket string, number int) error {
	p := &process{cluster: c, pods: newInformer(), nodes: newInformer(), plans: newInformer(), reservations: newInformer(),
		ledger: reservation.NewLedger(), devices: resources.NewCatalogue(), snapshot: schedulercache.NewEmptySnapshot(),
		bound: map[types.UID]*v1.Pod{}, assumed: map[types.UID]*v1.Pod{}, queued: map[types.UID]*v1.Pod{}}
	p.ctx, p.end = context.WithCancel(ctx)
	c.process = p
	factory := informers.NewSharedInformerFactory(c.client, 0)
	factory.InformerFor(&v1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return p.pods })
	factory.InformerFor(&v1.Node{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer { return p.nodes })
	if err := p.build(factory, socket, number); err != nil {
		return err
	}
	for _, node := range c.nodes {
		p.nodes.arriving = append(p.nodes.arriving, change{now: node})
	}
	for _, pod := range c.sorted(func(*v1.Pod) bool { return true }) {
		p.pods.arriving = append(p.pods.arriving, change{now: pod})
	}
	for _, name := range slices.Sorted(maps.Keys(c.plans)) {
		p.plans.arriving = append(p.plans.arriving, change{now: read(c.plans[name])})
	}
	p.catchUp(0, 0)
	p.plugin.StartLeading()
	return nil
}

func (p *process) build(factory informers.SharedInformerFactory, socket string, number int) error {
	profile := config.KubeSchedulerProfile{SchedulerName: v1.DefaultSchedulerName, Plugins: &config.Plugins{}}
	for _, name := range []string{names.PrioritySort, priorityoptimizer.Name, names.NodeResourcesFit, reservations.Name} {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: name, Weight: 1})
	}
	arguments, err := json.Marshal(map[string]any{"socket": socket, "coolDownSeconds": 0, "minPodAgeSeconds": 0, "evictSingletons": true,
		"evictNotReady": true, "limits": map[string]any{"maxUnavailablePerWorkload": p.atOnce}})
	if err != nil {
		return err
	}
	profile.PluginConfig = []config.PluginConfig{
		{Name: priorityoptimizer.Name, Args: &runtime.Unknown{Raw: arguments}},
		{Name: names.NodeResourcesFit, Args: &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{Type: config.LeastAllocated}}},
	}
	reserving := func(rehearsal bool) frameworkruntime.PluginFactory {
		return func(_ context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			return reservations.New(args, handle, p.ledger, p.devices, rehearsal)
		}
	}
	registry := frameworkplugins.NewInTreeRegistry()
	registry[reservations.Name] = reserving(false)
	registry[priorityoptimizer.Name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		p.plugin, err = priorityoptimizer.NewIn(ctx, args, handle, priorityoptimizer.World{Clock: p.clock,
			Dynamic: plansAPI{cluster: p.cluster}, Plans: p.plans, Ledger: p.ledger, Devices: p.devices,
			Client: p.evictions, Process: fmt.Sprint("process-", number)})
		return p.plugin, err
	}
	p.framework, err = frameworkruntime.NewFramework(p.ctx, registry, &profile, append(minor.SnapshotOptions(p.snapshot),
		frameworkruntime.WithClientSet(p.client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithEventRecorder(&events.FakeRecorder{}), frameworkruntime.WithSnapshotSharedLister(p.snapshot),
		frameworkruntime.WithPodNominator(nobody{}), frameworkruntime.WithPodActivator(nobody{}))...)
	if err != nil {
		return err
	}
	rehearser, err := rehearsal.NewFramework(p.ctx, rehearsal.Profile{Original: p.framework, Configuration: profile,
		OutOfTree: frameworkruntime.Registry{reservations.Name: reserving(true)}, Without: []string{priorityoptimizer.Name}, Devices: p.devices}, p)
	if err != nil {
		return err
	}
	p.plugin.Attach(rehearser, nil)
	_, err = p.ledger.Watch(klog.FromContext(p.ctx), reservation.Informers{Reservations: p.reservations, Plans: p.plans, Pods: p.pods,
		Book: resources.NewBook(p.framework, p.devices)}, func() {})
	if err != nil {
		return err
	}
	_, err = p.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: p.observe,
		UpdateFunc: func(_, now any) { p.observe(now) }, DeleteFunc: p.forget})
	return err
}

// nobody nominates and activates no pods: those that wait are tried at any time.
type nobody struct{ fwk.PodNominator }

func (nobody) NominatedPodsForNode(string) []fwk.PodInfo { return nil }

func (nobody) Activate(klog.Logger, map[string]*v1.Pod) {}

// observe is the scheduler's own handler of pods.
func (p *process) observe(object any) {
	p.known = nil
	pod := object.(*v1.Pod)
	if pod.Spec.NodeName == "" {
		if p.assumed[pod.UID] == nil {
			p.queued[pod.UID] = pod
		}
		return
	}
	delete(p.queued, pod.UID)
	delete(p.assumed, pod.UID)
	p.bound[pod.UID] = pod
}

func (p *process) forget(object any) {
	p.known = nil
	pod := customobject.LastKnown(object).(*v1.Pod)
	delete(p.queued, pod.UID)
	delete(p.bound, pod.UID)
	if pod.Spec.NodeName != "" { // else its binding is still under way, and fails
		delete(p.assumed, pod.UID)
	}
}

// UpdateSnapshot is the scheduler's cache.
func (p *process) UpdateSnapshot(_ klog.Logger, snapshot *schedulercache.Snapshot) error {
	if p.known == nil {
		pods := slices.AppendSeq(slices.Collect(maps.Values(p.bound)), maps.Values(p.assumed))
		p.known = schedulercache.NewSnapshot(pods, p.cluster.nodes)
	}
	*snapshot = *p.known
	return nil
}

// catchUp shows all changes that are older than late, and tells the handlers of those older than untold.
func (p *process) catchUp(late, untold time.Duration) {
	now := p.clock.Now()
	for _, one := range []*informer{p.nodes, p.pods, p.plans} {
		one.catchUp(now.Add(-late), now.Add(-untold))
	}
}

// step has the plugin do what is due.
func (p *process) step() {
	if p.stepping {
		return
	}
	p.stepping = true
	p.due = p.clock.Now().Add(p.plugin.Step(p.ctx))
	p.stepping = false
}

// schedule is a scheduling cycle, up to the binding. between happens in its midst.
func (p *process) schedule(pod *v1.Pod, between func()) {
	if p.scheduling {
		return
	}
	p.scheduling = true
	defer func() { p.scheduling = false }()
	for _, plugin := range p.framework.PreEnqueuePlugins() {
		if !plugin.PreEnqueue(p.ctx, pod).IsSuccess() {
			return
		}
	}
	state := framework.NewCycleState()
	nodes, statuses := p.feasible(state, pod)
	if len(nodes) == 0 {
		p.framework.RunPostFilterPlugins(p.ctx, state, pod, statuses)
		return
	}
	one := &cycle{pod: pod, node: nodes[p.random.IntN(len(nodes))], state: state}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = one.node
	delete(p.queued, pod.UID)
	p.assumed[pod.UID], p.known = assumed, nil
	between()
	if p.framework.RunReservePluginsReserve(p.ctx, state, assumed, one.node).IsSuccess() {
		p.cycles = append(p.cycles, one)
	} else {
		p.undo(one)
	}
}

// feasible are the nodes that the plugins let the pod onto.
func (p *process) feasible(state fwk.CycleState, pod *v1.Pod) (nodes []string, statuses *framework.NodeToStatus) {
	_ = p.UpdateSnapshot(klog.Background(), p.snapshot)
	statuses = framework.NewDefaultNodeToStatus()
	only, status, _ := p.framework.RunPreFilterPlugins(p.ctx, state, pod)
	if !status.IsSuccess() {
		return nil, statuses
	}
	for _, node := range p.cluster.nodes {
		if !only.AllNodes() && !only.NodeNames.Has(node.Name) {
			continue
		}
		info, err := p.snapshot.NodeInfos().Get(node.Name)
		if err != nil {
			continue
		}
		if refused := p.framework.RunFilterPluginsWithNominatedPods(p.ctx, state, pod, info); refused.IsSuccess() {
			nodes = append(nodes, node.Name)
		} else {
			statuses.Set(node.Name, refused)
		}
	}
	return nodes, statuses
}

// proceed does the next step of a binding: the request, or what follows its answer.
func (p *process) proceed(one *cycle) {
	if !one.asked {
		one.asked = true
		one.status = p.framework.RunBindPlugins(p.ctx, one.state, p.assumedPod(one), one.node)
		return
	}
	if !one.status.IsSuccess() {
		p.undo(one)
		return
	}
	p.cycles = slices.DeleteFunc(p.cycles, func(other *cycle) bool { return other == one })
	p.framework.RunPostBindPlugins(p.ctx, one.state, p.assumedPod(one), one.node)
}

func (p *process) assumedPod(one *cycle) *v1.Pod {
	assumed := one.pod.DeepCopy()
	assumed.Spec.NodeName = one.node
	return assumed
}

// undo gives a pod's node back, and has it wait again.
func (p *process) undo(one *cycle) {
	p.framework.RunReservePluginsUnreserve(p.ctx, one.state, p.assumedPod(one), one.node)
	p.cycles = slices.DeleteFunc(p.cycles, func(other *cycle) bool { return other == one })
	delete(p.assumed, one.pod.UID)
	p.known = nil
	if object, known, _ := p.pods.store.Get(one.pod); known && object.(*v1.Pod).UID == one.pod.UID && object.(*v1.Pod).Spec.NodeName == "" {
		p.queued[one.pod.UID] = object.(*v1.Pod)
	}
}

// mayGoTo are the nodes that a pod may go to now.
func (p *process) mayGoTo(pod *v1.Pod) []string {
	for _, plugin := range p.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(p.ctx, pod); !status.IsSuccess() {
			return []string{status.Message()}
		}
	}
	nodes, _ := p.feasible(framework.NewCycleState(), pod)
	return nodes
}
