package executor

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Place is so many places on one node for pods of one owner and class. Which pod leaves for one, and which arrives there,
// does not matter.
type Place struct {
	Node string
	// Requests is what a pod of the place needs, its devices as they are counted now.
	Requests resources.Vector

	// planned is the same as they were counted when the plan was made. overlapping: by now, pods share some of the devices, or
	// ask for sets that overlap, so that no amount says whether there are enough.
	planned     resources.Vector
	overlapping bool

	key       snapshot.ReplicaKey
	namespace string
	priority  int32
	// unit is the name of that of its pods; empty where each pod is one alone.
	unit string
	// settled are for pods that already wait; they are open from the start. inFlight are for replacements of moves that are
	// under way, unopened for those of moves that have not started.
	settled, inFlight, unopened int
	// turns are those of the pods that have not arrived, the lowest first; none where the order does not matter.
	turns []int32
}

// open are the places that pods may take now.
func (p *Place) open() int { return p.settled + p.inFlight }

// holder is a pod that has taken a place and has not arrived there yet.
type holder struct {
	pod   *v1.Pod
	place *Place
	// replaces: the place is one of those in flight.
	replaces bool
	// ready: the pod was seen ready before its binding was reported.
	ready bool
}

// Places is the room of one plan: the places that no pod has taken yet. It is safe for concurrent use.
type Places struct {
	// Priority is the highest of any pod. Carried: an execution alone fills the places; else any pod of an owner may.
	Priority int32
	Carried  bool

	// book counts devices, and counted is its state by which the places were counted.
	book    *resources.Book
	counted uint64

	mu sync.Mutex
	// byKey are the places by the pods that may take them, and by node; open counts those that are open, and replacements
	// those in flight.
	byKey              map[snapshot.ReplicaKey]map[string]*Place
	open, replacements map[snapshot.ReplicaKey]int
	// left counts all places, and lacks those of each unit with a name.
	left    int
	lacks   map[string]int
	holders map[types.UID]*holder
	// moving is the room on each node for the replacements under way, needed that for all places.
	moving, needed map[string]resources.Vector
	// outstanding is the copy of needed that is handed out; nil after a change.
	outstanding map[string]resources.Vector
	// owned are the places by owner. It does not change once all places are added.
	owned map[types.UID][]*Place
	// turns are those on each node that has any; inTurn is a set that is handed out, nil after a change.
	turns  map[string]*turnsOf
	inTurn sets.Set[string]
}

func newPlaces(book *resources.Book) *Places {
	return &Places{book: book, byKey: map[snapshot.ReplicaKey]map[string]*Place{}, open: map[snapshot.ReplicaKey]int{},
		replacements: map[snapshot.ReplicaKey]int{}, holders: map[types.UID]*holder{}, lacks: map[string]int{},
		moving: map[string]resources.Vector{}, needed: map[string]resources.Vector{},
		owned: map[types.UID][]*Place{}, turns: map[string]*turnsOf{}}
}

// add adds so many places to those with their key on their node. It must not be called once the places are in use.
func (p *Places) add(made Place, settled, unopened int) {
	known, turns := p.byKey[made.key][made.Node], made.turns
	if known == nil {
		if p.byKey[made.key] == nil {
			p.byKey[made.key] = map[string]*Place{}
		}
		if len(p.owned) == 0 || made.priority > p.Priority {
			p.Priority = made.priority
		}
		made.settled, made.inFlight, made.unopened, made.turns, made.planned = 0, 0, 0, nil, made.Requests
		known = &made
		p.byKey[made.key][made.Node] = known
		p.owned[made.key.Owner] = append(p.owned[made.key.Owner], known)
	}
	p.change(known, settled, 0, unopened)
	p.addTurns(known, turns)
}

// change alters the counts of a place and the sums of its node. No other code may do so.
func (p *Places) change(of *Place, settled, inFlight, unopened int) {
	of.settled += settled
	of.inFlight += inFlight
	of.unopened += unopened
	p.open[of.key] += settled + inFlight
	p.replacements[of.key] += inFlight
	addTo(p.moving, of, inFlight)
	if change := settled + inFlight + unopened; change != 0 {
		addTo(p.needed, of, change)
		p.left += change
		if of.unit != "" {
			p.lacks[of.unit] += change
		}
		p.outstanding, p.inTurn = nil, nil
	}
}

