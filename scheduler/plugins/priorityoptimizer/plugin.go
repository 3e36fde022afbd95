package priorityoptimizer

import (
	"context"
	"sync"
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
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "PriorityOptimizer"

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	handle    fwk.Handle
	activator fwk.PodActivator
	logger    klog.Logger

	view     *view
	trigger  *trigger
	hold     *hold
	inFlight *inFlight
	// keptOut are the pods that the active plan leaves no room for.
	keptOut *heldSet
	// rejected are the UIDs of the pods that PreFilter has just rejected, until their failure is handled.
	rejected sync.Map
	// inSolve are the pods of the solve under way; nil if there is none.
	inSolve atomic.Pointer[sets.Set[types.UID]]
	// awaitingSolve are the pods that wait, untried, for the next solve, or for the end of a solve that covers them.
	awaitingSolve *heldSet
	// batch are the pods that wait for a plan of their own; nil but in trigger Batch.
	batch *batch
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

const (
	messageHeld          = "waits while the optimiser looks for a better packing"
	messagePlace         = "waits until the plan has made room on its node"
	messageKeptOut       = "all room that is free is kept for a plan that is being carried out"
	messagePlanStarted   = "a plan began while the pod was being scheduled"
	messageAwaitingSolve = "waits for the next solve, since a pod like it found no node just now"
	messageBatch         = "waits until the optimiser has found nodes for its whole batch"
)

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

// PreEnqueue holds new pods back while a solve goes on, until their batch has nodes, until the active plan has room at
// their places, and until the next solve if pods with their signature wait for it. A pod that is held back here costs
// neither a cycle nor a write. Pods of a group are let through: one that is held back holds back all of them.
func (p *Plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if snapshot.IsInGroup(pod) {
		return nil
	}
	if p.hold.keeps(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageHeld)
	}
	p.hold.held.remove(pod.UID)
	if p.isInSolve(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageHeld)
	}
	if p.collects(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageBatch)
	}
	if execution := p.execution.Load(); execution != nil && execution.MustWait(pod) {
		p.keptOut.add(pod)
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messagePlace)
	}
	p.keptOut.remove(pod.UID)
	if !p.isPlanned(pod) && p.joinsNextSolve(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageAwaitingSolve)
	}
	return nil
}

// SignPod lets the scheduler reuse results among equal pods as long as no plan treats them differently.
func (p *Plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.execution.Load() == nil && p.batch == nil && !p.hold.active() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "where a pod may go depends on the plan that is being carried out")
}

// PreFilter decides in this order:
//
//  1. While a solve goes on, no pod passes; the pods of the solve wait until it ends, however long it takes.
//  2. A pod of a batch passes only if the active plan has an open place for it.
//  3. A pod for which the active plan has an open place goes there, and nowhere else.
//  4. A pod with the signature of one that has just found no node waits with it for the next solve.
//  5. Any other pod is left to Filter, unless there is no plan; so is a pod of a group at once.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if snapshot.IsInGroup(pod) {
		return p.leaveToFilter(state, pod)
	}
	if p.hold.keeps(pod) {
		return p.reject(state, pod, messageHeld)
	}
	p.hold.held.remove(pod.UID)
	if p.isInSolve(pod) {
		return p.reject(state, pod, messageHeld)
	}
	p.keptOut.remove(pod.UID)
	if p.collects(pod) {
		return p.reject(state, pod, messageBatch)
	}
	execution := p.execution.Load()
	if execution == nil {
		if p.joinsNextSolve(pod) {
			return p.reject(state, pod, messageAwaitingSolve)
		}
		return nil, fwk.NewStatus(fwk.Skip)
	}
	cachebypass.Require(state, Name)
	seen := &cycleState{execution: execution}
	state.Write(cycleStateKey, seen)
	targets, planned := execution.Nodes(pod, p.freeOn)
	if planned {
		if len(targets) == 0 {
			p.keptOut.add(pod)
			return p.reject(state, pod, messagePlace)
		}
		seen.planned = true
		seen.restricted.Store(true)
		return &fwk.PreFilterResult{NodeNames: sets.New(targets...)}, nil
	}
	if p.joinsNextSolve(pod) {
		return p.reject(state, pod, messageAwaitingSolve)
	}
	return seen.leaveToFilter(pod)
}

// leaveToFilter prepares Filter for a pod of a group.
func (p *Plugin) leaveToFilter(state fwk.CycleState, pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
	p.keptOut.remove(pod.UID)
	execution := p.execution.Load()
	if execution == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	seen := &cycleState{execution: execution}
	state.Write(cycleStateKey, seen)
	return seen.leaveToFilter(pod)
}

// leaveToFilter prepares Filter for a pod for which the plan has no place.
func (s *cycleState) leaveToFilter(pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
	s.outstanding, s.vacated = s.execution.Outstanding(), s.execution.Vacated(pod)
	if len(s.outstanding) == 0 && len(s.vacated) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	s.requests = resources.OfPod(pod)
	return nil, nil
}

func (p *Plugin) reject(state fwk.CycleState, pod *v1.Pod, message string) (*fwk.PreFilterResult, *fwk.Status) {
	p.rejected.Store(pod.UID, nil)
	seen := &cycleState{}
	seen.restricted.Store(true)
	state.Write(cycleStateKey, seen)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
}

// freeOn is the room on a node in the present scheduling cycle; none on a node that is gone.
func (p *Plugin) freeOn(name string) resources.Vector {
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return resources.Vector{}
	}
	return resources.FreeOn(node)
}

// Filter keeps pods outside the plan off the nodes where they would take room that the plan still needs, and off those
// from which the plan evicts pods of their kind.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	seen := p.stateOf(state)
	name := node.Node().Name
	needed, some := seen.outstanding[name]
	if !seen.vacated.Has(name) && (!some || seen.requests.FitsIn(resources.FreeOn(node).Minus(needed))) {
		return nil
	}
	if !seen.restricted.Swap(true) && snapshot.IsInGroup(pod) {
		p.keptOut.add(pod) // PostFilter is not asked about it
	}
	return fwk.NewStatus(fwk.Unschedulable, messageKeptOut)
}

// PreFilterExtensions returns nil: no decision of PreFilter changes when one pod is added or removed.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable, unless this plugin rejected it, or no plan can help it.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if seen := p.stateOf(state); seen.restricted.Load() {
		if seen.execution != nil {
			p.keptOut.add(pod)
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	if snapshot.IsInGroup(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.trigger.mark(pod.UID, snapshot.SignatureOf(pod), pod.CreationTimestamp.Time)
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
	if !snapshot.IsInGroup(pod) && p.hold.keeps(pod) {
		return fwk.NewStatus(fwk.Unschedulable, messageHeld)
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
		p.keptOut.add(pod)
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
	p.batch.forget(pod.UID)
	p.keptOut.remove(pod.UID)
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
	if !snapshot.IsInGroup(pod) && (p.hold.active() || p.isPlanned(pod)) {
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
	p.hold.held.remove(uid)
	p.keptOut.remove(uid)
	p.awaitingSolve.remove(uid)
	p.batch.forget(uid)
}
