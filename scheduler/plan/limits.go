package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// Limits bound the disruptions of one plan; 0 is no limit.
type Limits struct {
	Moves, Evictions                   int
	PerNode, PerNamespace, PerWorkload int
}

// Names of the limits, as reasons why a pod stays where it is.
const (
	LimitMoves        = "limit-moves"
	LimitEvictions    = "limit-evictions"
	LimitPerNode      = "limit-per-node"
	LimitPerNamespace = "limit-per-namespace"
	LimitPerWorkload  = "limit-per-workload"
)

// Excess is a pod whose disruption exceeds a limit.
type Excess struct {
	Pod *snapshot.Pod
	// Limit is the name of the limit.
	Limit string
}

// Beyond are the disruptions beyond the limits, in the order of the plan.
func (p *Plan) Beyond(limits Limits) []Excess {
	count := tally{limits: limits, nodes: map[string]int{}, namespaces: map[string]int{}, workloads: map[types.UID]int{}}
	for _, move := range p.Moves {
		count.take(move.Pod, &count.moves, limits.Moves, LimitMoves)
	}
	for _, eviction := range p.Evictions {
		count.take(eviction.Pod, &count.evictions, limits.Evictions, LimitEvictions)
	}
	return count.excess
}

// tally counts disruptions that are within the limits, and collects the others.
type tally struct {
	limits            Limits
	moves, evictions  int
	nodes, namespaces map[string]int
	workloads         map[types.UID]int
	excess            []Excess
}

func (t *tally) take(pod *snapshot.Pod, total *int, limit int, name string) {
	namespace := pod.Object.Namespace
	beyond := ""
	switch {
	case reached(*total, limit):
		beyond = name
	case reached(t.nodes[pod.Node], t.limits.PerNode):
		beyond = LimitPerNode
	case reached(t.namespaces[namespace], t.limits.PerNamespace):
		beyond = LimitPerNamespace
	case pod.Owner != "" && reached(t.workloads[pod.Owner], t.limits.PerWorkload):
		beyond = LimitPerWorkload
	}
	if beyond != "" {
		t.excess = append(t.excess, Excess{pod, beyond})
		return
	}
	*total++
	t.nodes[pod.Node]++
	t.namespaces[namespace]++
	t.workloads[pod.Owner]++
}

func reached(count, limit int) bool { return limit > 0 && count >= limit }

// Moved is a pod of a workload that an earlier plan took off its node.
type Moved struct {
	Owner types.UID
	Class string
	// To is empty for a pod that was left unplaced.
	From, To string
	// Began and At are when the plan began, and when it ended.
	Began, At time.Time
}

// Returns are the moves of the plan that undo a move of an earlier one.
func (p *Plan) Returns(history []Moved) []Step {
	type way struct {
		kind     snapshot.Kind
		from, to string
	}
	taken := map[way]bool{}
	for _, moved := range history {
		if moved.Owner != "" && moved.To != "" {
			taken[way{snapshot.Kind{Owner: moved.Owner, Class: moved.Class}, moved.From, moved.To}] = true
		}
	}
	var returns []Step
	for _, move := range p.Moves {
		if taken[way{move.Pod.Kind(), move.To, move.From}] {
			returns = append(returns, move)
		}
	}
	return returns
}
