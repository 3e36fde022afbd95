package plan

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Policy says what a plan may do to running pods.
type Policy int

const (
	// Strict lets a running pod be left unplaced only for pods of strictly higher priority.
	Strict Policy = iota
	// Paper lets running pods of equal priority be traded.
	Paper
	// Consolidate lets pods be moved to empty nodes although no pod is gained; no pod is displaced. Such plans are
	// never carried out: they only answer questions.
	Consolidate
)

// Placement gives a pending pod a node.
type Placement struct {
	Pod  *snapshot.Pod
	Node string
}

// Move evicts a running pod; its replacement is bound elsewhere.
type Move struct {
	Pod      *snapshot.Pod
	From, To string
}

// Eviction leaves a running pod unplaced.
type Eviction struct {
	Pod  *snapshot.Pod
	Node string
}

// Plan is a checked plan.
type Plan struct {
	SnapshotID string
	Placements []Placement
	Moves      []Move
	Evictions  []Eviction
	// Optimal says that, according to the optimiser, no plan is better in any tier.
	Optimal bool
	// Classes computes pod classes as in the plan's snapshot.
	Classes snapshot.Classes
}

// Empty says that the plan changes nothing.
func (p *Plan) Empty() bool {
	return len(p.Placements) == 0 && len(p.Moves) == 0 && len(p.Evictions) == 0
}

// Disrupted are the running pods that the plan takes off their nodes, moves first.
func (p *Plan) Disrupted() []*snapshot.Pod {
	pods := make([]*snapshot.Pod, 0, len(p.Moves)+len(p.Evictions))
	for _, move := range p.Moves {
		pods = append(pods, move.Pod)
	}
	for _, eviction := range p.Evictions {
		pods = append(pods, eviction.Pod)
	}
	return pods
}

// Nodes are those that pods of the plan leave or arrive on, each once.
func (p *Plan) Nodes() []string {
	nodes := sets.New[string]()
	for _, placement := range p.Placements {
		nodes.Insert(placement.Node)
	}
	for _, move := range p.Moves {
		nodes.Insert(move.From, move.To)
	}
	for _, eviction := range p.Evictions {
		nodes.Insert(eviction.Node)
	}
	return nodes.UnsortedList()
}

// NodesAfter is where the plan's pods are once it is done; "" for the evicted.
func (p *Plan) NodesAfter() map[types.UID]string {
	nodes := map[types.UID]string{}
	for _, placement := range p.Placements {
		nodes[placement.Pod.Object.UID] = placement.Node
	}
	for _, move := range p.Moves {
		nodes[move.Pod.Object.UID] = move.To
	}
	for _, eviction := range p.Evictions {
		nodes[eviction.Pod.Object.UID] = ""
	}
	return nodes
}

// Decode reads a plan that was made for the snapshot. The error is a *RefusedError.
func Decode(message *contract.Plan, of *snapshot.Snapshot, policy Policy) (*Plan, error) {
	if message == nil {
		return &Plan{SnapshotID: of.ID}, nil
	}
	if message.SnapshotId != of.ID {
		return nil, refuse(WrongSnapshot, "plan for snapshot %q, want %q", message.SnapshotId, of.ID)
	}
	return Check(message, of, policy)
}

// Check reads a plan on a snapshot that may be newer than the one it was made for. The error
// is a *RefusedError.
func Check(message *contract.Plan, on *snapshot.Snapshot, policy Policy) (*Plan, error) {
	reader := &reader{on: on, seen: map[types.UID]bool{}, plan: &Plan{
		SnapshotID: message.SnapshotId, Optimal: message.Optimal, Classes: on.Classes}}
	if err := reader.read(message); err != nil {
		return nil, err
	}
	if reader.plan.Empty() {
		return reader.plan, nil
	}
	for _, rule := range policy.rules() {
		if err := rule(reader.plan, on); err != nil {
			return nil, err
		}
	}
	return reader.plan, nil
}

// rules are those that a plan must keep, in the order in which they are looked at.
func (policy Policy) rules() []func(*Plan, *snapshot.Snapshot) error {
	rules := []func(*Plan, *snapshot.Snapshot) error{checkCapacity, checkBudgets}
	switch policy {
	case Consolidate:
		return append(rules, checkNoneDisplaced)
	case Paper:
		return append(rules, checkImprovement)
	default:
		return append(rules, checkImprovement, checkStrict)
	}
}

// CheckNodesUnchanged refuses a plan that sends pods to a node that has changed, or been added or removed, since the
// snapshot that the plan was made for.
func CheckNodesUnchanged(plan *Plan, before, now *snapshot.Snapshot) error {
	for _, node := range plan.NodesAfter() {
		if node == "" {
			continue
		}
		then, still := before.Nodes[node], now.Nodes[node]
		if then == nil || still == nil || then.State != still.State {
			return refuse(NodeChanged, "node %q changed while the plan was made", node)
		}
	}
	return nil
}
