package priorityoptimizer

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// heldSet remembers the pods that were turned away, until each has been seen coming back.
//
// Waking a pod up once is not enough: the wake-up may come while the scheduling queue is only
// about to park the pod, and is then lost. So a pod leaves the room only when the queue has let
// it through, or when it is gone; until then it is woken up again and again.
type heldSet struct {
	clock clock.PassiveClock
	// onRemove is called with the time a pod spent here.
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

// add remembers the pod from its first time here on.
func (s *heldSet) add(pod *v1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.clock.Now()
	if before, here := s.pods[pod.UID]; here {
		since = before.since
	}
	s.pods[pod.UID] = heldPod{pod, since}
}

// remove takes note that the pod has come back, or is gone.
func (s *heldSet) remove(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if waiting, here := s.pods[uid]; here {
		delete(s.pods, uid)
		s.onRemove(s.clock.Since(waiting.since))
	}
}

// keepOnly forgets the pods that are not there any more: one that was deleted during its cycle is kept after the news
// of its deletion.
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

// since is when the pod came here; zero if it is not here.
func (s *heldSet) since(uid types.UID) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods[uid].since
}

// longerThan are the pods that have been here for so long, in the form the scheduling queue activates.
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

// all are the pods here, in the form the scheduling queue activates.
func (s *heldSet) all() map[string]*v1.Pod {
	return s.longerThan(0)
}
