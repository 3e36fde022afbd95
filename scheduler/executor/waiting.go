package executor

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// waitingPod is a pod that waits for a node, and its kind, which is expensive to compute.
type waitingPod struct {
	pod  *v1.Pod
	kind snapshot.Kind
}

// Note records a pod as the API shows it: one that waits for a node may be a replacement.
func (e *Execution) Note(pod *v1.Pod) {
	if !e.Concerns(pod) {
		return
	}
	waits := pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil
	var class string
	if waits {
		class = e.classes.ID(pod) // it may be another one than before
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noteStart(pod, waits)
	if waits {
		e.waiting[pod.UID] = waitingPod{pod, snapshot.Kind{Owner: snapshot.OwnerOf(pod), Class: class}}
	} else {
		delete(e.waiting, pod.UID)
	}
}

// Forget drops a pod that no longer exists. If it has no controller, no other pod will take its place.
func (e *Execution) Forget(pod *v1.Pod) {
	kind := e.kindOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, pod.UID)
	e.noteLost(pod)
	if kind.Owner == pod.UID {
		e.vacatePlaces(kind, 1)
	}
}

// GiveUpVanished drops the places of waiting pods that are gone and have not been replaced, and no longer waits for
// replacements that were gone before they were ready: their controller was scaled down, or is gone too. It reports how
// many.
func (e *Execution) GiveUpVanished() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	come := map[snapshot.Kind]int{}
	for _, one := range e.waiting {
		come[one.kind]++
	}
	for _, step := range e.steps {
		if step.opened && step.toLeave() {
			come[step.Pod.Kind()]++ // it is still to leave: its replacement cannot have been missed
		}
	}
	given := 0
	for owner, count := range e.vanished {
		given += count
		delete(e.vanished, owner)
	}
	for kind, open := range e.open {
		given += e.vacatePlaces(kind, open-come[kind])
	}
	return given
}

// vacatePlaces drops so many settled places of a kind, or as many as there are; or all that is left of their unit.
func (e *Execution) vacatePlaces(kind snapshot.Kind, most int) (given int) {
	if together := e.units[kind]; together != nil && most > 0 {
		return e.giveUp(together)
	}
	for _, place := range e.kinds[kind] {
		for ; given < most && place.settled > 0; given++ {
			e.change(place, -1, 0, 0)
		}
	}
	return given
}

// giveUp drops what has not begun of a unit.
func (e *Execution) giveUp(together *unit) (given int) {
	for _, step := range together.steps {
		if step.state != packingplan.Waiting || step.opened {
			continue
		}
		step.state = packingplan.NotNeeded
		if step.To != "" {
			e.change(e.target(step), 0, 0, -1)
			given++
		}
	}
	for kind, places := range e.kinds {
		for _, place := range places {
			if e.units[kind] == together {
				given += place.settled
				e.change(place, -place.settled, 0, 0)
			}
		}
	}
	return given
}

// Waiting are the pods that wait for a node and have an owner in the plan, by UID.
func (e *Execution) Waiting() map[string]*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	pods := make(map[string]*v1.Pod, len(e.waiting))
	for uid, one := range e.waiting {
		pods[string(uid)] = one.pod
	}
	return pods
}

// Ready are the waiting pods that can take an open place now, by UID: no more of a kind than have room, and all that a unit
// still lacks or none. free is the room on the nodes of the plan, which Nodes uses until the next call; the caller must not
// change it.
func (e *Execution) Ready(free map[string]resources.Vector, binding func(types.UID) bool) map[string]*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.free = free
	left := maps.Clone(free)
	open := map[snapshot.Kind]int{}
	ready := map[string]*v1.Pod{}
	lacking := map[*unit]int{}
	for kind, together := range e.units {
		for _, place := range e.kinds[kind] {
			lacking[together] += place.open() + place.unopened
		}
	}
	for uid, one := range e.waiting {
		if binding(uid) {
			continue
		}
		count, counted := open[one.kind]
		if !counted {
			count = e.placesWithRoom(one.kind, left)
		}
		if count > 0 {
			count--
			ready[string(uid)] = one.pod
			lacking[e.units[one.kind]]--
		}
		open[one.kind] = count
	}
	maps.DeleteFunc(ready, func(uid string, _ *v1.Pod) bool {
		together := e.units[e.waiting[types.UID(uid)].kind]
		return together != nil && lacking[together] > 0
	})
	return ready
}

// placesWithRoom counts the places that pods of a kind can take now, and takes their room away.
func (e *Execution) placesWithRoom(kind snapshot.Kind, left map[string]resources.Vector) (count int) {
	take := func(place *Place, replaces bool) bool {
		fits := e.hasRoom(place, left[place.Node], replaces)
		if fits {
			left[place.Node] = left[place.Node].Minus(place.Requests)
			count++
		}
		return fits
	}
	for _, place := range e.kinds[kind] {
		for taken := 0; taken < place.open() && take(place, taken < place.inFlight); taken++ {
		}
	}
	if count > 0 {
		return count
	}
	for _, place := range e.kinds[kind] {
		for most := min(place.unopened, e.replacements[kind]-count); most > 0 && take(place, false); most-- {
		}
	}
	return count
}
