package scorecache

import (
	"cmp"
	"container/heap"
	"hash/maphash"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// nodeStatus is where a node stands in a ranking.
type nodeStatus uint8

const (
	// infeasible: the node is not feasible.
	infeasible nodeStatus = iota
	// listed: the node has not changed since the ranking was made.
	listed
	// rescored: the node has changed, and has been filtered and scored again.
	rescored
)

// nodeEntry is what a ranking knows of one node.
type nodeEntry struct {
	total int64
	// withoutSpread is the part of the total that is not for spread.
	withoutSpread int64
	tieBreak      tieBreak
	group         int32
	version       uint32
	status        nodeStatus
}

// tieBreak orders nodes with the same total. The paper orders them by name; so does the ranking where the profile has
// LexicographicOrder. Otherwise the node that has been unchanged for longest comes first: totals are integers, and a node
// whose total does not change with one more small pod would be chosen again and again.
type tieBreak struct {
	stamp int
	name  int32
}

func (t tieBreak) compare(other tieBreak) int {
	if t.stamp != other.stamp {
		return cmp.Compare(t.stamp, other.stamp)
	}
	return cmp.Compare(t.name, other.name)
}

// ranking is the paper's E_k (4.2.3): the nodes by their total score, best first. Nodes are numbered as in the node
// change log.
type ranking struct {
	epochs epochs
	// nextChange is the number of the first change in the log that the ranking does not include.
	nextChange int
	nodes      []nodeEntry
	groups     []group
	frame      *frame
	spread     *spread
	// nominated are nodes that are infeasible while pods are nominated to them. A node does not change when these pods
	// are bound elsewhere or lose their nomination, so it is filtered again each time.
	nominated []int32
	// scoring is the state with which nodes are scored again.
	scoring scoring
	// initial is the paper's initialN, popped how many of these nodes have left the list.
	initial, popped int
	// feasible is the paper's feasibleHash of the nodes that are feasible now, captured that of those that were
	// when the ranking was made.
	feasible, captured fingerprint
	// scoresDependOnSet: the scores depend on the set of feasible nodes as a whole, like those of PodTopologySpread,
	// whose weights depend on their number.
	scoresDependOnSet bool
}

// fingerprint identifies a set of node names. It does not depend on their order, and is updated as the set changes.
type fingerprint uint64

func fingerprintOf(name string) fingerprint { return fingerprint(maphash.String(digestSeed, name)) }

func (f *fingerprint) toggle(name string) { *f ^= fingerprintOf(name) }

// group is the part of a ranking whose nodes lie in the same topologies: all of it, unless the pod is spread over them.
type group struct {
	// list is the paper's L, next its moving pointer.
	list     []int32
	next     int
	rescored rescoredHeap
	// size is how many nodes lie there, feasible or not.
	size int
}

// candidate is the best node of a group.
type candidate struct {
	at            int32
	group         int32
	version       uint32
	total         int64
	withoutSpread int64
	tieBreak      tieBreak
}

// better orders candidates by their totals, then by their tie-breaks.
func (c candidate) better(than candidate) bool {
	return c.total > than.total || (c.total == than.total && c.tieBreak.compare(than.tieBreak) < 0)
}

// head is the best node of a group; none if all have left.
func (r *ranking) head(index int) (candidate, bool) {
	g := &r.groups[index]
	for g.next < len(g.list) && r.nodes[g.list[g.next]].status != listed {
		g.next++
	}
	for len(g.rescored) > 0 && g.rescored[0].version != r.nodes[g.rescored[0].at].version {
		heap.Pop(&g.rescored)
	}
	switch {
	case g.next == len(g.list) && len(g.rescored) == 0:
		return candidate{}, false
	case g.next == len(g.list):
		return g.rescored[0], true
	}
	first := r.candidate(g.list[g.next])
	if len(g.rescored) > 0 && g.rescored[0].better(first) {
		return g.rescored[0], true
	}
	return first, true
}

func (r *ranking) candidate(at int32) candidate {
	node := &r.nodes[at]
	return candidate{at: at, group: node.group, version: node.version, total: node.total,
		withoutSpread: node.withoutSpread, tieBreak: node.tieBreak}
}

// leave removes a node that is no longer feasible.
func (r *ranking) leave(at int32, name string) {
	node := &r.nodes[at]
	if node.status == infeasible {
		return
	}
	r.feasible.toggle(name)
	node.status = infeasible
	node.version++
	r.frame.leave(at)
}

// readmit puts a node in at its new score.
func (r *ranking) readmit(at int32, scores fwk.NodePluginScores, order tieBreak) {
	node := &r.nodes[at]
	if node.status == infeasible {
		r.feasible.toggle(scores.Name)
	}
	node.status, node.tieBreak = rescored, order
	node.score(scores)
	node.version++
	g := &r.groups[node.group]
	if len(g.rescored) >= 2*max(g.size, 1) {
		g.rescored.prune(r)
	}
	heap.Push(&g.rescored, r.candidate(at))
}

func (s *nodeEntry) score(scores fwk.NodePluginScores) {
	s.total, s.withoutSpread = scores.TotalScore, scores.TotalScore
	for _, one := range scores.Scores {
		if one.Name == names.PodTopologySpread {
			s.withoutSpread -= one.Score
		}
	}
}

// usedUp is the paper's consumed fraction.
func (r *ranking) usedUp() float64 { return float64(r.popped) / float64(r.initial) }

// sortLists puts each group in order.
func (r *ranking) sortLists() {
	for i := range r.groups {
		slices.SortFunc(r.groups[i].list, func(a, b int32) int {
			if byTotal := cmp.Compare(r.nodes[b].total, r.nodes[a].total); byTotal != 0 {
				return byTotal
			}
			return r.nodes[a].tieBreak.compare(r.nodes[b].tieBreak)
		})
	}
}

// rescoredHeap holds nodes that were scored again, as a heap with the best on top. A candidate is outdated once its
// node's entry has another version.
type rescoredHeap []candidate

// prune removes outdated candidates. Otherwise they are only found when they come to the top, so in a ranking that lives
// long the heap would grow with every pod.
func (h *rescoredHeap) prune(r *ranking) {
	*h = slices.DeleteFunc(*h, func(c candidate) bool { return c.version != r.nodes[c.at].version })
	heap.Init(h)
}

func (h rescoredHeap) Len() int           { return len(h) }
func (h rescoredHeap) Less(i, j int) bool { return h[i].better(h[j]) }
func (h rescoredHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *rescoredHeap) Push(x any)        { *h = append(*h, x.(candidate)) }
func (h *rescoredHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
