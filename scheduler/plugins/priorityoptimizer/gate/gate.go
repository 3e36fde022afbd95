// Package gate is what the plugin does in the scheduling queue and in the scheduling cycles: it marks the pods that find no
// node, says when to solve for them, keeps pods back while a solve goes on, and keeps to the plan that is carried out. It
// does not know how plans are made.
package gate

import (
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "PriorityOptimizer"

// Gate has the plugin's extension points. Its callers solve, and set and clear the plan that is carried out.
type Gate struct {
	// GroupPostFilter asks the gate after a pod group has failed.
	minor.GroupPostFilter
	Trigger  *Trigger
	Hold     *Hold
	InFlight *InFlight
	// Waiting are the pods that the plugin holds back, and why.
	Waiting waiting.Table
	// Execution is that of the active plan, or nil.
	Execution atomic.Pointer[executor.Execution]
	// Wake says that something has happened that may call for a solve, or for a step of the plan.
	Wake chan struct{}

	handle    fwk.Handle
	activator fwk.PodActivator
	// triesGroups: the scheduler tries the pods of a pod group together.
	triesGroups bool
	logger      klog.Logger
	book        *resources.Book
	// back is nil where neither a solve is under way nor a plan may be resumed.
	back atomic.Pointer[heldBack]
}

// heldBack are the pods of the solve under way, or of the plan that may be resumed, and why they wait. All others are
// kept out of the room of that plan, as they are while it is carried out; it is nil during a solve.
type heldBack struct {
	pods   func(*v1.Pod) bool
	reason waiting.Reason
	room   func() map[string]resources.Vector
}

// keepsRoom says that the room of a plan is kept.
func (b *heldBack) keepsRoom() bool { return b != nil && b.room != nil }

// New returns the gate of one profile. The book says what pods need.
func New(handle fwk.Handle, logger klog.Logger, clock clock.WithDelayedExecution, pace Pace, book *resources.Book) *Gate {
	g := &Gate{handle: handle, activator: handle, logger: logger, book: book, Trigger: NewTrigger(clock, pace),
		InFlight: NewInFlight(), Waiting: waiting.Table{Clock: clock}, Wake: make(chan struct{}, 1),
		triesGroups: minor.Groups(handle) != nil}
	g.Failed = g.groupFailed
	g.Hold = &Hold{clock: clock, longest: pace.MaxHold, budget: time.Duration(pace.MaxHoldShare * float64(window)),
		released: func() {
			g.Release()
			g.WakeUp()
		}}
	return g
}

// The reasons for which pods wait.
const (
	ReasonHeld      = waiting.Reason("waits while the optimiser looks for a better packing")
	ReasonInSolve   = waiting.Reason("waits for the end of the solve that is about it")
	ReasonUndecided = waiting.Reason("waits until it is clear whether the plan for its workload can be resumed")
	ReasonBatch     = waiting.Reason("waits until the optimiser has found nodes for its whole batch")
	ReasonNoRoom    = waiting.Reason("waits until the plan has made room on its node")
	ReasonNextSolve = waiting.Reason("waits for the next solve, since a pod like it found no node just now")
	// ReasonReserved: the pod was tried. All other reasons come from the gate.
	ReasonReserved = waiting.Reason("all room that is free is reserved for a plan that is under way")
)

// gate says why a pod has to wait, or, if it has not, which nodes the plan has for it: nil for all. The queue and the
// scheduling cycle both ask it, so that a pod that is held back in the queue costs neither a cycle nor a write. free is the
// room on a node; nil for what was there when the plan last looked for pods to activate.
//
//  1. A pod of a group that the scheduler does not know passes at once: no plan is about it.
//  2. While a solve goes on, no pod passes; the pods of the solve wait until it ends, however long it takes: they found no
//     node before, and trying hundreds of them meanwhile would take CPU time from the solver.
//  3. A pod for which the active plan has an open place goes there, and nowhere else. The pods of a pod group wait until
//     all that the plan has places for can come; which place each of them takes is decided while the scheduler tries them.
//  4. Any other pod of a batch waits for a plan.
//  5. A pod with the signature of one that has just found no node waits with it for the next solve.
func (g *Gate) gate(pod *v1.Pod, execution *executor.Execution, free func(string) resources.Vector) (nodes []string, reason waiting.Reason) {
	defer func() { g.Waiting.Put(pod, reason, nil) }()
	group := g.groupOf(pod)
	switch back := g.back.Load(); {
	case group == "" && snapshot.IsInGroup(pod):
		return nil, ""
	case g.Hold.Active():
		return nil, ReasonHeld
	case back != nil && back.pods(pod):
		return nil, back.reason
	}
	var planned, waits bool
	if group != "" {
		planned, waits = waitsForItsUnit(group, execution)
	} else {
		nodes, planned = execution.Nodes(pod, free)
		waits = planned && len(nodes) == 0
	}
	switch {
	case waits:
		return nil, ReasonNoRoom
	case planned:
		return nodes, ""
	case g.Trigger.collect(pod.UID):
		g.WakeUp()
		return nil, ReasonBatch
	case g.joinsNextSolve(pod):
		return nil, ReasonNextSolve
	}
	return nil, ""
}

// joinsNextSolve says whether a new pod waits, untried, for the next solve.
//
// Each pod that is tried costs a cycle and a status write, and the scheduler does nothing else while client-side rate
// limiting delays the write: at the stock limits 500 pods take eight seconds. No pod waits here for longer than a solve
// may hold one. A pod that has been tried before is tried again, since there may be room by now.
func (g *Gate) joinsNextSolve(pod *v1.Pod) bool {
	if !g.Trigger.hasFailedSignatures() {
		return false
	}
	_, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled)
	return condition == nil && g.Trigger.join(pod.UID, g.signatureOf(pod),
		pod.CreationTimestamp.Time, g.Hold.longest)
}

