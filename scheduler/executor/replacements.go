package executor

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// waitingPod is a pod that waits for a node, and its key, which is expensive to compute.
type waitingPod struct {
	pod *v1.Pod
	key snapshot.ReplicaKey
}

// Note records a pod as the API shows it: one that waits for a node may be a replacement.
func (e *Execution) Note(pod *v1.Pod) {
	if !e.Concerns(pod) {
		return
	}
	waits := pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil
	var class, allocated string
	if waits {
		class = e.classes.ID(pod) // it may be another one than before
		// A failed binding leaves the claims with their devices, for which no plan could place the pod; this one has.
		allocated, _ = e.classes.Allocated(pod)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.noteStart(pod, waits)
	if waits {
		key := snapshot.ReplicaKey{Owner: snapshot.OwnerOf(pod), Class: class}
		if known, before := e.waiting[pod.UID]; before && allocated != "" {
			key = known.key
		}
		e.waiting[pod.UID] = waitingPod{pod, key}
	} else {
		delete(e.waiting, pod.UID)
	}
}

// Forget drops a pod that no longer exists. If it has no controller, no other pod will take its place.
func (e *Execution) Forget(pod *v1.Pod) {
	key := e.keyOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, pod.UID)
	e.noteLost(pod)
	if together := e.units[key]; together != nil {
		together.ready = false
	}
	if key.Owner == pod.UID {
		e.vacatePlaces(key, 1)
	}
}

// GiveUpVanished drops the places of waiting pods that are gone and have not been replaced, and no longer waits for
// replacements that were gone before they were ready: their controller was scaled down, or is gone too. It reports how
// many.
func (e *Execution) GiveUpVanished() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	come := map[snapshot.ReplicaKey]int{}
	for _, one := range e.waiting {
		come[one.key]++
	}
	for _, step := range e.steps {
		if step.opened && step.toLeave() {
			come[step.Pod.ReplicaKey()]++ // it is still to leave: its replacement cannot have been missed
		}
	}
	given := 0
	for owner, count := range e.vanished {
		given += count
		delete(e.vanished, owner)
	}
	for key, open := range e.open {
		given += e.vacatePlaces(key, open-come[key])
	}
	return given
}

// vacatePlaces drops so many settled places for pods with the key, or as many as there are; or all of their unit,
// unless that has begun: what has left or come for it would be of no use without the rest.
func (e *Execution) vacatePlaces(key snapshot.ReplicaKey, most int) (given int) {
	if together := e.units[key]; together != nil && most > 0 && !together.begun() {
		return e.giveUp(together)
	}
	for _, node := range slices.Sorted(maps.Keys(e.byKey[key])) {
		given += e.drop(e.byKey[key][node], most-given)
	}
	return given
}

// drop drops so many settled places, or as many as there are.
func (e *Execution) drop(of *Place, most int) (given int) {
	for ; given < most && of.settled > 0; given++ {
		e.change(of, -1, 0, 0)
		e.endTurn(of, false)
		e.untold = append(e.untold, placeChange{key: of.key, from: of.Node})
	}
	return given
}

// giveUp drops a unit that has not begun.
func (e *Execution) giveUp(together *unit) (given int) {
	for _, step := range together.steps {
		if step.state != packingplan.Waiting || step.opened {
			continue
		}
		step.state = packingplan.NotNeeded
		if step.To != "" {
			e.change(e.target(step), 0, 0, -1)
			e.endTurn(e.target(step), false)
			given++
		}
	}
	for key, places := range e.byKey {
		for _, place := range places {
			if e.units[key] == together {
				given += e.drop(place, place.settled)
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

// OwnDevices are those, by node, that the claims of waiting pods have already on the nodes of their places, as after a failed
// binding. For all others they are taken.
func (e *Execution) OwnDevices() map[string]resources.Vector {
	e.mu.Lock()
	defer e.mu.Unlock()
	own := map[string]resources.Vector{}
	for _, one := range e.waiting {
		if of, devices := e.classes.Allocated(one.pod); e.byKey[one.key][of] != nil {
			own[of] = own[of].Plus(devices)
		}
	}
	return own
}

// noteStart follows a replacement until it has been ready. One that goes before that is waited for all the same: its
// controller creates another one. A pod that has ended, as those of Jobs do, has done what it was for.
func (e *Execution) noteStart(pod *v1.Pod, waits bool) {
	owner := snapshot.OwnerOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		e.noteLost(pod)
	case podutil.IsPodReady(pod) || podutil.IsPodTerminal(pod):
		delete(e.starting, pod.UID)
		// A kubelet may be quicker than the scheduler's report that the pod is bound.
		if held := e.holders[pod.UID]; held != nil {
			held.ready = true
		}
	case waits && e.vanished[owner] > 0:
		if _, known := e.waiting[pod.UID]; !known {
			e.starting[pod.UID] = pod // in place of one that has vanished
			e.vanished[owner]--
		}
	}
	if _, awaited := e.starting[pod.UID]; awaited {
		e.starting[pod.UID] = pod
	}
}

// noteLost: the pod goes, or is gone. If it was waited for, another one of its owner will be.
func (e *Execution) noteLost(pod *v1.Pod) {
	if _, awaited := e.starting[pod.UID]; awaited {
		delete(e.starting, pod.UID)
		e.vanished[snapshot.OwnerOf(pod)]++
	}
}

// notReady are the replacements that have a node and have not been ready yet, or were gone before they were, by owner.
func (e *Execution) notReady() map[types.UID]int {
	count := maps.Clone(e.vanished)
	for _, pod := range e.starting {
		count[snapshot.OwnerOf(pod)]++
	}
	return count
}

// AwaitReady counts pods as replacements that have not been ready yet: those of a plan that another process began.
func (e *Execution) AwaitReady(pods ...*v1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, pod := range pods {
		e.starting[pod.UID] = pod
	}
}

// Starting are the pods that the plan waits for, in the order of names: replacements that have not been ready yet.
func (e *Execution) Starting() []*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.starting), func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}
