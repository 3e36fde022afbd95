package priorityoptimizer

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "PriorityOptimizer"

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	handle    fwk.Handle
	activator fwk.PodActivator
	logger    klog.Logger

	book     *resources.Book
	view     *view
	trigger  *trigger
	hold     *hold
	inFlight *inFlight
	// waiting are the pods that the plugin holds back, and why.
	waiting waiting.Table
	// inSolve are the pods of the solve under way; nil if there is none.
	inSolve atomic.Pointer[sets.Set[types.UID]]
	// execution is that of the active plan, or nil.
	execution atomic.Pointer[executor.Execution]
	// lead says whether this process schedules.
	lead lead
	// rehearser is where plans are rehearsed; nil until the scheduler is complete.
	rehearser atomic.Pointer[rehearser]
	// ledger holds the room of plans; nil without reservations.
	ledger atomic.Pointer[reservation.Ledger]
	// wake tells the goroutine that owns the state machine that something happened.
	wake chan struct{}
	// byHand is the state machine where Step runs it; nil where the plugin does.
	byHand *loop
}

var (
	_ fwk.PreEnqueuePlugin  = &Plugin{}
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

// messagePlanStarted is for a pod whose cycle began before the plan did.
const messagePlanStarted = "a plan began while the pod was being scheduled"

// cycleStateKey is the plugin's entry in the state of a scheduling cycle.
const cycleStateKey = fwk.StateKey(Name)

// cycleState is what PreFilter passes to the later extension points.
type cycleState struct {
	execution *executor.Execution
	// outstanding is the room that the plan still needs on each node, and vacated are the nodes from which it evicts
	// pods of the same kind. Neither is ever changed.
	outstanding map[string]resources.Vector
	vacated     sets.Set[string]
	requests    resources.Vector
	// planned: the pod goes to a place of the plan.
	planned bool
	// restricted: the plan limits the nodes of the pod, so its failure does not mean that it is unschedulable.
	restricted atomic.Bool
}

// Clone returns the state itself: the only field that changes goes from false to true.
func (s *cycleState) Clone() fwk.StateData { return s }

func (p *Plugin) Name() string { return Name }

// PreEnqueue keeps the pods that have to wait out of the scheduling cycle.
func (p *Plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if _, reason := p.gate(pod, p.execution.Load(), nil); reason != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, string(reason))
	}
	return nil
}

// SignPod lets the scheduler reuse results among equal pods as long as no plan treats them differently.
func (p *Plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.execution.Load() == nil && p.trigger.kind != TriggerBatch && !p.hold.active() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "where a pod may go depends on the plan that is being carried out")
}

// PreFilter asks the gate again, and sends the pods of a plan to their places. Other pods are left to Filter.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	execution := p.execution.Load()
	nodes, reason := p.gate(pod, execution, p.freeOn)
	seen := &cycleState{planned: len(nodes) > 0}
	seen.restricted.Store(seen.planned || reason != "")
	state.Write(cycleStateKey, seen)
	if reason != "" {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, string(reason))
	}
	if execution == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	seen.execution = execution
	if !snapshot.IsInGroup(pod) {
		cachebypass.Require(state, Name)
	}
	if seen.planned {
		return &fwk.PreFilterResult{NodeNames: sets.New(nodes...)}, nil
	}
	seen.outstanding, seen.vacated = execution.Outstanding(), execution.Vacated(pod)
	if len(seen.outstanding) == 0 && len(seen.vacated) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	seen.requests = p.book.Needs(pod)
	return nil, nil
}

// freeOn is the room on a node in the present scheduling cycle; none on a node that is gone.
func (p *Plugin) freeOn(name string) resources.Vector {
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return resources.Vector{}
	}
	return p.book.Free(node)
}

