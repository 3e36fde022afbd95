package executor

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Where pods share devices, or devices overlap, the scheduler gives a pod the first that fit. So which devices a node's pods
// get follows from the order in which they come, and a plan says which order has room for all of them: all pods that leave the
// node go before the first comes, and their claims with them; those that come, come in turn, each once the one before is bound.
// A turn belongs to a place, as room does, and any pod that may take the place has it.

// turnsOf are the turns on one node of the pods that have not arrived, the lowest first, and those that have taken a place.
type turnsOf struct {
	left   []int32
	coming sets.Set[types.UID]
	// back is the pod that gave that place back last: where its binding failed, its claims keep the devices of its turn.
	back  types.UID
	place *Place
}

// addTurns gives a place further turns.
func (p *Places) addTurns(of *Place, turns []int32) {
	if len(turns) == 0 {
		return
	}
	of.turns = slices.Sorted(slices.Values(slices.Concat(of.turns, turns)))
	on := p.turns[of.Node]
	if on == nil {
		on = &turnsOf{coming: sets.New[types.UID]()}
		p.turns[of.Node] = on
	}
	on.left = slices.Sorted(slices.Values(slices.Concat(on.left, turns)))
}

// endTurn ends the first turn of a place, whose pod has arrived, or the last one, for which no pod comes any more: so that as
// many as possible come in the order of the plan.
func (p *Places) endTurn(of *Place, arrived bool) {
	if len(of.turns) == 0 {
		return
	}
	at := len(of.turns) - 1
	if arrived {
		at = 0
	}
	ended := of.turns[at]
	of.turns = slices.Delete(of.turns, at, at+1)
	on := p.turns[of.Node]
	at, _ = slices.BinarySearch(on.left, ended)
	on.left = slices.Delete(on.left, at, at+1)
}

// noteComing notes that the pod has taken the place, or gives it back or has arrived.
func (p *Places) noteComing(uid types.UID, of *Place, comes bool) {
	on := p.turns[of.Node]
	if on == nil || len(of.turns) == 0 {
		return
	}
	if on.back, on.place = "", nil; comes {
		on.coming.Insert(uid)
	} else {
		on.coming.Delete(uid)
	}
}

// noteBack notes that the pod has given the place back.
func (p *Places) noteBack(uid types.UID, of *Place) {
	if p.noteComing(uid, of, false); len(of.turns) > 0 {
		p.turns[of.Node].back, p.turns[of.Node].place = uid, of
	}
}

// InTurn are the nodes on which places with a turn are left, or places for devices that overlap only since the plan was made: until
// these are taken, a device there that is free, or comes free, is for the pods of the plan.
func (p *Places) InTurn() sets.Set[string] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recount()
	if p.inTurn == nil {
		p.inTurn = sets.New[string]()
		for _, places := range p.byKey {
			for node, place := range places {
				if (len(place.turns) > 0 || place.overlapping) && place.open()+place.unopened > 0 {
					p.inTurn.Insert(node)
				}
			}
		}
	}
	return p.inTurn
}

// leaver is a pod that the plan takes off a node, or that a former process took off it.
type leaver struct {
	uid  types.UID
	step *step // nil if the pod is none of this execution's
}

// noteLeavers finds the pods that leave nodes with turns.
func (e *Execution) noteLeavers() {
	e.leavers = map[string][]leaver{}
	if len(e.turns) == 0 {
		return
	}
	for _, step := range e.steps {
		if e.turns[step.From] != nil {
			e.leavers[step.From] = append(e.leavers[step.From], leaver{step.uid(), step})
		}
	}
}

// Left tells of pods that a former process took off their nodes: their claims may still hold devices. It must be called before
// the plan begins.
func (e *Execution) Left(steps []*packingplan.Step) {
	for _, one := range steps {
		if e.turns[one.From] != nil {
			e.leavers[one.From] = append(e.leavers[one.From], leaver{uid: types.UID(one.PodUID)})
		}
	}
}

// FreesAtOnce has devices be free as soon as their pod is gone, as in a rehearsal. In a cluster its claims outlive it by a
// while.
func (e *Execution) FreesAtOnce() { e.holdsDevices = func(types.UID) bool { return false } }

// isLeft says that all pods have gone that the plan takes off the node, and hold no device there any more.
func (e *Execution) isLeft(node string) bool {
	e.leavers[node] = slices.DeleteFunc(e.leavers[node], func(one leaver) bool {
		if one.step != nil && one.step.state == packingplan.NotNeeded {
			return true
		}
		return (one.step == nil || !one.step.toLeave()) && !e.holdsDevices(one.uid)
	})
	return len(e.leavers[node]) == 0
}

