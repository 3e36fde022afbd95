package gate

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

var (
	_ fwk.PreEnqueuePlugin  = &Gate{}
	_ fwk.PreFilterPlugin   = &Gate{}
	_ fwk.FilterPlugin      = &Gate{}
	_ fwk.SignPlugin        = &Gate{}
	_ fwk.PostFilterPlugin  = &Gate{}
	_ fwk.ReservePlugin     = &Gate{}
	_ fwk.PostBindPlugin    = &Gate{}
	_ fwk.EnqueueExtensions = &Gate{}
)

// messageReservedMeanwhile is for a pod whose cycle began before the room of the plan was kept.
const messageReservedMeanwhile = "room was reserved for a plan while the pod was being scheduled"

// cycleStateKey is the plugin's entry in the state of a scheduling cycle.
const cycleStateKey = fwk.StateKey(Name)

// cycleState is what PreFilter passes to the later extension points.
type cycleState struct {
	execution *executor.Execution
	// back keeps the room of a plan that may be resumed; nil if nothing does.
	back *heldBack
	// outstanding is the room that the plan still needs on each node, and vacated are the nodes from which it evicts
	// other replicas of the pod's owner and class. Neither is ever changed.
	outstanding map[string]resources.Vector
	vacated     sets.Set[string]
	requests    resources.Vector
	// inTurn are the nodes to which pods of the plan still come in turn, if the pod could take their devices.
	inTurn sets.Set[string]
	// planned: the pod goes to a place of the plan.
	planned bool
	// group is shared with the other pods that the scheduler tries with this one; nil if it tries the pod alone.
	group *groupCycle
	// restricted: the plan limits the nodes of the pod, so its failure does not mean that it is unschedulable.
	restricted atomic.Bool
}

// Clone returns the state itself: the only field that changes goes from false to true.
func (s *cycleState) Clone() fwk.StateData { return s }

// restrict notes that the plan limits the nodes of the pod. It reports whether that is new.
func (s *cycleState) restrict() bool {
	if s.group != nil {
		s.group.restricted.Store(true)
	}
	return !s.restricted.Swap(true)
}

func (g *Gate) Name() string { return Name }

// PreEnqueue keeps the pods that have to wait out of the scheduling cycle.
func (g *Gate) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if _, reason := g.gate(pod, g.Execution.Load(), nil); reason != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, string(reason))
	}
	return nil
}

// SignPod lets the scheduler reuse results among equal pods as long as no plan treats them differently.
func (g *Gate) SignPod(context.Context, *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if g.Execution.Load() == nil && !g.back.Load().keepsRoom() && g.Trigger.Type != Batch && !g.Hold.Active() {
		return nil, nil
	}
	return nil, fwk.NewStatus(fwk.Unschedulable, "where a pod may go depends on the plan that is being carried out")
}

// PreFilter asks the gate again, and sends the pods of a plan to their places. Other pods are left to Filter.
func (g *Gate) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	execution, back := g.Execution.Load(), g.back.Load()
	var nodes []string
	var reason waiting.Reason
	group := g.groupCycleOf(state, pod)
	if group != nil {
		execution, back = group.execution, group.back
		nodes, reason = g.gateMember(pod, group)
	} else {
		nodes, reason = g.gate(pod, execution, g.freeOn)
	}
	seen := &cycleState{planned: len(nodes) > 0, group: group}
	if seen.planned || reason != "" {
		seen.restrict()
	}
	state.Write(cycleStateKey, seen)
	if reason != "" {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, string(reason))
	}
	switch {
	case execution != nil:
		seen.execution = execution
	case back.keepsRoom():
		seen.back = back
	default:
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if !snapshot.IsInGroup(pod) {
		cachebypass.Require(state)
	}
	if seen.planned {
		return &fwk.PreFilterResult{NodeNames: sets.New(nodes...)}, nil
	}
	seen.requests = g.book.Needs(pod) // first, so that the devices that it asks for have a name in what the plan needs
	if execution != nil {
		seen.outstanding, seen.vacated = execution.Outstanding(), execution.Vacated(pod)
	} else {
		seen.outstanding = back.room()
	}
	if len(seen.outstanding) == 0 && len(seen.vacated) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if execution != nil {
		seen.inTurn = g.turnsBeside(pod, execution)
	}
	return nil, nil
}

// turnsBeside are the nodes to which pods of the plan still come in turn, if the pod asks for devices whose order counts.
func (g *Gate) turnsBeside(pod *v1.Pod, execution *executor.Execution) sets.Set[string] {
	if nodes := execution.InTurn(); len(nodes) > 0 && len(g.book.Requests(pod)) > 0 {
		return nodes
	}
	return nil
}

