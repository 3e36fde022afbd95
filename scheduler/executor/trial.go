package executor

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Trial counts the places that the pods of a pod group take while the scheduler tries all of them, one after the other:
// no two may have the same place. The scheduler tries them on a copy of the nodes, and takes all back before it binds
// any. So nothing of a trial shows in the execution. One goroutine uses it. A nil trial is one without a plan.
type Trial struct {
	of *Execution
	// taken are the places by the pods that have them now.
	taken map[types.UID]triedPlace
	// counts are how many have each place, keys how many have one with the key.
	counts map[*Place]triedCount
	keys   map[snapshot.ReplicaKey]int
	// coming is the room on each node for those of them that are replacements. The copy of the node shows them already.
	coming map[string]resources.Vector
}

type triedPlace struct {
	*Place
	// replaces: the place is one of those in flight. needs is what its pod needs, as it was counted then.
	replaces bool
	needs    resources.Vector
}

type triedCount struct{ taken, replacing int }

// Try begins a trial.
func (e *Execution) Try() *Trial {
	if e == nil {
		return nil
	}
	return &Trial{of: e, taken: map[types.UID]triedPlace{}, counts: map[*Place]triedCount{},
		keys: map[snapshot.ReplicaKey]int{}, coming: map[string]resources.Vector{}}
}

// Nodes are those on which the plan has a place for the pod that no other of the trial has taken, and room. planned is
// false for a pod that the plan does not concern. free is the room that a node has beside all pods of the trial.
func (t *Trial) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	if t == nil || !t.of.Concerns(pod) {
		return nil, false
	}
	e, key := t.of, t.of.keyOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recount()
	if e.vacant(key) > t.keys[key] {
		free = e.withOwn(pod, free)
		for node, place := range e.byKey[key] {
			if e.hasTurn(place) && !e.isKept(place, pod.UID) && t.hasRoom(place, free(node)) {
				nodes = append(nodes, node)
			}
		}
	}
	return nodes, e.open[key] > 0
}

// hasRoom says whether a place is left, with room for one more pod.
func (t *Trial) hasRoom(place *Place, free resources.Vector) bool {
	count := t.counts[place]
	if place.open() <= count.taken {
		return false
	}
	return t.of.hasRoomBeside(place, free, t.coming, place.inFlight > count.replacing)
}

// Take gives the pod a place on the node, if there is one.
func (t *Trial) Take(pod *v1.Pod, node string) {
	if t == nil {
		return
	}
	key := t.of.keyOf(pod)
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	place := t.of.byKey[key][node]
	if place == nil || place.open() <= t.counts[place].taken {
		return
	}
	took := triedPlace{place, place.inFlight > t.counts[place].replacing, place.Requests}
	t.taken[pod.UID] = took
	t.add(took, 1)
}

// GiveBack takes the pod's place away. It may be called for any pod, and twice.
func (t *Trial) GiveBack(uid types.UID) {
	if t == nil {
		return
	}
	if place, took := t.taken[uid]; took {
		delete(t.taken, uid)
		t.add(place, -1)
	}
}

func (t *Trial) add(of triedPlace, pods int) {
	count := t.counts[of.Place]
	count.taken += pods
	t.keys[of.key] += pods
	if of.replaces {
		count.replacing += pods
		if pods > 0 {
			t.coming[of.Node] = t.coming[of.Node].Plus(of.needs)
		} else {
			t.coming[of.Node] = t.coming[of.Node].Minus(of.needs)
		}
	}
	t.counts[of.Place] = count
}
