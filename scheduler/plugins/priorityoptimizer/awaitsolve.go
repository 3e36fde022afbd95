package priorityoptimizer

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

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