// freeOn is the room on a node in the present scheduling cycle; none on a node that is gone.
func (g *Gate) freeOn(name string) resources.Vector {
	node, err := g.handle.SnapshotSharedLister().NodeInfos().Get(name)
	if err != nil {
		return resources.Vector{}
	}
	return g.book.Free(node)
}

// Filter keeps pods outside the plan off the nodes where they would take room that the plan still needs, and off those
// from which the plan evicts pods that they can replace.
func (g *Gate) Filter(_ context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	seen := g.stateOf(state)
	name := node.Node().Name
	needed, some := seen.outstanding[name]
	if !seen.vacated.Has(name) && !seen.inTurn.Has(name) && (!some || seen.requests.FitsIn(g.book.FreeFor(pod, node).Minus(needed))) {
		return nil
	}
	if seen.restrict() && snapshot.IsInGroup(pod) {
		g.Waiting.Put(pod, ReasonReserved, nil) // PostFilter is not asked about it
	}
	return fwk.NewStatus(fwk.Unschedulable, string(ReasonReserved))
}

// PreFilterExtensions returns nil: no decision of PreFilter changes when one pod is added or removed.
func (g *Gate) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// PostFilter marks the pod as unschedulable, unless this plugin rejected it, or no plan can help it.
func (g *Gate) PostFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if seen := g.stateOf(state); seen.restricted.Load() {
		if seen.execution != nil || seen.back != nil {
			g.Waiting.Put(pod, ReasonReserved, nil)
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	// A group that the scheduler knows is marked as a whole, and of another one no plan has pods.
	if snapshot.IsInGroup(pod) || g.waitsForClaim(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	g.Trigger.Mark(pod.UID, g.signatureOf(pod), pod.CreationTimestamp.Time)
	g.WakeUp()
	return nil, fwk.NewStatus(fwk.Unschedulable, "marked for the optimiser")
}

// waitsForClaim says whether a claim that the pod shares is being allocated for another pod. The scheduler tries it again
// once it is, so that no plan is of help, nor do pods like it find no node.
func (g *Gate) waitsForClaim(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(of v1.PodResourceClaim) bool {
		manager := g.handle.SharedDRAManager()
		if manager == nil || of.ResourceClaimName == nil {
			return false
		}
		claim, err := manager.ResourceClaims().Get(pod.Namespace, *of.ResourceClaimName)
		return err == nil && manager.ResourceClaims().GetPendingAllocation(claim.UID) != nil
	})
}

func (g *Gate) stateOf(state fwk.CycleState) *cycleState {
	if data, err := state.Read(cycleStateKey); err == nil {
		if seen, ok := data.(*cycleState); ok {
			return seen
		}
	}
	return &cycleState{}
}

// Reserve takes the pod's place in the plan. It rejects a pod whose cycle began before a hold or a plan did: no pod may
// be bound that the solve does not know of. Only the rest of a group may be during a hold that began after its first
// pod: the plan is checked once more before it starts. While the scheduler tries a group, only the other pods of the
// group see who has which place; it reserves for its pods again when it has decided.
func (g *Gate) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	seen := g.stateOf(state)
	if state.IsPodGroupSchedulingCycle() {
		if seen.group != nil && seen.planned {
			seen.group.trial.Take(pod, node)
		}
		return nil
	}
	if seen.group != nil && seen.group.isHeld(g.Hold) || !snapshot.IsInGroup(pod) && g.Hold.Active() {
		g.Waiting.Put(pod, ReasonHeld, nil)
		return fwk.NewStatus(fwk.Unschedulable, string(ReasonHeld))
	}
	// First record the pod, then check whether a plan has started: a plan starts in the opposite order, so that one of
	// the two notices the other.
	g.InFlight.Add(pod.UID, node)
	execution, back := g.Execution.Load(), g.back.Load()
	if execution == nil && (back == seen.back || !back.keepsRoom()) {
		return nil
	}
	if execution == nil || execution != seen.execution {
		g.InFlight.remove(pod.UID)
		g.Waiting.Put(pod, ReasonReserved, nil)
		return fwk.NewStatus(fwk.Unschedulable, messageReservedMeanwhile)
	}
	if !execution.Reserve(pod, node, seen.planned) && g.turnsBeside(pod, execution).Has(node) { // it is no longer, or not yet, its turn
		g.InFlight.remove(pod.UID)
		g.Waiting.Put(pod, ReasonReserved, nil)
		return fwk.NewStatus(fwk.Unschedulable, messageReservedMeanwhile)
	}
	return nil
}

