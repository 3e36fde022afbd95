package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// heldSet remembers the pods that were rejected, until each has passed or is gone.
//
// Activating a pod once is not enough: the activation may come just before the scheduling queue parks the pod, and is
// then lost. So a pod leaves the set only when the queue has let it through, or when it is gone; until then it is
// activated again and again.
type heldSet struct {
	clock clock.PassiveClock
	// onRemove is called with the time that a pod spent in the set.
	onRemove func(time.Duration)

	mu   sync.Mutex
	pods map[types.UID]heldPod
}

type heldPod struct {
	pod   *v1.Pod
	since time.Time
}

func newHeldSet(clock clock.PassiveClock, onRemove func(time.Duration)) *heldSet {
	return &heldSet{clock: clock, onRemove: onRemove, pods: map[types.UID]heldPod{}}
}

// add remembers the pod. One that is in the set already keeps its time.
func (s *heldSet) add(pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.clock.Now()
	if before, here := s.pods[pod.UID]; here {
		since = before.since
	}
	s.pods[pod.UID] = heldPod{pod, since}
}

// remove forgets a pod that has passed, or is gone.
func (s *heldSet) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting, here := s.pods[uid]; here {
		delete(s.pods, uid)
		s.onRemove(s.clock.Since(waiting.since))
	}
}

// keepOnly forgets the pods that no longer exist: one that is deleted during its cycle is added after its deletion event.
func (s *heldSet) keepOnly(there func(*v1.Pod) bool) {
	for uid, pod := range s.all() {
		if !there(pod) {
			s.remove(types.UID(uid))
		}
	}
}

func (s *heldSet) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pods)
}

// since is when the pod was added; zero if it is not in the set.
func (s *heldSet) since(uid types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[uid].since
}

// longerThan are the pods that have been in the set for so long, in the form that the scheduling queue activates.
func (s *heldSet) longerThan(waited time.Duration) map[string]*v1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	pods := map[string]*v1.Pod{}
	for uid, waiting := range s.pods {
		if s.clock.Since(waiting.since) >= waited {
			pods[string(uid)] = waiting.pod
		}
	}
	return pods
}

// all are the pods of the set, in the form that the scheduling queue activates.
func (s *heldSet) all() map[string]*v1.Pod {
	return s.longerThan(0)
}
