package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// batch holds the pods that only a plan may place (mode Batch).
//
// A pod is scheduled without a plan where none can be made for it: while the optimiser is unreachable or fails, while
// plans cannot be recorded, and where the optimiser leaves the pod to the scheduler. From then on it is an ordinary pod,
// as in the other modes. A nil batch holds no pods.
type batch struct {
	held *heldSet

	mu       sync.Mutex
	ordinary sets.Set[types.UID]
}

func newBatch(clock clock.PassiveClock) *batch {
	return &batch{held: newHeldSet(clock, func(time.Duration) {}), ordinary: sets.New[types.UID]()}
}

// collects says whether the pod has to wait for a plan, and adds it to the batch if so.
func (p *Plugin) collects(pod *v1.Pod) bool {
	if p.batch == nil || p.batch.isOrdinary(pod.UID) || p.isPlanned(pod) {
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
	if execution == nil {
		return false
	}
	_, planned := execution.Nodes(pod, func(string) resources.Vector { return resources.Vector{} })
	return planned
}

func (b *batch) size() int {
	if b == nil {
		return 0
	}
	return b.held.size()
}

func (b *batch) isOrdinary(uid types.UID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ordinary.Has(uid)
}

// forget drops a pod that has a node or is gone.
func (b *batch) forget(uid types.UID) {
	if b == nil {
		return
	}
	b.held.remove(uid)
	b.mu.Lock()
	defer b.mu.Unlock()
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
	p.batch.mu.Lock()
	for uid := range passing {
		p.batch.ordinary.Insert(types.UID(uid))
	}
	p.batch.mu.Unlock()
	for uid := range passing {
		p.batch.held.remove(types.UID(uid))
	}
	p.logger.Info("Pods of a batch are scheduled without a plan", "pods", len(passing), "reason", why)
	p.activate(passing)
}

// scheduleRefused releases the pods that the optimiser leaves to the scheduler.
func (l *loop) scheduleRefused(session *solveSession) {
	if l.batch == nil || session.snapshot == nil || session.answer == nil {
		return
	}
	refused := sets.New[string]()
	for _, refusal := range session.answer.Refusals {
		refused.Insert(refusal.Subject)
	}
	l.scheduleWithoutPlan("the optimiser leaves them to the scheduler", func(pod *v1.Pod) bool {
		asked := session.snapshot.Pods[pod.UID]
		return asked != nil && isRefused(asked, refused)
	})
}

func isRefused(pod *snapshot.Pod, refused sets.Set[string]) bool {
	return refused.Has("pod "+podName(pod.Object)) || refused.Has("class "+pod.Class)
}
