package priorityoptimizer

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// The reasons for which pods wait.
const (
	reasonHeld      = waiting.Reason("waits while the optimiser looks for a better packing")
	reasonInSolve   = waiting.Reason("waits for the end of the solve that is about it")
	reasonBatch     = waiting.Reason("waits until the optimiser has found nodes for its whole batch")
	reasonNoRoom    = waiting.Reason("waits until the plan has made room on its node")
	reasonNextSolve = waiting.Reason("waits for the next solve, since a pod like it found no node just now")
	// reasonReserved: the pod was tried. All other reasons come from the gate.
	reasonReserved = waiting.Reason("all room that is free is reserved for a plan that is being carried out")
)

// gate says why a pod has to wait, or, if it has not, which nodes the plan has for it: nil for all. The queue and the
// scheduling cycle both ask it, so that a pod that is held back in the queue costs neither a cycle nor a write. free is the
// room on a node; nil for what was there when the plan last looked for pods to activate.
//
//  1. A pod of a group passes at once: one that is held back holds back all of them.
//  2. While a solve goes on, no pod passes; the pods of the solve wait until it ends, however long it takes: they found no
//     node before, and trying hundreds of them meanwhile would take CPU time from the solver.
//  3. A pod for which the active plan has an open place goes there, and nowhere else.
//  4. Any other pod of a batch waits for a plan.
//  5. A pod with the signature of one that has just found no node waits with it for the next solve.
func (p *Plugin) gate(pod *v1.Pod, execution *executor.Execution, free func(string) resources.Vector) (nodes []string, reason waiting.Reason) {
	defer func() { p.waiting.Put(pod, reason, nil) }()
	switch asked := p.inSolve.Load(); {
	case snapshot.IsInGroup(pod):
		return nil, ""
	case p.hold.active():
		return nil, reasonHeld
	case asked != nil && asked.Has(pod.UID):
		return nil, reasonInSolve
	}
	nodes, planned := execution.Nodes(pod, free)
	switch {
	case planned && len(nodes) == 0:
		return nil, reasonNoRoom
	case planned:
		return nodes, ""
	case p.trigger.collect(pod.UID):
		p.wakeUp()
		return nil, reasonBatch
	case p.joinsNextSolve(pod):
		return nil, reasonNextSolve
	}
	return nil, ""
}

// joinsNextSolve says whether a new pod waits, untried, for the next solve.
//
// Each pod that is tried costs a cycle and a status write, and the scheduler does nothing else while client-side rate
// limiting delays the write: at the stock limits 500 pods take eight seconds. No pod waits here for longer than a solve
// may hold one. A pod that has been tried before is tried again, since there may be room by now.
func (p *Plugin) joinsNextSolve(pod *v1.Pod) bool {
	if !p.trigger.hasFailedSignatures() {
		return false
	}
	_, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled)
	return condition == nil && p.trigger.join(pod.UID, snapshot.SignatureOf(pod, p.book.Needs(pod)),
		pod.CreationTimestamp.Time, p.hold.longest)
}

// release activates the pods whose reason to wait may be over.
func (p *Plugin) release() {
	held, failed, execution := p.hold.active(), p.trigger.hasFailedSignatures(), p.execution.Load()
	p.activate(p.waiting.Pods(func(one waiting.Entry) bool {
		switch one.Reason {
		case reasonNoRoom, reasonReserved:
			return execution == nil
		case reasonInSolve:
			return !held && p.inSolve.Load() == nil
		case reasonBatch:
			return !held && p.trigger.isExempt(one.Pod.UID)
		case reasonNextSolve:
			return !held && (!failed || p.trigger.sinceJoined(one.Pod.UID) >= p.hold.longest)
		}
		return !held
	}))
}

// markInSolve makes the pods of a solve wait until the returned function is called.
func (p *Plugin) markInSolve(pods sets.Set[types.UID]) (over func()) {
	p.inSolve.Store(&pods)
	return func() {
		p.inSolve.Store(nil)
		p.release()
	}
}

// scheduleWithoutPlan turns the selected pods of a batch into ordinary pods, as in the other triggers: no plan can be made
// for them while the optimiser is unreachable or fails, while plans cannot be recorded, and where the optimiser leaves the
// pod to the scheduler.
func (p *Plugin) scheduleWithoutPlan(why string, which func(*v1.Pod) bool) {
	if p.trigger.kind != TriggerBatch {
		return
	}
	pods := 0
	for _, pod := range p.waiting.Pods(func(one waiting.Entry) bool { return which(one.Pod) }) {
		if p.trigger.exempt(pod.UID) {
			pods++
		}
	}
	if pods > 0 {
		p.logger.Info("Pods of a batch are scheduled without a plan", "pods", pods, "reason", why)
		p.release()
	}
}

// scheduleRefused releases the pods that the optimiser leaves to the scheduler.
func (p *Plugin) scheduleRefused(session *solveSession) {
	if session.snapshot == nil || session.answer == nil {
		return
	}
	refused := sets.New[string]()
	for _, refusal := range session.answer.Refusals {
		refused.Insert(refusal.Subject)
	}
	p.scheduleWithoutPlan("the optimiser leaves them to the scheduler", func(pod *v1.Pod) bool {
		asked := session.snapshot.Pods[pod.UID]
		return asked != nil && isRefused(asked, refused)
	})
}

func isRefused(pod *snapshot.Pod, refused sets.Set[string]) bool {
	return refused.Has("pod "+podName(pod.Object)) || refused.Has("class "+pod.Class)
}

// observeHeld measures how long solves hold pods back.
func observeHeld(reason waiting.Reason, waited time.Duration) {
	if reason == reasonHeld {
		holdSeconds.Observe(waited.Seconds())
	}
}