// addTo adds or subtracts the requests of so many pods of the place.
func addTo(sums map[string]resources.Vector, of *Place, pods int) {
	for ; pods > 0; pods-- {
		sums[of.Node] = sums[of.Node].Plus(of.Requests)
	}
	for ; pods < 0; pods++ {
		sums[of.Node] = sums[of.Node].Minus(of.Requests)
	}
}

// recount counts the devices of the places anew once others ask for other sets of devices: what the places take of these has no
// name yet, and no other pod may take it. Who compares places with room calls it first.
func (p *Places) recount() {
	now := p.book.State()
	if now == p.counted {
		return
	}
	p.counted, p.outstanding, p.inTurn = now, nil, nil
	clear(p.moving)
	clear(p.needed)
	for _, places := range p.byKey {
		for _, one := range places {
			one.Requests, one.overlapping = p.book.Recounted(one.planned)
			addTo(p.moving, one, one.inFlight)
			addTo(p.needed, one, one.open()+one.unopened)
		}
	}
}

// take gives the pod an open place, rather one that is in flight. It reports false if there is none.
func (p *Places) take(pod *v1.Pod, of *Place) bool {
	if of.open() == 0 {
		return false
	}
	replaces := of.inFlight > 0
	p.holders[pod.UID] = &holder{pod: pod, place: of, replaces: replaces}
	p.noteComing(pod.UID, of, true)
	if replaces {
		p.change(of, 0, -1, 0)
	} else {
		p.change(of, -1, 0, 0)
	}
	return true
}

// giveBack opens the place that a pod holds again. It may be called for any pod, and twice.
func (p *Places) giveBack(uid types.UID) {
	held := p.holders[uid]
	if held == nil {
		return
	}
	delete(p.holders, uid)
	p.noteBack(uid, held.place)
	if held.replaces {
		p.change(held.place, 0, 1, 0)
	} else {
		p.change(held.place, 1, 0, 0)
	}
}

// Outstanding is the room on each node for the places that nobody has taken. The map must not be changed.
func (p *Places) Outstanding() map[string]resources.Vector {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recount()
	if p.outstanding == nil {
		p.outstanding = maps.Clone(p.needed)
		maps.DeleteFunc(p.outstanding, func(_ string, room resources.Vector) bool { return room.IsZero() })
	}
	return p.outstanding
}

// Concerns says whether the pod is of an owner that the plan touches. It needs no lock.
func (e *Execution) Concerns(pod *v1.Pod) bool { return e.owners.Has(snapshot.OwnerOf(pod)) }

// keyOf is nothing for a pod whose owner is not in the plan: its spec is not hashed. For waiting pods it is the known key:
// they are looked up each time that a pod leaves.
func (e *Execution) keyOf(pod *v1.Pod) snapshot.ReplicaKey {
	if !e.Concerns(pod) {
		return snapshot.ReplicaKey{}
	}
	e.mu.Lock()
	known, waits := e.waiting[pod.UID]
	e.mu.Unlock()
	if waits {
		return known.key
	}
	return snapshot.ReplicaKey{Owner: snapshot.OwnerOf(pod), Class: e.classes.ID(pod)}
}

// Plans says whether the plan has an open place for the pod, whatever room there is now. It costs the same for any plan:
// the scheduling queue asks it about each waiting pod at each event.
func (e *Execution) Plans(pod *v1.Pod) bool {
	if e == nil || !e.Concerns(pod) {
		return false
	}
	key := e.keyOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open[key] > 0
}

// Nodes are those on which the plan has a place for the pod, and room. planned is false for a pod that the plan does not
// concern. A planned pod without nodes has to wait. free is the room that a node has now; nil for what it had at the last
// call of Activatable.
func (e *Execution) Nodes(pod *v1.Pod, free func(node string) resources.Vector) (nodes []string, planned bool) {
	if e == nil || !e.Concerns(pod) {
		return nil, false
	}
	key := e.keyOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recount()
	if free == nil {
		free = func(node string) resources.Vector { return e.free[node] }
	}
	if together := e.units[key]; together != nil && !together.ready {
		return nil, e.open[key] > 0 // it would only take room, and wait there for the others
	}
	places, _ := e.placesFor(key, e.withOwn(pod, free), nil)
	for _, place := range places {
		if !e.isKept(place, pod.UID) {
			nodes = append(nodes, place.Node)
		}
	}
	return nodes, e.open[key] > 0
}

