package scorecache

import (
	"cmp"
	"container/heap"
	"hash/maphash"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// standing is where a node stands in a ranking.
type standing uint8

const (
	// outside: the node is not feasible.
	outside standing = iota
	// listed: nothing has happened to the node since the ranking was made.
	listed
	// returned: something has, and the node has been filtered and scored again.
	returned
)

// place is what a ranking knows of one node.
type place struct {
	total int64
	// beside is the part of the total that is not for spread.
	beside   int64
	turn     turn
	group    int32
	version  uint32
	standing standing
}

// turn orders nodes of the same total. The paper takes them by name; so does the ranking where the profile's
// LexicographicOrder does. Otherwise the node that nothing has happened to for longest comes first: totals
// are whole numbers, and a node that keeps its total with a small pod more would be taken again and again.
type turn struct {
	stamp int
	name  int32
}

func (t turn) compare(other turn) int {
	if t.stamp != other.stamp {
		return cmp.Compare(t.stamp, other.stamp)
	}
	return cmp.Compare(t.name, other.name)
}

// ranking is the paper's E_k (4.2.3): the nodes by their total score, best first. Nodes are numbered as in the
// census.
type ranking struct {
	epochs epochs
	// heard is the number of the census's next change.
	heard  int
	places []place
	groups []group
	frame  *frame
	spread *spread
	// promised are nodes that are not feasible while pods are nominated to them. Nothing happens to a node when these
	// are bound elsewhere or give up, so that it is looked at again each time.
	promised []int32
	// scoring is the state with which nodes are scored again.
	scoring scoring
	// initial is the paper's initialN, popped how many of these have left the list.
	initial, popped int
	// feasible is the paper's feasibleHash of the nodes that are feasible now, captured that of those that were
	// when the ranking was made.
	feasible, captured fingerprint
	// bound: the scores depend on the set of feasible nodes as a whole, as those of PodTopologySpread do, which
	// weighs by how many there are.
	bound bool
}

// fingerprint of a set of node names does not depend on their order, and follows the set as it changes.
type fingerprint uint64

func fingerprintOf(name string) fingerprint { return fingerprint(maphash.String(digestSeed, name)) }

func (f *fingerprint) toggle(name string) { *f ^= fingerprintOf(name) }

// group is the part of a ranking whose nodes lie in the same topologies, which is all of it unless the pod is
// spread over them.
type group struct {
	// list is the paper's L, next its moving pointer.
	list []int32
	next int
	back returners
	// size is how many nodes lie there, feasible or not.
	size int
}

// candidate is the best node of a group.
type candidate struct {
	at      int32
	group   int32
	version uint32
	total   int64
	beside  int64
	turn    turn
}

// better orders candidates by their totals, then by their turns.
func (c candidate) better(than candidate) bool {
	return c.total > than.total || (c.total == than.total && c.turn.compare(than.turn) < 0)
}

// head is the best node of a group; none if all have left.
func (r *ranking) head(index int) (candidate, bool) {
	g := &r.groups[index]
	for g.next < len(g.list) && r.places[g.list[g.next]].standing != listed {
		g.next++
	}
	for len(g.back) > 0 && g.back[0].version != r.places[g.back[0].at].version {
		heap.Pop(&g.back)
	}
	switch {
	case g.next == len(g.list) && len(g.back) == 0:
		return candidate{}, false
	case g.next == len(g.list):
		return g.back[0], true
	}
	first := r.candidate(g.list[g.next])
	if len(g.back) > 0 && g.back[0].better(first) {
		return g.back[0], true
	}
	return first, true
}

func (r *ranking) candidate(at int32) candidate {
	spot := &r.places[at]
	return candidate{at: at, group: spot.group, version: spot.version, total: spot.total, beside: spot.beside, turn: spot.turn}
}

// leave takes a node out: it is not feasible any more.
func (r *ranking) leave(at int32, name string) {
	spot := &r.places[at]
	if spot.standing == outside {
		return
	}
	r.feasible.toggle(name)
	spot.standing = outside
	spot.version++
	r.frame.leave(at)
}

// comeBack puts a node in at its new score.
func (r *ranking) comeBack(at int32, scores fwk.NodePluginScores, turn turn) {
	spot := &r.places[at]
	if spot.standing == outside {
		r.feasible.toggle(scores.Name)
	}
	spot.standing, spot.turn = returned, turn
	spot.score(scores)
	spot.version++
	g := &r.groups[spot.group]
	if len(g.back) >= 2*max(g.size, 1) {
		g.back.prune(r)
	}
	heap.Push(&g.back, r.candidate(at))
}

func (s *place) score(scores fwk.NodePluginScores) {
	s.total, s.beside = scores.TotalScore, scores.TotalScore
	for _, one := range scores.Scores {
		if one.Name == names.PodTopologySpread {
			s.beside -= one.Score
		}
	}
}

// usedUp is the paper's consumed fraction.
func (r *ranking) usedUp() float64 { return float64(r.popped) / float64(r.initial) }

// sortLists puts each group in order.
func (r *ranking) sortLists() {
	for i := range r.groups {
		slices.SortFunc(r.groups[i].list, func(a, b int32) int {
			if byTotal := cmp.Compare(r.places[b].total, r.places[a].total); byTotal != 0 {
				return byTotal
			}
			return r.places[a].turn.compare(r.places[b].turn)
		})
	}
}

// returners are nodes that were scored again, as a heap with the best on top. One whose place has another
// version by now is out of date.
type returners []candidate

// prune leaves out what is out of date. Only what comes to the top is otherwise found to be, so that in a ranking
// that lives long the heap would grow with every pod.
func (h *returners) prune(r *ranking) {
	*h = slices.DeleteFunc(*h, func(c candidate) bool { return c.version != r.places[c.at].version })
	heap.Init(h)
}

func (h returners) Len() int           { return len(h) }
func (h returners) Less(i, j int) bool { return h[i].better(h[j]) }
func (h returners) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *returners) Push(x any)        { *h = append(*h, x.(candidate)) }
func (h *returners) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
