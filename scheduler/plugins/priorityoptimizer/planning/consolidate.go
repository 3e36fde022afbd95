package planning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Parts of the cost of a move, as Karpenter counts it.
const (
	leastMoveCost     = 0.1
	deletionCostsOne  = 1 << 27
	prioritiesCostOne = 1 << 25
)

// moveCost is what moving the pod costs, in ordinary pods.
func moveCost(pod *snapshot.Pod) float64 {
	return max(leastMoveCost, 1+float64(pod.DeletionCost())/deletionCostsOne+float64(pod.Priority)/prioritiesCostOne)
}

// emptied is a node that a plan empties.
type emptied struct {
	name  string
	moves []plan.Step
	// gain is its share of the price of all nodes in use, over its moves' share of the cost of all moves.
	gain float64
}

// movesFrom are the plan's moves by the nodes that they leave.
func movesFrom(checked *plan.Plan) map[string][]plan.Step {
	leaving := map[string][]plan.Step{}
	for _, move := range checked.Moves {
		leaving[move.From] = append(leaving[move.From], move)
	}
	return leaving
}

// emptiedBy are the nodes that the plan empties, those that gain most first. Where no node in use has a price, each
// counts as one.
func (s *Session) emptiedBy(checked *plan.Plan) (nodes []emptied) {
	count, micros, _ := s.inUse(nil)
	allPrice, allMoves := float64(micros), 0.0
	if micros == 0 {
		allPrice = float64(count)
	}
	for _, pod := range s.Snapshot.Pods {
		if pod.Node != "" && pod.Immovable == "" {
			allMoves += moveCost(pod)
		}
	}
	after := s.Snapshot.InUse(checked.NodesAfter())
	for name, moves := range movesFrom(checked) {
		if _, stays := after[name]; stays {
			continue // its pods only make room
		}
		price, cost := 1.0, 0.0
		if micros > 0 {
			price = float64(s.Snapshot.Nodes[name].HourlyPriceMicros)
		}
		for _, move := range moves {
			cost += moveCost(move.Pod)
		}
		nodes = append(nodes, emptied{name, moves, price / allPrice / (cost / allMoves)})
	}
	slices.SortFunc(nodes, func(a, b emptied) int {
		return cmp.Or(cmp.Compare(b.gain, a.gain), cmp.Compare(len(a.moves), len(b.moves)), strings.Compare(a.name, b.name))
	})
	return nodes
}

// reduce turns the optimiser's plan into the one that is proposed: without the nodes that are not worth it, and without
// those that a rehearsal could not empty. The status says what is left, and of what it is proved best.
func (s *Session) reduce(ctx context.Context, checked *plan.Plan) (*plan.Plan, error) {
	s.Record.Status.Tiers = nil // they would prove nothing
	s.Record.Status.Consolidation = &packingplan.Consolidation{Certainty: packingplan.Reserved}
	kept := s.leaveSmallGains(s.emptiedBy(checked))
	if s.Policy() == plan.Drain {
		s.Record.Status.Consolidation.Certainty = packingplan.Rehearsed
		return s.rehearseDrain(ctx, kept)
	}
	s.leaveNodes()
	return plan.Check(s.Steps, s.Snapshot, plan.Consolidate)
}

// leaveSmallGains lists all nodes in the status, and returns those that gain as much as the plan asks for.
func (s *Session) leaveSmallGains(nodes []emptied) (kept []emptied) {
	least, err := strconv.ParseFloat(s.Record.Spec.LeastGain, 64)
	if err != nil {
		least = 0 // it is left out
	}
	for _, one := range nodes {
		told := packingplan.NodeToEmpty{Name: one.name, Moves: int32(len(one.moves)), State: packingplan.NodePlanned,
			Gain: strconv.FormatFloat(one.gain, 'f', 3, 64)}
		if price := s.Snapshot.Nodes[one.name].HourlyPriceMicros; price > 0 {
			told.HourlyPrice = packingplan.Price(price)
		}
		if one.gain < least {
			told.State, told.Message = packingplan.NodeNotWorthIt, "its gain is below "+s.Record.Spec.LeastGain
		} else {
			kept = append(kept, one)
		}
		s.Record.Status.Consolidation.Nodes = append(s.Record.Status.Consolidation.Nodes, told)
	}
	return kept
}