// placesFor are the places that have room for a pod with the key now, and whether they are open. A replacement whose
// open places all lack room may take one for which no pod has left yet: replicas are alike, so the plan leads to the
// same state. Without that, moves could wait for each other for ever. coming is the room of replacements that free
// counts already.
func (e *Execution) placesFor(
	key snapshot.ReplicaKey, free func(node string) resources.Vector, coming map[string]resources.Vector,
) (places []*Place, open bool) {
	var unopened []*Place
	for node, place := range e.byKey[key] {
		switch {
		case !e.hasTurn(place):
		case place.open() > 0 && e.hasRoomBeside(place, free(node), coming, place.inFlight > 0):
			places = append(places, place)
		case place.unopened > 0 && e.hasRoomBeside(place, free(node), coming, false) &&
			(len(place.turns) == 0 || e.givesWay(place) != nil):
			unopened = append(unopened, place)
		}
	}
	open = len(places) > 0 || e.replacements[key] == 0
	if !open {
		places = unopened
	}
	if len(places) > 0 && e.vacant(key) <= 0 {
		return nil, open
	}
	return places, open
}

// withOwn adds the devices that the pod's claims have already to the room on their node.
func (e *Execution) withOwn(pod *v1.Pod, free func(node string) resources.Vector) func(node string) resources.Vector {
	of, own := e.classes.Allocated(pod)
	if of == "" {
		return free
	}
	return func(node string) resources.Vector {
		if node != of {
			return free(node)
		}
		return free(node).Plus(own)
	}
}

// vacant counts the open places that pods with the key may take: as many as are open, less the moves of which nobody knows
// yet whether the pod leaves. One that stays must find a place later, also if another process carries the plan on by then:
// else its own room would never become free.
func (e *Execution) vacant(key snapshot.ReplicaKey) int { return e.open[key] - e.unsure[key] }

// hasRoom says whether one more pod of the place fits into what is free on its node. A pod that was waiting before the
// plan must not take the room of replacements that are still to arrive there.
func (e *Execution) hasRoom(place *Place, free resources.Vector, replaces bool) bool {
	if !replaces {
		free = free.Minus(e.moving[place.Node])
	}
	return place.Requests.FitsIn(free)
}

// hasRoomBeside is the same where free counts some of the replacements that are still to arrive as pods of the node.
func (e *Execution) hasRoomBeside(
	place *Place, free resources.Vector, coming map[string]resources.Vector, replaces bool,
) bool {
	if of, some := coming[place.Node]; some && !replaces {
		free = free.Plus(of)
	}
	return e.hasRoom(place, free, replaces)
}

// Vacated are the nodes from which the plan evicts pods that the pod can replace. During the plan their replacements must
// not be bound there, even if there is room: they could block the plan.
func (e *Execution) Vacated(pod *v1.Pod) sets.Set[string] {
	if !e.Concerns(pod) {
		return nil // like most pods: it is asked in each scheduling cycle
	}
	key, nodes := e.keyOf(pod), sets.New[string]()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, step := range e.steps {
		if step.To == "" && step.state != packingplan.NotNeeded && step.Pod.ReplicaKey() == key {
			nodes.Insert(step.From)
		}
	}
	return nodes
}

// Reserve takes a place on the node for the pod; planned says whether Nodes named the node. It reports false if there is
// none: then the pod is an ordinary one.
func (e *Execution) Reserve(pod *v1.Pod, node string, planned bool) bool {
	key := e.keyOf(pod)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.holders[pod.UID] != nil {
		return true
	}
	place := e.byKey[key][node]
	if place == nil || e.vacant(key) <= 0 || !e.hasTurn(place) || e.isKept(place, pod.UID) {
		return false
	}
	var early *step
	if planned && place.open() == 0 { // it has that of a move whose pod has not left yet
		early = e.givesWay(place)
		if early != nil {
			e.set(early, true, early.state)
			e.change(place, 0, 1, -1)
		}
	}
	took := e.take(pod, place)
	if early != nil {
		e.retarget(early)
	}
	return took
}

// givesWay is a move to the place whose pod has not left and can have another place; nil if there is none.
func (e *Execution) givesWay(place *Place) *step {
	return e.moveTo(place, func(s *step) bool {
		return !s.opened && s.state == packingplan.Waiting && (len(place.turns) == 0 || len(e.othersFor(s)) > 0)
	})
}

