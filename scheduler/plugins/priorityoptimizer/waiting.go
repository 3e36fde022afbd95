package priorityoptimizer

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// joinsNextSolve says whether a new pod waits, untried, for the next solve, because a pod with the same signature has
// just found no node.
//
// Each pod that is tried costs a cycle and a status write, and the scheduler does nothing else while client-side rate
// limiting delays the write: at the stock limits 500 pods take eight seconds. No pod waits here for longer than a solve
// may hold one. A pod that has been tried before is tried again, since there may be room by now.
func (p *Plugin) joinsNextSolve(pod *v1.Pod) bool {
	if !p.trigger.hasFailedSignatures() {
		p.awaitingSolve.remove(pod.UID)
		return false
	}
	within, since := p.hold.longest, p.awaitingSolve.since(pod.UID)
	if !since.IsZero() {
		within -= p.hold.clock.Since(since)
	}
	tried := since.IsZero() && p.trigger.has(pod.UID)
	if _, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); tried || condition != nil || within <= 0 ||
		!p.trigger.join(pod.UID, snapshot.SignatureOf(pod), pod.CreationTimestamp.Time, within) {
		p.awaitingSolve.remove(pod.UID)
		return false
	}
	p.awaitingSolve.add(pod)
	return true
}

// isInSolve says whether the solve under way covers the pod. If so, the pod waits until the solve ends, however long the
// hold on other pods lasts: it found no node before, and trying hundreds of such pods meanwhile would take CPU time from
// the solver.
func (p *Plugin) isInSolve(pod *v1.Pod) bool {
	asked := p.inSolve.Load()
	if asked == nil || !asked.Has(pod.UID) {
		return false
	}
	p.awaitingSolve.add(pod)
	return true
}

// markInSolve makes the pods of a solve wait until the returned function is called.
func (p *Plugin) markInSolve(pods sets.Set[types.UID]) (over func()) {
	p.inSolve.Store(&pods)
	return func() {
		p.inSolve.Store(nil)
		p.activate(p.awaitingSolve.all())
	}
}

// releaseAwaiting activates the pods that have waited for long enough, or all of them if there is no solve to wait for.
func (p *Plugin) releaseAwaiting() {
	if p.trigger.hasFailedSignatures() {
		p.activate(p.awaitingSolve.longerThan(p.hold.longest))
	} else {
		p.activate(p.awaitingSolve.all())
	}
}

// batch holds the pods that only a plan may place (trigger Batch).
//
// A pod is scheduled without a plan where none can be made for it: while the optimiser is unreachable or fails, while
// plans cannot be recorded, and where the optimiser leaves the pod to the scheduler. From then on it is an ordinary pod,
// as in the other triggers. A nil batch holds no pods.
type batch struct {
	held *heldSet
	// ordinary are the UIDs of the pods that are scheduled without a plan.
	ordinary sync.Map
}

func newBatch(clock clock.PassiveClock) *batch { return &batch{held: newHeldSet(clock)} }

// collects says whether the pod has to wait for a plan, and adds it to the batch if so.
func (p *Plugin) collects(pod *v1.Pod) bool {
	if p.batch == nil || p.isPlanned(pod) {
		return false
	}
	if _, ordinary := p.batch.ordinary.Load(pod.UID); ordinary {
		return false
	}
	p.batch.held.add(pod)
	p.trigger.collect(pod.UID)
	p.wakeUp()
	return true
}

// isPlanned says whether the active plan has an open place for the pod, whatever room there is now.
func (p *Plugin) isPlanned(pod *v1.Pod) bool {
	execution := p.execution.Load()
	return execution != nil && execution.Plans(pod)
}

func (b *batch) size() int {
	if b == nil {
		return 0
	}
	return b.held.size()
}

// forget drops a pod that has a node or is gone.
func (b *batch) forget(uid types.UID) {
	if b == nil {
		return
	}
	b.held.remove(uid)
	b.ordinary.Delete(uid)
}

// scheduleWithoutPlan turns the selected pods of the batch into ordinary pods.
func (p *Plugin) scheduleWithoutPlan(why string, which func(*v1.Pod) bool) {
	if p.batch == nil {
		return
	}
	passing := map[string]*v1.Pod{}
	for uid, pod := range p.batch.held.all() {
		if which(pod) {
			passing[uid] = pod
		}
	}
	if len(passing) == 0 {
		return
	}
	for _, pod := range passing {
		p.batch.ordinary.Store(pod.UID, nil)
		p.batch.held.remove(pod.UID)
	}
	p.logger.Info("Pods of a batch are scheduled without a plan", "pods", len(passing), "reason", why)
	p.activate(passing)
}

// scheduleRefused releases the pods that the optimiser leaves to the scheduler.
func (p *Plugin) scheduleRefused(session *solveSession) {
	if p.batch == nil || session.snapshot == nil || session.answer == nil {
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
