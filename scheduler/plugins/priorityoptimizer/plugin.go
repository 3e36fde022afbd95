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
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	handle    fwk.Handle
	activator fwk.PodActivator
	logger    klog.Logger

	view     *view
	trigger  *trigger
	hold     *hold
	inFlight *inFlight
	// keptOut are the pods that a running plan leaves no room for.
	keptOut *heldSet
	// rejected are the pods that PreFilter has just turned away.
	rejected rejectedPods
	// snapshot are the pods that the solve under way is about; nil if none is.
	inSolve atomic.Pointer[sets.Set[types.UID]]
	// failedSignatures are the pods that wait for the next solve without having been tried, or for the end of one about them.
	awaitingSolve *heldSet
	// batch are the pods that wait for a plan of their own; nil but in mode Batch.
	batch *batch
	// execution is the plan being carried out, or nil.
	execution atomic.Pointer[executor.Execution]
	// leads is set once this process schedules: only then may it change anything.
	leads atomic.Bool
	// lease says whether it still does; nil if nobody else can.
	lease atomic.Pointer[leadership.Lease]
	// rehearser is where plans are rehearsed; nil until the scheduler is complete.
	rehearser atomic.Pointer[rehearser]
	// ledger holds the room of plans; nil without reservations.
	ledger atomic.Pointer[reservation.Ledger]
	// wake tells the goroutine that owns the state machine that something happened.
	wake chan struct{}
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

// cycleState is what PreFilter tells the later extension points.
type cycleState struct {
	execution *executor.Execution
	// outstanding is the room that the plan still needs on each node, and vacated are the nodes that it has
	// sent the pod's like away from. Nobody changes them.
	outstanding map[string]resources.Vector
	vacated     sets.Set[string]
	requests    resources.Vector
	// restricted: the plan limits the nodes of the pod, so that its failure says nothing.
	restricted atomic.Bool
}

// Clone returns the state itself: what changes in it only ever becomes true.
func (s *cycleState) Clone() fwk.StateData { return s }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// PreEnqueue holds new pods back while a solve goes on, until their batch has nodes, until the running plan has room for
// them where it sends them, and until the solve that the like of them wait for: a pod that is held back here costs
// neither a cycle nor a write.
func (p *Plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
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
	if p.joinsNextSolve(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageAwaitingSolve)
	}
	return nil
}

// SignPod lets the scheduler treat equal pods alike as long as no plan tells them apart.
func (p *Plugin) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if p.execution.Load() == nil && p.batch == nil && !p.hold.active() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "where a pod may go depends on the plan that is being carried out")
}

// PreFilter decides in this order:
//
//  1. While a solve goes on, nobody passes, and who waits for it as long as it takes.
//  2. A pod of a batch passes only if the running plan has an open place for it.
//  3. A pod for which the running plan has an open place goes there, and nowhere else.
//  4. The like of a pod that found no node just now waits with it for the next solve.
//  5. Any other pod is left to Filter, unless there is no plan.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
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
		seen.restricted.Store(true)
		return &fwk.PreFilterResult{NodeNames: sets.New(targets...)}, nil
	}
	if p.joinsNextSolve(pod) {
		return p.reject(state, pod, messageAwaitingSolve)
	}
	seen.outstanding, seen.vacated = execution.Outstanding(), execution.Vacated(pod)
	if len(seen.outstanding) == 0 && len(seen.vacated) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	seen.requests = resources.OfPod(pod)
	return nil, nil
}

func (p *Plugin) reject(state fwk.CycleState, pod *v1.Pod, message string) (*fwk.PreFilterResult, *fwk.Status) {
	p.rejected.add(pod.UID)
	seen := &cycleState{}
	seen.restricted.Store(true)
	state.Write(cycleStateKey, seen)
	return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
}

// freeOn is the room on a node in the present scheduling cycle; none at all on one that is gone.
func (p *Plugin) freeOn(name string) resources.Vector {
	node, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return resources.Vector{}
	}
	return resources.FreeOn(node)
}

// Filter keeps pods that are not the plan's off the nodes where they would take room that it still needs, and
// from which it has sent away their like.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	seen := p.stateOf(state)
	name := node.Node().Name
	needed, some := seen.outstanding[name]
	if !seen.vacated.Has(name) && (!some || seen.requests.FitsIn(resources.FreeOn(node).Minus(needed))) {
		return nil
	}
	seen.restricted.Store(true)
	return fwk.NewStatus(fwk.Unschedulable, messageKeptOut)
}

// PreFilterExtensions returns nil: nothing that PreFilter decides changes with one pod.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable, unless it was this plugin that turned it away.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if seen := p.stateOf(state); seen.restricted.Load() {
		if seen.execution != nil {
			p.keptOut.add(pod)
		}
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

// Reserve takes the pod's place in the plan. A pod whose cycle began before a hold or a plan
// did is sent back: nothing may be bound that the solve does not know of.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	if p.hold.keeps(pod) {
		return fwk.NewStatus(fwk.Unschedulable, messageHeld)
	}
	// First make the pod known, then look whether a plan has begun: a plan begins the other way
	// round, so that one of the two notices.
	p.inFlight.add(pod.UID, node)
	execution := p.execution.Load()
	if execution == nil {
		return nil
	}
	if execution != p.stateOf(state).execution {
		p.inFlight.remove(pod.UID)
		p.keptOut.add(pod)
		return fwk.NewStatus(fwk.Unschedulable, messagePlanStarted)
	}
	execution.Reserve(pod, node)
	return nil
}

// Unreserve gives the place back.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
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
	if execution := p.execution.Load(); execution != nil && execution.Bound(pod.UID) {
		p.wakeUp()
	}
}

// wakeUp never blocks: one pending wake-up is as good as many.
func (p *Plugin) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// activate must be called without any lock: the scheduling queue calls PreEnqueue.
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
