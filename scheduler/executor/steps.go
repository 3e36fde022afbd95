package executor

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// A move is Bound once its pod has gone and a replacement has its node, in either order.
func (s *step) arrived() {
	if s.state == Gone {
		s.state = Bound
	} else {
		s.bound = true
	}
}

// Opened must be called before the pod is evicted: its replacement may be there sooner than the
// eviction's answer.
func (e *Execution) Opened(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || step.opened {
		return
	}
	step.opened = true
	if step.to != "" {
		e.change(e.places[step.kind][step.to], 0, 1, -1)
	}
}

// Refused takes Opened back: the eviction was not granted and will be tried again.
func (e *Execution) Refused(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || !step.opened || step.state != Waiting {
		return
	}
	if step.to == "" {
		step.opened = false
		return
	}
	// Another pod of the same kind may have taken the place meanwhile; then it stays taken.
	if place := e.places[step.kind][step.to]; place.inFlight > 0 {
		e.change(place, 0, -1, 1)
		step.opened = false
	}
}

// Evicted marks the pod as evicted by the API.
func (e *Execution) Evicted(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if step := e.byUID[uid]; step != nil && step.state == Waiting {
		step.state = Evicted
	}
}

// Gone marks the pod as gone from its node.
func (e *Execution) Gone(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := e.byUID[uid]
	if step == nil || step.state != Evicted {
		return
	}
	step.state = Gone
	if step.bound {
		step.state = Bound
	}
}

// RoomToCome is the room that pods still to leave will free on each node.
func (e *Execution) RoomToCome() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	room := map[string]resources.Vector{}
	for _, step := range e.byUID {
		if step.state == Waiting || step.state == Evicted {
			room[step.from] = room[step.from].Plus(step.pod.Requests)
		}
	}
	return room
}

// LongestGrace is the longest termination grace period of the pods that are leaving.
func (e *Execution) LongestGrace() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	var longest time.Duration
	for _, step := range e.byUID {
		if step.state == Evicted {
			longest = max(longest, time.Duration(step.grace)*time.Second)
		}
	}
	return longest
}

// Leaving are the pods that were evicted and are not gone yet.
func (e *Execution) Leaving() []*snapshot.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	var pods []*snapshot.Pod
	for _, step := range e.byUID {
		if step.state == Evicted {
			pods = append(pods, step.pod)
		}
	}
	return pods
}

// waitingPod is a pod that waits for a node, and its kind, which takes a while to find out.
type waitingPod struct {
	pod  *v1.Pod
	kind snapshot.Kind
}

// Note takes note of a pod as the API shows it: one that waits for a node may be a replacement.
func (e *Execution) Note(pod *v1.Pod) {
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		e.waiting[pod.UID] = waitingPod{pod, kind}
	} else {
		delete(e.waiting, pod.UID)
	}
}

// Forget drops a pod that is not there any more. Nobody else comes to the place of one without a controller.
func (e *Execution) Forget(pod *v1.Pod) {
	kind, concerned := e.kindOf(pod)
	if !concerned {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, pod.UID)
	if kind.Owner == pod.UID {
		e.vacatePlaces(kind, 1)
	}
}

// GiveUpVanished gives up the places of waiting pods that are gone, as far as nobody waits in their stead: their
// controller was scaled down, or is gone too. It reports how many.
func (e *Execution) GiveUpVanished() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	come := map[snapshot.Kind]int{}
	for _, one := range e.waiting {
		come[one.kind]++
	}
	given := 0
	for kind, places := range e.places {
		lacking := -come[kind]
		for _, place := range places {
			lacking += place.settled + place.inFlight
		}
		given += e.vacatePlaces(kind, lacking)
	}
	return given
}

// vacatePlaces gives up so many settled places of a kind, or as many as there are.
func (e *Execution) vacatePlaces(kind snapshot.Kind, most int) (given int) {
	for _, place := range e.places[kind] {
		for ; given < most && place.settled > 0; given++ {
			e.change(place, -1, 0, 0)
		}
	}
	return given
}

// Waiting are the pods that wait for a node and have an owner in the plan.
func (e *Execution) Waiting() map[types.UID]*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods := make(map[types.UID]*v1.Pod, len(e.waiting))
	for uid, one := range e.waiting {
		pods[uid] = one.pod
	}
	return pods
}
