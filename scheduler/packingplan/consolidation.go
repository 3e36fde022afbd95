package packingplan

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Objective is what a plan is for.
type Objective string

const (
	// Place gives waiting pods a node. It is meant where nothing is said.
	Place Objective = "Place"
	// Consolidate empties nodes, the dearest for the fewest moves.
	Consolidate Objective = "Consolidate"
)

// Maximized is what plans that give waiting pods a node maximize, tier by tier.
type Maximized string

const (
	// Pods counts each pod that has a node as one. It is meant where nothing is said.
	Pods Maximized = "Pods"
	// Devices counts the devices that the pods with a node ask for, whole ones and parts. A pod without devices counts as a
	// hundredth of one.
	Devices Maximized = "Devices"
)

// EmptiedNodes says what becomes of emptied nodes.
type EmptiedNodes string

const (
	// Taint keeps new pods off by the taint EmptyingTaint. It is meant where nothing is said.
	Taint EmptiedNodes = "Taint"
	// Cordon makes the nodes unschedulable.
	Cordon EmptiedNodes = "Cordon"
	// Keep leaves the nodes as they were; they have the taint only while the plan is carried out.
	Keep EmptiedNodes = "Keep"
)

// EmptyingTaint is on the nodes that a plan empties, with the plan's name as its value, and the key of the annotation on
// those that the plan has cordoned instead. EmptiedLabel, with the same value, and EmptiedAtAnnotation are on the nodes
// that it has emptied.
const (
	EmptyingTaint       = "stowage.dev/emptying"
	EmptiedLabel        = "stowage.dev/emptied"
	EmptiedAtAnnotation = "stowage.dev/emptied-at"
)

// Scope is what a plan may touch, beside the rules of the release.
type Scope struct {
	// SchedulerNames are the schedulers whose pods may be moved; none: only the release's own.
	SchedulerNames []string `json:"schedulerNames,omitempty"`
	// NodeSelector selects the nodes that are emptied, and between which pods move; nil: all.
	NodeSelector *metav1.LabelSelector `json:"nodeSelector,omitempty"`
	// NamespaceSelector selects the namespaces whose pods are moved; nil: all that the release may touch.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// MaxMoves is within what the release allows; nil: as it says.
	MaxMoves *int32 `json:"maxMoves,omitempty"`
	// CoolDownSeconds is how long pods stay where they are that an earlier plan has moved; nil: not at all.
	CoolDownSeconds *int32 `json:"coolDownSeconds,omitempty"`
}

// Certainty is how sure it is that the moved pods find a place.
type Certainty string

const (
	// Reserved: the release's own scheduler steers each replacement into room that is held for it.
	Reserved Certainty = "Reserved"
	// Rehearsed: another scheduler places the replacements. A rehearsal found a place for each, but nothing is held.
	Rehearsed Certainty = "Rehearsed"
)

// NodeState is how far a node has come.
type NodeState string

// States of nodes. Emptied, GivenUp and NotWorthIt are final.
const (
	NodePlanned  NodeState = "Planned"
	NodeEmptying NodeState = "Emptying"
	NodeEmptied  NodeState = "Emptied"
	NodeGivenUp  NodeState = "GivenUp"
	// NodeNotWorthIt nodes could be emptied, but gain less than the plan asks for. Their pods stay.
	NodeNotWorthIt NodeState = "NotWorthIt"
)

// Open says that the node is still to be emptied.
func (s NodeState) Open() bool { return s == NodePlanned || s == NodeEmptying }

// Consolidation is what a plan that consolidates would do, and has done.
type Consolidation struct {
	NodesBefore           int32         `json:"nodesBefore"`
	NodesAfter            int32         `json:"nodesAfter"`
	NodesLowerBound       int32         `json:"nodesLowerBound"`
	MovesLowerBound       int32         `json:"movesLowerBound"`
	HourlyPriceBefore     string        `json:"hourlyPriceBefore,omitempty"`
	HourlyPriceAfter      string        `json:"hourlyPriceAfter,omitempty"`
	HourlyPriceLowerBound string        `json:"hourlyPriceLowerBound,omitempty"`
	HourlySaving          string        `json:"hourlySaving,omitempty"`
	Certainty             Certainty     `json:"certainty,omitempty"`
	Nodes                 []NodeToEmpty `json:"nodes,omitempty"`
}

// NodeToEmpty is one node of such a plan.
type NodeToEmpty struct {
	Name        string    `json:"name"`
	HourlyPrice string    `json:"hourlyPrice,omitempty"`
	Moves       int32     `json:"moves"`
	Gain        string    `json:"gain,omitempty"`
	State       NodeState `json:"state"`
	Message     string    `json:"message,omitempty"`
}

// Of is the node of that name, or nil.
func (c *Consolidation) Of(name string) *NodeToEmpty {
	if at := slices.IndexFunc(c.Nodes, func(one NodeToEmpty) bool { return one.Name == name }); at >= 0 {
		return &c.Nodes[at]
	}
	return nil
}

// OpenNodes are the names of the nodes that are still to be emptied, in the plan's order.
func (c *Consolidation) OpenNodes() (names []string) {
	for i := range c.Nodes {
		if c.Nodes[i].State.Open() {
			names = append(names, c.Nodes[i].Name)
		}
	}
	return names
}

// Price is a price in the form of the API: as many decimals as it has, at most six.
func Price(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64)
}

// CountSaving adds up what the nodes cost that are emptied, or would be as long as the plan has not begun.
func (c *Consolidation) CountSaving(begun bool) {
	if c.HourlyPriceBefore == "" {
		return
	}
	var micros int64
	for i := range c.Nodes {
		node := &c.Nodes[i]
		if node.State == NodeEmptied || !begun && node.State.Open() {
			micros += Micros(node.HourlyPrice)
		}
	}
	c.HourlySaving = Price(micros)
}

// Micros is a price of the API in millionths; 0 where there is none.
func Micros(price string) int64 {
	value, err := strconv.ParseFloat(price, 64)
	if err != nil {
		return 0
	}
	return int64(value*1e6 + 0.5)
}

// Consolidates says that the plan empties nodes.
func (r *Record) Consolidates() bool { return r.Spec.Objective == Consolidate }

// PlacedElsewhere says that another scheduler places the plan's pods: no room is held for them.
func (r *Record) PlacedElsewhere() bool {
	return r.Status.Consolidation != nil && r.Status.Consolidation.Certainty == Rehearsed
}