// moveTo is the first move to the place for which the condition holds, or nil.
func (e *Execution) moveTo(place *Place, holds func(*step) bool) *step {
	for _, one := range e.steps {
		if one.To == place.Node && one.Pod.ReplicaKey() == place.key && holds(one) {
			return one
		}
	}
	return nil
}

// retarget gives a move whose pod stays for now, and whose place another replica has taken, an open place that this pod
// could have had: rather one of a replacement than one of a pod that waits. If none is open any more, the pod that came has
// the place of the one that is still to leave.
func (e *Execution) retarget(s *step) {
	open := e.othersFor(s)
	if len(open) == 0 {
		return
	}
	to := slices.MinFunc(open, func(a, b *Place) int {
		return cmp.Or(cmp.Compare(min(b.inFlight, 1), min(a.inFlight, 1)), cmp.Compare(a.Node, b.Node))
	})
	if to.inFlight > 0 {
		e.exchange(s, to)
		e.change(to, 0, -1, 1)
	} else {
		e.settle(e.target(s))
		e.untold = append(e.untold, placeChange{key: s.Pod.ReplicaKey(), from: to.Node, to: s.To})
		s.To = to.Node
		e.change(to, -1, 0, 1)
	}
	state := s.state
	if s.To == s.From {
		state = packingplan.NotNeeded
		e.change(to, 0, 0, -1)
		e.endTurn(to, false)
	}
	e.set(s, false, state)
}

// othersFor are the open places that the pod of a move could have instead of its own.
func (e *Execution) othersFor(s *step) []*Place {
	return slices.DeleteFunc(slices.Collect(maps.Values(e.byKey[s.Pod.ReplicaKey()])), func(one *Place) bool {
		return one.open() == 0 || one.Node == s.From && !e.canStayOn(one)
	})
}

// placeChange is a place that a waiting pod has left to a move, and the one that it has taken for it; or, if to is empty, one
// that was dropped, or that the pod called arrived has.
type placeChange struct {
	key      snapshot.ReplicaKey
	from, to string
	arrived  types.UID
}

// settle counts a pod that has taken the place of a replacement, or has arrived there, as one that waited.
func (e *Execution) settle(place *Place) {
	for _, held := range e.holders {
		if held.place == place && held.replaces {
			held.replaces = false
			return
		}
	}
	if i := slices.Index(e.arrived[place.key], place.Node); i >= 0 {
		e.arrived[place.key] = slices.Delete(e.arrived[place.key], i, i+1)
	}
}

// exchange has a move exchange its target with one under way to the place.
func (e *Execution) exchange(s *step, place *Place) {
	if move := e.moveTo(place, func(one *step) bool { return one.opened && one.state != packingplan.Bound }); move != nil {
		s.To, move.To = move.To, s.To
	}
}

// Unreserve gives the pod's place back. It may be called for any pod, and twice.
func (e *Execution) Unreserve(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.giveBack(uid)
}

// Bound marks the arrival of a pod that holds a place, and reports whether it held one.
func (e *Execution) Bound(uid types.UID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := e.holders[uid]
	if held == nil {
		return false
	}
	delete(e.holders, uid)
	e.noteComing(uid, held.place, false)
	e.endTurn(held.place, true)
	e.bound++
	if together := e.units[held.place.key]; together != nil {
		together.carriedOn = true
	}
	if !held.replaces {
		e.untold = append(e.untold, placeChange{key: held.place.key, from: held.place.Node, arrived: uid})
		return true
	}
	if !held.ready {
		e.starting[uid] = held.pod
	}
	key := held.place.key
	e.arrived[key] = append(e.arrived[key], held.place.Node)
	e.pair(key)
	return true
}

// pair counts each replacement with the key that has arrived for a move whose pod has gone. The pods may still terminate.
func (e *Execution) pair(key snapshot.ReplicaKey) {
	for _, move := range e.steps {
		arrived := e.arrived[key]
		if len(arrived) > 0 && move.state == packingplan.Gone && move.To != "" && move.Pod.ReplicaKey() == key {
			e.exchange(move, e.byKey[key][arrived[0]])
			move.state, e.arrived[key] = packingplan.Bound, arrived[1:]
		}
	}
}
