package priorityoptimizer

import (
	"context"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/reuse"
)

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	activator fwk.PodActivator
	logger    klog.Logger

	view     *view
	trigger  *trigger
	hold     *hold
	inFlight *inFlight
	// keptOut are the pods that a running plan leaves no room for.
	keptOut *waitingRoom
	// batch are the pods that wait for a plan of their own; nil but in mode Batch.
	batch *batch
	// running is the plan being carried out, or nil.
	running atomic.Pointer[executor.Execution]
	// leads is set once this process schedules: only then may it change anything.
	leads atomic.Bool
	// lease says whether it still does; nil if nobody else can.
	lease atomic.Pointer[leadership.Lease]
	// stage is where plans are rehearsed; nil until the scheduler is complete.
	stage atomic.Pointer[stage]
	// rooms holds the room of plans as objects; nil without reservations.
	rooms atomic.Pointer[reservation.Rooms]
	// wake tells the goroutine that owns the state machine that something happened.
	wake chan struct{}
}

var (
	_ fwk.PreEnqueuePlugin  = &Plugin{}
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
)

const (
	messageHeld    = "waits while the optimiser looks for a better packing"
	messagePlace   = "waits until the plan has made room on its node"
	messageKeptOut = "all room that is free is kept for a plan that is being carried out"
	messageBegan   = "a plan began while the pod was being scheduled"
	messageBatch   = "waits until the optimiser has found nodes for its whole batch"
)

// cycleStateKey is the plugin's entry in the state of a scheduling cycle.
const cycleStateKey = fwk.StateKey(Name)

// cycleState is what PreFilter tells the later extension points.
type cycleState struct {
	execution *executor.Execution
	// restricted: the plan limits the nodes of the pod, so that its failure says nothing.
	restricted bool
}

// Clone returns the state itself: nothing changes it.
func (s *cycleState) Clone() fwk.StateData { return s }

// Name returns the plugin's name.
func (p *Plugin) Name() string { return Name }

// PreEnqueue holds new pods back while a solve goes on, and until their batch has nodes.
func (p *Plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if p.hold.keeps(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageHeld)
	}
	p.hold.room.passed(pod.UID)
	if p.collects(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageBatch)
	}
	return nil
}

// PreFilter decides in this order:
//
//  1. While a solve goes on, nobody passes.
//  2. A pod of a batch passes only if the running plan has an open place for it.
//  3. A pod for which the running plan has an open place goes there, and nowhere else.
//  4. Any other pod is kept off the nodes where it would take room the plan still needs.
func (p *Plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	if p.hold.keeps(pod) {
		state.Write(cycleStateKey, &cycleState{restricted: true})
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageHeld)
	}
	p.hold.room.passed(pod.UID)
	p.keptOut.passed(pod.UID)
	if p.collects(pod) {
		state.Write(cycleStateKey, &cycleState{restricted: true})
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, messageBatch)
	}
	execution := p.running.Load()
	if execution == nil {
		return nil, nil
	}
	reuse.Forbid(state, Name)
	targets, planned := execution.Nodes(pod, freeByName(nodes))
	message := messagePlace
	restricted := planned
	if !planned {
		targets, restricted = p.nodesBeside(execution, pod, nodes)
		message = messageKeptOut
	}
	state.Write(cycleStateKey, &cycleState{execution, restricted})
	if !restricted {
		return nil, nil
	}
	if len(targets) == 0 {
		p.keptOut.keep(pod)
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, message)
	}
	return &fwk.PreFilterResult{NodeNames: sets.New(targets...)}, nil
}

func freeByName(nodes []fwk.NodeInfo) func(string) resources.Vector {
	return func(name string) resources.Vector {
		for _, node := range nodes {
			if node.Node().Name == name {
				return resources.FreeOn(node)
			}
		}
		return resources.Vector{}
	}
}

// nodesBeside are the nodes on which the pod takes no room that the plan still needs, and from which the
// plan has not sent away its like.
// restricted is false if these are all nodes.
func (p *Plugin) nodesBeside(execution *executor.Execution, pod *v1.Pod, nodes []fwk.NodeInfo) (names []string, restricted bool) {
	outstanding, vacated := execution.Outstanding(), execution.Vacated(pod)
	request := resources.OfPod(pod)
	for _, node := range nodes {
		name := node.Node().Name
		needed, some := outstanding[name]
		if vacated.Has(name) || some && !request.FitsIn(resources.FreeOn(node).Minus(needed)) {
			restricted = true
			continue
		}
		names = append(names, name)
	}
	return names, restricted
}

// PreFilterExtensions returns nil: nothing that PreFilter decides changes with one pod.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable, unless it was this plugin that turned it away.
func (p *Plugin) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if seen := p.stateOf(state); seen.restricted {
		if seen.execution != nil {
			p.keptOut.keep(pod)
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.trigger.mark(pod.UID)
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
	execution := p.running.Load()
	if execution == nil {
		return nil
	}
	if execution != p.stateOf(state).execution {
		p.inFlight.remove(pod.UID)
		p.keptOut.keep(pod)
		return fwk.NewStatus(fwk.Unschedulable, messageBegan)
	}
	execution.Reserve(pod, node)
	return nil
}

// Unreserve gives the place back.
func (p *Plugin) Unreserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.inFlight.remove(pod.UID)
	if execution := p.running.Load(); execution != nil {
		execution.Unreserve(pod.UID)
	}
	p.wakeUp()
}

// PostBind counts the arrival.
func (p *Plugin) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	p.trigger.unmark(pod.UID)
	p.batch.forget(pod.UID)
	if execution := p.running.Load(); execution != nil && execution.Bound(pod.UID) {
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
	p.hold.room.passed(uid)
	p.keptOut.passed(uid)
	p.batch.forget(uid)
}
