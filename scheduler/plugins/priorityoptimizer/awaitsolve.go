package priorityoptimizer

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// joinsNextSolve answers whether a new pod waits for the next solve with the like of it, which found no node just now.
//
// To try each pod of a burst costs a cycle and a write of its status, and the scheduler does nothing else while it waits
// for leave to write: 500 pods take it eight seconds at its stock limits. Nobody waits here for longer than a solve may
// hold a pod; whoever has been tried before is tried again, since there may be room by now.
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

// isInSolve answers whether the solve under way is about the pod, which waits for its end then, however long the
// hold on others lasts: it found no node before, and to try hundreds of such pods meanwhile takes from the solve the
// processors that it needs.
func (p *Plugin) isInSolve(pod *v1.Pod) bool {
	asked := p.inSolve.Load()
	if asked == nil || !asked.Has(pod.UID) {
		return false
	}
	p.awaitingSolve.add(pod)
	return true
}

// markInSolve makes the pods wait until the returned function is called.
func (p *Plugin) markInSolve(pods sets.Set[types.UID]) (over func()) {
	p.inSolve.Store(&pods)
	return func() {
		p.inSolve.Store(nil)
		p.activate(p.awaitingSolve.all())
	}
}

// releaseAwaiting lets those go that have waited for long enough, or all if there is no solve to wait for.
func (p *Plugin) releaseAwaiting() {
	if p.trigger.hasFailedSignatures() {
		p.activate(p.awaitingSolve.longerThan(p.hold.longest))
	} else {
		p.activate(p.awaitingSolve.all())
	}
}
