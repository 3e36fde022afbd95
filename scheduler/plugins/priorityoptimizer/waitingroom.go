package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// waitingRoom remembers the pods that were turned away, until each has been seen coming back.
//
// Waking a pod up once is not enough: the wake-up may come while the scheduling queue is only
// about to park the pod, and is then lost. So a pod leaves the room only when the queue has let
// it through, or when it is gone; until then it is woken up again and again.
type waitingRoom struct {
	clock clock.PassiveClock
	// left is called with the time a pod spent here.
	left func(time.Duration)

	mu   sync.Mutex
	pods map[types.UID]waitingPod
}

type waitingPod struct {
	pod   *v1.Pod
	since time.Time
}

func newWaitingRoom(clock clock.PassiveClock, left func(time.Duration)) *waitingRoom {
	return &waitingRoom{clock: clock, left: left, pods: map[types.UID]waitingPod{}}
}

// keep remembers the pod from its first time here on.
func (r *waitingRoom) keep(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	since := r.clock.Now()
	if before, here := r.pods[pod.UID]; here {
		since = before.since
	}
	r.pods[pod.UID] = waitingPod{pod, since}
}

// passed takes note that the pod has come back, or is gone.
func (r *waitingRoom) passed(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if waiting, here := r.pods[uid]; here {
		delete(r.pods, uid)
		r.left(r.clock.Since(waiting.since))
	}
}

// keepOnly forgets the pods that are not there any more: one that was deleted during its cycle is kept after the news
// of its deletion.
func (r *waitingRoom) keepOnly(there func(*v1.Pod) bool) {
	for uid, pod := range r.all() {
		if !there(pod) {
			r.passed(types.UID(uid))
		}
	}
}

func (r *waitingRoom) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pods)
}

// since is when the pod came here; zero if it is not here.
func (r *waitingRoom) since(uid types.UID) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods[uid].since
}

// longerThan are the pods that have been here for so long, in the form the scheduling queue activates.
func (r *waitingRoom) longerThan(waited time.Duration) map[string]*v1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	pods := map[string]*v1.Pod{}
	for uid, waiting := range r.pods {
		if r.clock.Since(waiting.since) >= waited {
			pods[string(uid)] = waiting.pod
		}
	}
	return pods
}

// all are the pods here, in the form the scheduling queue activates.
func (r *waitingRoom) all() map[string]*v1.Pod {
	return r.longerThan(0)
}