// leaveNodes leaves out the nodes that are not worth it. Units that only made room for others are left out where there
// is room without them.
func (s *Session) leaveNodes() {
	about := s.Record.Status.Consolidation
	switch len(about.OpenNodes()) {
	case len(about.Nodes):
		return
	case 0:
		s.Steps = nil
		return
	}
	leaves := func(step *packingplan.Step) bool {
		node := about.Of(step.From)
		return node != nil && node.State.Open()
	}
	units := slices.DeleteFunc(packingplan.Units(s.Steps), func(unit []*packingplan.Step) bool {
		return !slices.ContainsFunc(unit, func(step *packingplan.Step) bool {
			return leaves(step) || about.Of(step.From) == nil
		})
	})
	s.Steps = slices.Concat(units...)
	for _, unit := range units {
		if slices.ContainsFunc(unit, leaves) {
			continue
		}
		fewer := slices.DeleteFunc(slices.Clone(s.Steps), func(one *packingplan.Step) bool { return slices.Contains(unit, one) })
		if _, err := plan.Check(fewer, s.Snapshot, plan.Consolidate); err == nil {
			s.Steps = fewer
		}
	}
}

// rehearseDrain is the plan that a rehearsal of the other scheduler's part leads to. Nodes that it could not empty are
// given up before anything is done. What would only make room elsewhere is left out: nothing would be placed there.
func (s *Session) rehearseDrain(ctx context.Context, nodes []emptied) (*plan.Plan, error) {
	giveUp := func(name, why string) {
		node := s.Record.Status.Consolidation.Of(name)
		node.State, node.Message = packingplan.NodeGivenUp, packingplan.Shortened("the rehearsal could not empty it: "+why)
	}
	var order []rehearsal.Emptied
	for _, one := range nodes {
		if at := slices.IndexFunc(one.moves, func(move plan.Step) bool { return move.Unit != "" }); at >= 0 {
			giveUp(one.name, "another scheduler would place the pods of unit "+one.moves[at].Unit+" one by one")
			continue
		}
		order = append(order, rehearsal.Emptied{Node: one.name, Pods: s.largestFirst(one.moves)})
	}
	drained, err := (*s.Rehearser.Load()).Empty(ctx, order, s.idleNodes(), s.Record.Taint())
	if err != nil {
		return nil, err
	}
	s.Steps = nil
	for _, one := range order {
		if stuck := drained.Stuck[one.Node]; stuck != "" {
			giveUp(one.Node, stuck)
			continue
		}
		for _, pod := range one.Pods {
			s.Steps = append(s.Steps, &packingplan.Step{PodUID: string(pod.Object.UID), From: one.Node, To: drained.Places[pod.Object.UID]})
		}
	}
	return plan.Check(s.Steps, s.Snapshot, plan.Drain)
}