// Filter keeps pods outside the plan off the nodes where they would take room that the plan still needs, and off those
// from which the plan evicts pods of their kind.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	seen := p.stateOf(state)
	name := node.Node().Name
	needed, some := seen.outstanding[name]
	if !seen.vacated.Has(name) && (!some || seen.requests.FitsIn(p.book.Free(node).Minus(needed))) {
		return nil
	}
	if !seen.restricted.Swap(true) && snapshot.IsInGroup(pod) {
		p.waiting.Put(pod, reasonReserved, nil) // PostFilter is not asked about it
	}
	return fwk.NewStatus(fwk.Unschedulable, string(reasonReserved))
}

// PreFilterExtensions returns nil: no decision of PreFilter changes when one pod is added or removed.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable, unless this plugin rejected it, or no plan can help it.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if seen := p.stateOf(state); seen.restricted.Load() {
		if seen.execution != nil {
			p.waiting.Put(pod, reasonReserved, nil)
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if snapshot.IsInGroup(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.trigger.mark(pod.UID, snapshot.SignatureOf(pod, p.book.Needs(pod)), pod.CreationTimestamp.Time)
	p.wakeUp()
	return nil, fwk.NewStatus(fwk.Unschedulable, "marked for the optimiser")
}

func (p *Plugin) stateOf(state fwk.CycleState) *cycleState {
	if data, err := state.Read(cycleStateKey); err == nil {
		if seen, ok := data.(*cycleState); ok {
			return seen
		}
	}
	return &cycleState{}
}

// Reserve takes the pod's place in the plan. It rejects a pod whose cycle began before a hold or a plan did: no pod may
// be bound that the solve does not know of. Only pods of a group may be during a hold: the plan is checked once more
// before it starts. While the scheduler tries a group nothing counts; it reserves for its pods again when it has decided.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if state.IsPodGroupSchedulingCycle() {
		return nil
	}
	if !snapshot.IsInGroup(pod) && p.hold.active() {
		p.waiting.Put(pod, reasonHeld, nil)
		return fwk.NewStatus(fwk.Unschedulable, string(reasonHeld))
	}
	// First record the pod, then check whether a plan has started: a plan starts in the opposite order, so that one of
	// the two notices the other.
	p.inFlight.add(pod.UID, node)
	execution := p.execution.Load()
	if execution == nil {
		return nil
	}
	seen := p.stateOf(state)
	if execution != seen.execution {
		p.inFlight.remove(pod.UID)
		p.waiting.Put(pod, reasonReserved, nil)
		return fwk.NewStatus(fwk.Unschedulable, messagePlanStarted)
	}
	execution.Reserve(pod, node, seen.planned)
	return nil
}

// Unreserve gives the place back.
func (p *Plugin) Unreserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	if state.IsPodGroupSchedulingCycle() {
		return
	}
	p.inFlight.remove(pod.UID)
	if execution := p.execution.Load(); execution != nil {
		execution.Unreserve(pod.UID)
	}
	p.wakeUp()
}

// PostBind counts the arrival.
func (p *Plugin) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.trigger.unmark(pod.UID)
	p.waiting.Remove(pod.UID)
	if execution := p.execution.Load(); execution != nil && execution.Bound(pod.UID) {
		p.wakeUp()
	}
}

// EventsToRegister names the events after which a pod that this plugin rejected may pass. The plugin itself activates
// the pods that wait for the end of a solve or a plan; the events are for those that wait for room.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint},
			QueueingHintFn: p.hint},
	}, nil
}

// hint keeps a pod out of the active queue while a solve goes on, and a pod of the active plan until the plan sends it
// to a node: otherwise each eviction of the plan would wake up all of its pods.
func (p *Plugin) hint(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
	if !snapshot.IsInGroup(pod) && (p.hold.active() || p.execution.Load().Plans(pod)) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// wakeUp never blocks: one pending wake-up is as good as many.
func (p *Plugin) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// activate must be called without any lock, since the scheduling queue calls PreEnqueue.
func (p *Plugin) activate(pods map[string]*v1.Pod) {
	if len(pods) > 0 {
		p.activator.Activate(p.logger, pods)
	}
}

// forget drops everything about a pod that is gone.
func (p *Plugin) forget(uid types.UID) {
	p.inFlight.remove(uid)
	p.trigger.unmark(uid)
	p.waiting.Remove(uid)
}