// podHandler follows the pods. It wakes up the loop only for those of the active plan.
func (g *Gate) podHandler() cache.ResourceEventHandler {
	follow := func(object any, gone bool) {
		pod, ok := object.(*v1.Pod)
		if !ok {
			return
		}
		if gone || pod.Spec.NodeName != "" { // another process may have bound it
			g.InFlight.remove(pod.UID)
			g.passed(pod.UID)
		}
		if execution := g.Execution.Load(); execution != nil && execution.Concerns(pod) {
			note := execution.Note
			if gone {
				note = execution.Forget
			}
			note(pod)
			g.WakeUp()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { follow(object, false) },
		UpdateFunc: func(_, object any) { follow(object, false) },
		DeleteFunc: func(object any) { follow(customobject.LastKnown(object), true) },
	}
}

// passed forgets a pod that has its node or is gone.
func (g *Gate) passed(uid types.UID) {
	g.Trigger.unmark(uid)
	g.Waiting.Remove(uid)
}

// Release activates the pods whose reason to wait may be over.
func (g *Gate) Release() {
	held, failed, execution, back := g.Hold.Active(), g.Trigger.hasFailedSignatures(), g.Execution.Load(), g.back.Load()
	g.Activate(g.Waiting.Pods(func(one waiting.Entry) bool {
		switch one.Reason {
		case ReasonNoRoom, ReasonReserved:
			return execution == nil && !back.keepsRoom()
		case ReasonInSolve, ReasonUndecided:
			return !held && back == nil
		case ReasonBatch:
			return !held && g.Trigger.isExempt(one.Pod.UID)
		case ReasonNextSolve:
			return !held && (!failed || g.Trigger.sinceJoined(one.Pod.UID) >= g.Hold.longest)
		}
		return !held
	}))
}

// HoldBack makes the selected pods wait for the reason, and keeps all others out of the room on each node, until the
// returned function is called. The room is nil where none is kept.
func (g *Gate) HoldBack(
	pods func(*v1.Pod) bool, reason waiting.Reason, room func() map[string]resources.Vector,
) (over func()) {
	g.back.Store(&heldBack{pods, reason, room})
	return func() {
		g.back.Store(nil)
		g.Release()
	}
}

// ReleaseWithoutPlan turns the selected pods of a batch into ordinary pods, as in the other triggers: no plan can be made
// for them while the optimiser is unreachable or fails, while plans cannot be recorded, and where the optimiser leaves the
// pod to the scheduler.
func (g *Gate) ReleaseWithoutPlan(why string, which func(*v1.Pod) bool) {
	if g.Trigger.Type != Batch {
		return
	}
	pods := 0
	for _, pod := range g.Waiting.Pods(func(one waiting.Entry) bool { return which(one.Pod) }) {
		if g.Trigger.exempt(pod.UID) {
			pods++
		}
	}
	if pods > 0 {
		g.logger.Info("Pods of a batch are scheduled without a plan", "pods", pods, "reason", why)
		g.Release()
	}
}

// WakeUp never blocks: one pending wake-up is as good as many.
func (g *Gate) WakeUp() {
	select {
	case g.Wake <- struct{}{}:
	default:
	}
}

// Activate must be called without any lock, since the scheduling queue calls PreEnqueue.
func (g *Gate) Activate(pods map[string]*v1.Pod) {
	if len(pods) > 0 {
		g.activator.Activate(g.logger, pods)
	}
}