// idleNodes are those of the scope that are not in use: they are closed while the plan is carried out.
func (s *Session) idleNodes() (names []string) {
	used := s.Snapshot.InUse(nil)
	for name, node := range s.Snapshot.Nodes {
		if _, is := used[name]; !is && !node.Outside {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// rehearseAgain rehearses a recorded plan on the cluster as it is now.
func (s *Session) rehearseAgain(ctx context.Context, checked *plan.Plan) (*plan.Plan, error) {
	leaving := movesFrom(checked)
	var nodes []emptied
	for _, name := range s.Record.Status.Consolidation.OpenNodes() {
		nodes = append(nodes, emptied{name: name, moves: leaving[name]})
	}
	again, err := s.rehearseDrain(ctx, nodes)
	if err != nil {
		return nil, err
	}
	if again.Empty() {
		return nil, errors.New("the rehearsal could empty no node")
	}
	records.DescribePlan(&s.Record.Status, again)
	s.Record.Status.Consolidation.CountSaving(false)
	return again, nil
}

// largestFirst are the pods of the moves: those of the highest priority first, then those that are hardest to place.
func (s *Session) largestFirst(moves []plan.Step) []*snapshot.Pod {
	pods := make([]*snapshot.Pod, len(moves))
	for i, move := range moves {
		pods[i] = move.Pod
	}
	slices.SortFunc(pods, func(a, b *snapshot.Pod) int {
		room := s.Snapshot.Nodes[a.Node].Allocatable
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(b.Requests.ShareOf(room), a.Requests.ShareOf(room)),
			strings.Compare(klog.KObj(a.Object).String(), klog.KObj(b.Object).String()))
	})
	return pods
}

// describeConsolidation puts into the status what the plan saves. The bounds are the optimiser's, less the nodes outside
// of the scope that are in use, which its counts include. Where its problem lacks something of the cluster's, they are
// what the cluster's rules keep in use.
func (s *Session) describeConsolidation(checked *plan.Plan) {
	in, about := s.answer.Plan.GetNodesInUse(), s.Record.Status.Consolidation
	before, beforeMicros, outside := s.inUse(nil)
	after, afterMicros, _ := s.inUse(checked.NodesAfter())
	about.NodesBefore, about.NodesAfter = before, after
	about.NodesLowerBound, about.MovesLowerBound = max(0, in.GetLowerBound()-outside), in.GetMovesLowerBound()
	if beforeMicros > 0 {
		about.HourlyPriceBefore, about.HourlyPriceAfter = packingplan.Price(beforeMicros), packingplan.Price(afterMicros)
		about.HourlyPriceLowerBound = packingplan.Price(in.GetPriceLowerBoundMicros())
	}
	if narrowed := s.unprovedConsolidation(); len(narrowed.omitted) > 0 {
		nodes, micros, _ := s.count(s.Snapshot.KeptInUse())
		about.NodesLowerBound, about.MovesLowerBound = nodes, 0
		if beforeMicros > 0 {
			about.HourlyPriceLowerBound = packingplan.Price(micros)
		}
	}
	about.CountSaving(false)
}

// inUse counts the nodes of the scope in use after the changes, what they cost, and the other nodes in use.
func (s *Session) inUse(after map[types.UID]string) (nodes int32, micros int64, outside int32) {
	return s.count(sets.KeySet(s.Snapshot.InUse(after)))
}

// count counts those of the nodes that are in the scope, what they cost, and the others.
func (s *Session) count(names sets.Set[string]) (nodes int32, micros int64, outside int32) {
	for name := range names {
		node := s.Snapshot.Nodes[name]
		if node.Outside {
			outside++
			continue
		}
		nodes++
		micros += node.HourlyPriceMicros
	}
	return nodes, micros, outside
}

// unprovedConsolidation names what the optimiser's problem lacks of the cluster's, and proves nothing yet.
func (s *Session) unprovedConsolidation() optimality {
	made := optimality{consolidates: true, irremovable: s.irremovable()}
	made.omit(s.Snapshot.OmissionsAmongRunning(), s.moveLimit)
	made.leaveRefused(s.Snapshot, s.answer.Refusals)
	return made
}

// consolidationOptimality is what is proved of the plan: that no nodes in use are fewer, or cheaper, and that no fewer
// moves do.
func (s *Session) consolidationOptimality() optimality {
	made := s.unprovedConsolidation()
	in := s.answer.Plan.GetNodesInUse()
	if in != nil {
		least := in.After == in.LowerBound
		if in.PriceBeforeMicros > 0 {
			least = in.PriceAfterMicros == in.PriceLowerBoundMicros
		}
		made.solved = least && len(s.answer.Plan.Moves) == int(in.MovesLowerBound)
	}
	small, stuck := 0, 0
	if about := s.Record.Status.Consolidation; about != nil {
		for i := range about.Nodes {
			switch about.Nodes[i].State {
			case packingplan.NodeNotWorthIt:
				small++
			case packingplan.NodeGivenUp:
				stuck++
			}
		}
	}
	if small > 0 {
		made.omitted = append(made.omitted, fmt.Sprintf("%d nodes that gain too little", small))
	}
	if stuck > 0 {
		made.omitted = append(made.omitted, fmt.Sprintf("%d nodes that the rehearsal could not empty", stuck))
	}
	return made
}

// irremovable are the nodes of the scope that autoscalers may not remove, by name, each with the reason.
func (s *Session) irremovable() (nodes []string) {
	for name, node := range s.Snapshot.Nodes {
		if node.IrremovableReason != "" && !node.Outside {
			nodes = append(nodes, name+" ("+node.IrremovableReason+")")
		}
	}
	slices.Sort(nodes)
	return nodes
}