// Unreserve gives the place back.
func (g *Gate) Unreserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	if state.IsPodGroupSchedulingCycle() {
		if seen := g.stateOf(state); seen.group != nil {
			seen.group.trial.GiveBack(pod.UID)
		}
		return
	}
	g.InFlight.remove(pod.UID)
	if execution := g.Execution.Load(); execution != nil {
		execution.Unreserve(pod.UID)
	}
	g.WakeUp()
}

// PostBind counts the arrival.
func (g *Gate) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ string) {
	g.passed(pod.UID)
	if execution := g.Execution.Load(); execution != nil && execution.Bound(pod.UID) {
		g.WakeUp()
	}
}

// EventsToRegister names the events after which a pod that this plugin rejected may pass. The plugin itself activates
// the pods that wait for the end of a solve or a plan; the events are for those that wait for room.
func (g *Gate) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: g.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable | fwk.UpdateNodeTaint},
			QueueingHintFn: g.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.ResourceSlice, ActionType: fwk.Add | fwk.Update}, QueueingHintFn: g.hint},
		{Event: fwk.ClusterEvent{Resource: fwk.ResourceClaim, ActionType: fwk.Update | fwk.Delete},
			QueueingHintFn: func(logger klog.Logger, pod *v1.Pod, old, now any) (fwk.QueueingHint, error) {
				if !freesDevices(old, now) {
					return fwk.QueueSkip, nil
				}
				return g.hint(logger, pod, old, now)
			}},
	}, nil
}

// hint keeps a pod out of the active queue while a solve goes on, and a pod of the active plan until the plan sends it
// to a node: otherwise each eviction of the plan would wake up all of its pods.
func (g *Gate) hint(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
	group := g.groupOf(pod)
	switch {
	case group == "" && snapshot.IsInGroup(pod):
		return fwk.Queue, nil
	case g.Hold.Active() || g.Execution.Load().Plans(pod):
		return fwk.QueueSkip, nil
	case group != "":
		if planned, _ := waitsForItsUnit(group, g.Execution.Load()); planned {
			return fwk.QueueSkip, nil
		}
	}
	return fwk.Queue, nil
}

// HandleFailures puts the pods that the plugin rejected back into the queue without a status write: the plugin activates
// them again, and the rejection says nothing about them. The scheduler writes each failure before it takes the next pod,
// 50 a second at its stock limits, so a solve for 500 pods would make all others wait for ten seconds. It must be called
// before the scheduler runs.
func (g *Gate) HandleFailures(of *scheduler.Scheduler) {
	handle := of.FailureHandler
	of.FailureHandler = func(ctx context.Context, profile framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status,
		nominating *fwk.NominatingInfo, start time.Time) {
		rejected := false
		if profile.ProfileName() == g.handle.ProfileName() {
			reason := g.Waiting.Reason(pod.Pod.UID)
			rejected = reason != "" && reason != ReasonReserved
		}
		if !rejected || !requeue(ctx, of.SchedulingQueue, profile, pod, status) {
			handle(ctx, profile, pod, status, nominating, start)
		}
	}
}

// requeue does with the queue what the scheduler does after a failed cycle. It reports false, and does nothing, where
// more has to be done. A pod of a group that failed need not have failed itself.
func requeue(ctx context.Context, queue internalqueue.SchedulingQueue, profile framework.Framework, pod *framework.QueuedPodInfo, status *fwk.Status) bool {
	var unfit *framework.FitError
	failed := errors.As(status.AsError(), &unfit) || snapshot.IsInGroup(pod.Pod) && status.IsRejected()
	if !failed || pod.Pod.Status.NominatedNodeName != "" {
		return false
	}
	live, err := profile.SharedInformerFactory().Core().V1().Pods().Lister().Pods(pod.Pod.Namespace).Get(pod.Pod.Name)
	if err != nil || live.UID != pod.Pod.UID || live.Spec.NodeName != "" {
		return false
	}
	// The error is about selectors that the API server accepted; such a pod is queued like any other.
	info, _ := framework.NewPodInfo(live.DeepCopy())
	pod.ClearRejectorPlugins()
	pod.PodInfo = info
	if unfit != nil {
		pod.UnschedulablePlugins, pod.PendingPlugins = unfit.Diagnosis.UnschedulablePlugins, unfit.Diagnosis.PendingPlugins
	}
	if err := minor.AddUnschedulable(queue, klog.FromContext(ctx), pod, queue.SchedulingCycle()); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Error occurred")
	}
	return true
}
