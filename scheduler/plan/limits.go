package plan

import (
	"cmp"
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

// bound is a limit on what a part of the cluster loses: a node, a namespace or a workload; or all of it.
type bound struct {
	limit, part string
	most        int
}

// on are the bounds that a disruption counts against.
func (l Limits) on(step Step) []bound {
	plan := bound{LimitMoves, "", l.Moves}
	if step.To == "" {
		plan = bound{LimitEvictions, "", l.Evictions}
	}
	bounds := []bound{plan, {LimitPerNode, step.Pod.Node, l.PerNode}, {LimitPerNamespace, step.Pod.Object.Namespace, l.PerNamespace},
		{LimitPerWorkload, string(step.Pod.Owner), l.PerWorkload}}
	return slices.DeleteFunc(bounds, func(one bound) bool {
		return one.most <= 0 || one.limit == LimitPerWorkload && one.part == ""
	})
}

// Beyond are the disruptions beyond the limits, in the order of the plan: all of a unit, or none.
func (p *Plan) Beyond(limits Limits) (excess []Excess) {
	count := map[bound]int{}
	for _, unit := range p.Units() {
		unit = slices.DeleteFunc(unit, placed)
		var counted []bound
		exceeded := ""
		for _, step := range unit {
			for _, one := range limits.on(step) {
				if count[one]++; count[one] > one.most {
					exceeded = cmp.Or(exceeded, one.limit)
				}
				counted = append(counted, one)
			}
		}
		if exceeded == "" {
			continue
		}
		for _, one := range counted {
			count[one]--
		}
		for _, step := range unit {
			excess = append(excess, Excess{step.Pod, exceeded})
		}
	}
	return excess
}

func placed(step Step) bool { return step.From == "" }

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
		key      snapshot.ReplicaKey
		from, to string
	}
	taken := map[way]bool{}
	for _, moved := range history {
		if moved.Owner != "" && moved.To != "" {
			taken[way{snapshot.ReplicaKey{Owner: moved.Owner, Class: moved.Class}, moved.From, moved.To}] = true
		}
	}
	var returns []Step
	for _, unit := range p.Units() {
		if slices.ContainsFunc(unit, func(one Step) bool { return taken[way{one.Pod.ReplicaKey(), one.To, one.From}] }) {
			returns = append(returns, slices.DeleteFunc(unit, placed)...)
		}
	}
	return returns
}
