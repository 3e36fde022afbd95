package executor

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// oneOfEachCycle chooses the moves that begin although there is no room for their replacements: one of each group of moves
// that wait for each other. Groups share no node and no open place, so that none has to wait for another one.
func (e *Execution) oneOfEachCycle(waiting []*step, free map[string]resources.Vector) (chosen []*step) {
	late := e.latePlaces()
	for _, group := range e.groups(waiting) {
		chosen = append(chosen, e.shortestGap(group, late, free))
	}
	return chosen
}

// groups divides the moves, in their order.
func (e *Execution) groups(waiting []*step) (groups [][]*step) {
	joined, index := e.joined(waiting), map[string]int{}
	for _, step := range waiting {
		root := joined.root(step.From)
		at, known := index[root]
		if !known {
			at = len(groups)
			index[root], groups = at, append(groups, nil)
		}
		groups[at] = append(groups[at], step)
	}
	return groups
}

// joined are the groups of the nodes of the moves.
func (e *Execution) joined(waiting []*step) union {
	joined := union{}
	for _, step := range waiting {
		joined.join(step.From, step.To)
		joined.join(step.From, step.unit.steps[0].From) // a unit goes as a whole
	}
	for _, places := range e.byKey {
		first := ""
		for node, place := range places {
			switch {
			case place.open() == 0:
			case first == "":
				first = node
			default:
				joined.join(first, node)
			}
		}
	}
	return joined
}

// union is a set of disjoint groups of nodes: each node leads to its group's root.
type union map[string]string

func (u union) root(node string) string {
	for {
		next, more := u[node]
		if !more {
			return node
		}
		if over, further := u[next]; further {
			u[node] = over // shortens the way
		}
		node = next
	}
}

// roots are those of the nodes.
func (u union) roots(nodes sets.Set[string]) sets.Set[string] {
	roots := sets.New[string]()
	for node := range nodes {
		roots.Insert(u.root(node))
	}
	return roots
}

func (u union) join(a, b string) {
	if a, b = u.root(a), u.root(b); a != b {
		u[a] = b
	}
}

// shortestGap chooses one of the moves that wait for each other. First go pods from nodes that replacements already wait for: each pod that is away
// keeps others of its owner from leaving. Where pods come in turn, those leave first that are on the node of the lowest turn. Otherwise a pod's replacement waits for the shortest time if the eviction lets
// another move start at once, and if the pod terminates quickly.
func (e *Execution) shortestGap(waiting []*step, late map[string][]*Place, free map[string]resources.Vector) *step {
	coming := map[string][]*step{}
	for _, step := range waiting {
		coming[step.To] = append(coming[step.To], step)
	}
	rank := make(map[*step]int, len(waiting))
	for _, s := range waiting {
		leaves := free[s.From].Plus(s.Pod.Requests)
		rest := leaves.Minus(e.moving[s.From])
		switch {
		case e.opensFirst(s.From) > 0: // room alone lets nobody come there
		case slices.ContainsFunc(late[s.From], func(p *Place) bool { return p.Requests.FitsIn(leaves) }):
		case len(late[s.From]) > 0:
			rank[s] = 1
		case slices.ContainsFunc(coming[s.From], func(other *step) bool { return other != s && e.target(other).Requests.FitsIn(rest) }):
			rank[s] = 2
		default:
			rank[s] = 3
		}
	}
	return slices.MinFunc(waiting, func(a, b *step) int {
		return cmp.Or(
			cmp.Compare(rank[a], rank[b]),
			cmp.Compare(e.opensFirst(a.From), e.opensFirst(b.From)),
			cmp.Compare(snapshot.GraceOf(a.Pod.Object), snapshot.GraceOf(b.Pod.Object)),
			cmp.Compare(a.Pod.Priority, b.Pod.Priority),
			cmp.Compare(a.uid(), b.uid()),
		)
	})
}

// latePlaces are the open places for which a replacement is waiting, by node.
func (e *Execution) latePlaces() map[string][]*Place {
	late := map[string][]*Place{}
	for key, places := range e.byKey {
		for node, p := range places {
			if e.replacements[key] > 0 && p.inFlight+p.unopened > 0 {
				late[node] = append(late[node], p)
			}
		}
	}
	return late
}

// AllowEarly allows evictions before there is room for the replacements, although other arrivals are expected: those have
// room, but are blocked by a pod that has not been evicted yet.
func (e *Execution) AllowEarly(uids ...types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, uid := range uids {
		if step := e.byUID[uid]; step != nil {
			step.early = true
		}
	}
}

// Unblock allows the early eviction of one more pod of each cycle, and returns their UIDs; none if no pod is left.
func (e *Execution) Unblock(free map[string]resources.Vector) (uids []types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recount()
	waiting := slices.DeleteFunc(waitingMoves(e.steps), func(s *step) bool { return s.early })
	for _, chosen := range e.oneOfEachCycle(waiting, free) {
		for _, step := range waitingMoves(chosen.unit.steps) {
			step.early = true
			uids = append(uids, step.uid())
		}
	}
	return uids
}