// AwaitsClaims counts the pods that are gone from nodes with turns and still hold devices.
func (e *Execution) AwaitsClaims() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	count := 0
	for node := range e.leavers {
		count += e.awaitsClaimsOn(node)
	}
	return count
}

func (e *Execution) awaitsClaimsOn(node string) (count int) {
	e.isLeft(node)
	for _, one := range e.leavers[node] {
		if one.step == nil || !one.step.toLeave() {
			count++
		}
	}
	return count
}

// hasTurn says that it is the turn of a pod of the place, or that the order does not matter to it.
func (e *Execution) hasTurn(of *Place) bool {
	if len(of.turns) == 0 {
		return true
	}
	on := e.turns[of.Node]
	return of.turns[0] == on.left[0] && on.coming.Len() == 0 && e.isLeft(of.Node)
}

// isKept says that the turn of the place is that of another pod, which has its devices already.
func (e *Execution) isKept(of *Place, from types.UID) bool {
	on := e.turns[of.Node]
	return on != nil && on.place == of && on.back != from && e.holdsDevices(on.back)
}

// HasTurn says whether a pod with the key may come to the node now, as far as turns are concerned.
func (e *Execution) HasTurn(key snapshot.ReplicaKey, node string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	place := e.byKey[key][node]
	return place == nil || e.hasTurn(place)
}

// mayBegin says whether a pod may leave for the place: not before it is its replacement's turn. Those that are under way come
// first.
func (e *Execution) mayBegin(of *Place) bool {
	return len(of.turns) == 0 || of.open() == 0 && e.hasTurn(of)
}

// mayBeginAll says it of the moves of a unit, of which none begins beside another move to its node in the same wave.
func (e *Execution) mayBeginAll(moves []*step, begun sets.Set[string]) bool {
	return !slices.ContainsFunc(moves, func(s *step) bool {
		to := e.target(s)
		return !s.opened && len(to.turns) > 0 && (begun.Has(s.To) || !e.mayBegin(to))
	})
}

// opensFirst is the lowest turn on the node that a pod is to leave, for which it is to leave first; 0 if there is none.
func (e *Execution) opensFirst(node string) int32 {
	if on := e.turns[node]; on != nil && len(on.left) > 0 {
		return on.left[0]
	}
	return 0
}

// canStayOn says whether a pod may stay on its node in place of a replica that was to come there: not if the devices of others
// depend on where the replica's would be, or the replica has its devices there already.
func (e *Execution) canStayOn(place *Place) bool {
	return len(place.turns) == 0 || len(e.turns[place.Node].left) == 1 && !e.isKept(place, "")
}

// TurnsOfPlaces are the turns of the places in a plan's object, with their devices, by node and by the pods that may take them.
type TurnsOfPlaces map[snapshot.ReplicaKey]map[string][]packingplan.Step

// TurnsOf are those of the steps.
func TurnsOf(steps []*packingplan.Step) TurnsOfPlaces {
	turns := TurnsOfPlaces{}
	for _, step := range steps {
		if step.Turn == 0 {
			continue
		}
		key := snapshot.ReplicaKeyOf(step)
		if turns[key] == nil {
			turns[key] = map[string][]packingplan.Step{}
		}
		turns[key][step.To] = append(turns[key][step.To], *step)
	}
	return turns
}

// Deal gives the steps the turns of their places once pods have exchanged these, the lowest ones to those that rank first.
func (t TurnsOfPlaces) Deal(steps []*packingplan.Step, rank func(*packingplan.Step) int) {
	if len(t) == 0 {
		return
	}
	for _, places := range t {
		for _, turns := range places {
			slices.SortStableFunc(turns, func(a, b packingplan.Step) int { return cmp.Compare(a.Turn, b.Turn) })
		}
	}
	inOrder := slices.Clone(steps)
	slices.SortStableFunc(inOrder, func(a, b *packingplan.Step) int { return cmp.Compare(rank(a), rank(b)) })
	for _, step := range inOrder {
		step.Turn, step.Devices = 0, nil // it may have no place any more
		places := t[snapshot.ReplicaKeyOf(step)]
		if turns := places[step.To]; len(turns) > 0 && step.To != "" {
			step.Turn, step.Devices, places[step.To] = turns[0].Turn, turns[0].Devices, turns[1:]
		}
	}
}
