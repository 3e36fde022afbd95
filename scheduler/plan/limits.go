package plan

import (
	"slices"
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
	for _, unit := range p.Units() {
		count.take(slices.DeleteFunc(unit, placed))
	}
	return count.excess
}

func placed(step Step) bool { return step.From == "" }

// tally counts disruptions that are within the limits, and collects the others.
type tally struct {
	limits            Limits
	moves, evictions  int
	nodes, namespaces map[string]int
	workloads         map[types.UID]int
	excess            []Excess
}

// take counts all disruptions of a unit, or none if one of them is beyond a limit.
func (t *tally) take(unit []Step) {
	for i, step := range unit {
		beyond := t.beyond(step)
		if beyond == "" {
			t.count(step, 1)
			continue
		}
		for _, counted := range unit[:i] {
			t.count(counted, -1)
		}
		for _, one := range unit {
			t.excess = append(t.excess, Excess{one.Pod, beyond})
		}
		return
	}
}

// beyond is the limit that one more disruption exceeds, or "".
func (t *tally) beyond(step Step) string {
	pod := step.Pod
	switch {
	case step.To != "" && reached(t.moves, t.limits.Moves):
		return LimitMoves
	case step.To == "" && reached(t.evictions, t.limits.Evictions):
		return LimitEvictions
	case reached(t.nodes[pod.Node], t.limits.PerNode):
		return LimitPerNode
	case reached(t.namespaces[pod.Object.Namespace], t.limits.PerNamespace):
		return LimitPerNamespace
	case pod.Owner != "" && reached(t.workloads[pod.Owner], t.limits.PerWorkload):
		return LimitPerWorkload
	}
	return ""
}

func (t *tally) count(step Step, pods int) {
	if step.To != "" {
		t.moves += pods
	} else {
		t.evictions += pods
	}
	t.nodes[step.Pod.Node] += pods
	t.namespaces[step.Pod.Object.Namespace] += pods
	t.workloads[step.Pod.Owner] += pods
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

// Returns are the units of the plan that undo a move of an earlier one.
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
	for _, unit := range p.Units() {
		if slices.ContainsFunc(unit, func(one Step) bool { return taken[way{one.Pod.Kind(), one.To, one.From}] }) {
			returns = append(returns, slices.DeleteFunc(unit, placed)...)
		}
	}
	return returns
}
