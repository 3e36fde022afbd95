// Package plan reads the optimiser's plans and checks them completely.
//
// A Plan of this package has been checked against a snapshot:
//
//  1. It names that snapshot, and only pods and nodes of it, each pod once.
//  2. It places pods that wait and moves or evicts pods that run where it says, none of which
//     is immovable, needs what the contract cannot express, or goes where it was refused.
//  3. Every node has room for its pods once the plan is done, in every resource.
//  4. It takes no more of a disruption budget than that allows, all pods counted together.
//  5. Pods that share devices have a turn each, and devices that their node has.
//  6. It leaves enough pods of a gang with a node, or none, or the gang as it was.
//  7. It places strictly more pods of some priority, and for each higher one it neither places
//     fewer pods nor disrupts any; under the strict policy it evicts only if pods of strictly
//     higher priority than the evicted one are placed.
//
// Check runs again on a fresh snapshot right before a plan is carried out.
package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// MaxSteps is about as much as fits into one PackingPlan object.
const MaxSteps = 4000

// Policy says what a plan may do to running pods.
type Policy int

const (
	// Strict lets a running pod be left unplaced only for pods of strictly higher priority.
	Strict Policy = iota
	// Paper lets running pods of equal priority be traded.
	Paper
	// Consolidate lets pods be moved to empty nodes although no pod is gained; no pod is displaced.
	Consolidate
	// Drain is the same for pods that another scheduler places: it decides where they go.
	Drain
)

// Step is a step of a plan's object (packingplan.Step) with the pod that it names.
type Step struct {
	Pod      *snapshot.Pod
	From, To string
	Unit     string
	// Turn and Devices are as in the plan's object.
	Turn    int32
	Devices []string
}

// UnitName is empty where the pod alone is the unit.
func (s Step) UnitName() string { return s.Unit }

// Plan is a checked plan.
type Plan struct {
	Placements []Step
	Moves      []Step
	Evictions  []Step
	// Classes computes pod classes as in the plan's snapshot.
	Classes snapshot.Classes

	// carriedOn are the units that another process has begun.
	carriedOn sets.Set[string]
}

// Steps are all steps of the plan: placements, moves, evictions.
func (p *Plan) Steps() []Step { return slices.Concat(p.Placements, p.Moves, p.Evictions) }

// Units are all steps, by what is carried out together or not at all.
func (p *Plan) Units() [][]Step { return packingplan.Units(p.Steps()) }

// Empty says that the plan changes nothing.
func (p *Plan) Empty() bool { return len(p.Steps()) == 0 }

// Disrupted are the running pods that the plan takes off their nodes, moves first.
func (p *Plan) Disrupted() []*snapshot.Pod {
	pods := make([]*snapshot.Pod, 0, len(p.Moves)+len(p.Evictions))
	for _, step := range slices.Concat(p.Moves, p.Evictions) {
		pods = append(pods, step.Pod)
	}
	return pods
}

// Nodes are those that pods of the plan leave or arrive on, each once.
func (p *Plan) Nodes() []string {
	nodes := sets.New[string]()
	for _, step := range p.Steps() {
		nodes.Insert(step.From, step.To)
	}
	return nodes.Delete("").UnsortedList()
}

// NodesAfter is where the plan's pods are once it is done; "" for the evicted.
func (p *Plan) NodesAfter() map[types.UID]string {
	nodes := map[types.UID]string{}
	for _, step := range p.Steps() {
		nodes[step.Pod.Object.UID] = step.To
	}
	return nodes
}

// Decode reads a plan that was made for the snapshot. The error is a *RefusedError.
func Decode(message *contract.Plan, of *snapshot.Snapshot, policy Policy) (*Plan, error) {
	if message == nil {
		return &Plan{}, nil
	}
	if message.SnapshotId != of.ID {
		return nil, refuse(WrongSnapshot, "plan for snapshot %q, want %q", message.SnapshotId, of.ID)
	}
	checked, err := Check(StepsOf(message, of), of, policy)
	if err == nil && len(checked.Moves) != len(message.Moves) {
		return nil, refuse(UnknownNode, "a pod is moved from or to a node without a name")
	}
	return checked, err
}

// StepsOf are the steps of the optimiser's plan for the snapshot.
func StepsOf(message *contract.Plan, of *snapshot.Snapshot) (steps []*packingplan.Step) {
	devices := devicesOf(of)
	named := func(node string, indices []int32) []string {
		if len(indices) == 0 {
			return nil
		}
		return namesAt(devices(node), indices)
	}
	for _, one := range message.GetPlacements() {
		steps = append(steps, &packingplan.Step{PodUID: one.GetPodUid(), Unit: one.GetUnit(), To: one.GetNode(), Turn: one.GetTurn(),
			Devices: named(one.GetNode(), one.GetDevices())})
	}
	for _, one := range message.GetMoves() {
		steps = append(steps, &packingplan.Step{PodUID: one.GetPodUid(), Unit: one.GetUnit(), From: one.GetFromNode(), To: one.GetToNode(),
			Turn: one.GetTurn(), Devices: named(one.GetToNode(), one.GetDevices())})
	}
	for _, one := range message.GetEvictions() {
		steps = append(steps, &packingplan.Step{PodUID: one.GetPodUid(), Unit: one.GetUnit(), From: one.GetNode()})
	}
	return steps
}

// Check reads a plan on a snapshot that may be newer than the one it was made for. carriedOn are the units that another
// process has begun: what is left of them need not be worth it by itself. The error is a *RefusedError.
func Check(steps []*packingplan.Step, on *snapshot.Snapshot, policy Policy, carriedOn ...string) (*Plan, error) {
	made := &Plan{Classes: on.Classes, carriedOn: sets.New(carriedOn...)}
	if err := made.read(steps, on, policy); err != nil || made.Empty() {
		return made, err
	}
	for _, rule := range policy.rules() {
		if err := rule(made, on); err != nil {
			return nil, err
		}
	}
	return made, nil
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

// Reason is why a plan is not carried out.
type Reason string

// Reasons of refusal.
const (
	WrongSnapshot     Reason = "wrong-snapshot"
	TooLarge          Reason = "too-large"
	UnknownPod        Reason = "unknown-pod"
	UnknownNode       Reason = "unknown-node"
	NodeUnschedulable Reason = "node-unschedulable"
	NodeChanged       Reason = "node-changed"
	DuplicatePod      Reason = "duplicate-pod"
	NotPending        Reason = "not-pending"
	NotRunning        Reason = "not-running"
	WrongNode         Reason = "wrong-node"
	SameNode          Reason = "same-node"
	Immovable         Reason = "immovable"
	UnsupportedPod    Reason = "unsupported-pod"
	ForbiddenPair     Reason = "forbidden-pair"
	MixedUnits        Reason = "mixed-units"
	BrokenGang        Reason = "broken-gang"
	OverCapacity      Reason = "over-capacity"
	OverBudget        Reason = "over-budget"
	NotBetter         Reason = "not-better"
	UnjustEviction    Reason = "unjust-eviction"
	WrongTurn         Reason = "wrong-turn"
	UnknownDevice     Reason = "unknown-device"
)

// IsAboutNode says that a node takes no pods, whichever leave it.
func (r Reason) IsAboutNode() bool { return r == UnknownNode || r == NodeUnschedulable }

// RefusedError is the refusal of a plan, with a typed reason.
type RefusedError struct {
	Reason Reason
	Detail string
}

// Error names the reason and what is wrong.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("plan refused (%s): %s", e.Reason, e.Detail)
}

func refuse(reason Reason, format string, args ...any) error {
	return &RefusedError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
