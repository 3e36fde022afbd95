package packingplan

import "slices"

// State is how far a move or an eviction has come. A placement has none, unless it is not needed.
type State string

// States of steps.
const (
	// Waiting to be evicted.
	Waiting State = "Waiting"
	// Evicted by the API; the pod may still be terminating.
	Evicted State = "Evicted"
	// Gone from its node.
	Gone State = "Gone"
	// Bound is a move whose replacement has its node.
	Bound State = "Bound"
	// NotNeeded is an eviction that is not carried out, since there is room without it, a move whose pod stays in the place
	// that was another pod's target, or a placement for which no pod comes any more.
	NotNeeded State = "NotNeeded"
)

// Disrupted says that the pod was taken off its node.
func (s State) Disrupted() bool { return s == Evicted || s == Gone || s == Bound }

// Step is what a plan does with one pod. A placement gives a waiting pod a node: From is empty. A move evicts a running
// one and binds its replacement elsewhere. An eviction leaves it unplaced: To is empty. Objects list the three apart.
type Step struct {
	// Unit is common to steps that are carried out together or not at all; empty where the pod alone is the unit.
	// The optimiser sets it: gang/<namespace>/<name> for the pods of a pod group.
	Unit     string `json:"unit,omitempty"`
	Pod      string `json:"pod"`
	PodUID   string `json:"podUID"`
	OwnerUID string `json:"ownerUID,omitempty"`
	Class    string `json:"class,omitempty"`
	From     string `json:"-"`
	To       string `json:"-"`
	State    State  `json:"state,omitempty"`
	// Turn is when the pod comes to its node among those that share devices there, which the scheduler gives to whoever comes
	// first: all that leave the node go before, and those with lower turns come before. 0: the order does not matter.
	Turn int32 `json:"turn,omitempty"`
	// Devices are those that the pod gets in this order.
	Devices []string `json:"devices,omitempty"`
}

// UnitName is empty where the pod alone is the unit.
func (s *Step) UnitName() string { return s.Unit }

// Units groups steps by their units, in the order of the first step of each.
func Units[S interface{ UnitName() string }](steps []S) (units [][]S) {
	index := map[string]int{}
	for _, step := range steps {
		at, known := index[step.UnitName()]
		if !known || step.UnitName() == "" {
			at, units = len(units), append(units, nil)
			index[step.UnitName()] = at
		}
		units[at] = append(units[at], step)
	}
	return units
}

func (s *Status) Placements() []*Step { return s.where(func(one *Step) bool { return one.From == "" }) }

func (s *Status) Moves() []*Step {
	return s.where(func(one *Step) bool { return one.From != "" && one.To != "" })
}

func (s *Status) where(holds func(*Step) bool) []*Step {
	return slices.DeleteFunc(slices.Clone(s.Steps), func(one *Step) bool { return !holds(one) })
}

// Lists are the steps as objects have them. They are empty but for an object that is read or written.
type Lists struct {
	Placements []Listed `json:"placements,omitempty"`
	Moves      []Listed `json:"moves,omitempty"`
	Evictions  []Listed `json:"evictions,omitempty"`
}

// Listed is a step in one of the lists.
type Listed struct {
	Step     `json:",inline"`
	Node     string `json:"node,omitempty"`
	FromNode string `json:"fromNode,omitempty"`
	ToNode   string `json:"toNode,omitempty"`
}

// Stored is the status as its object has it.
func (s *Status) Stored() *Status {
	stored := *s
	lists := &stored.Lists
	for _, step := range s.Steps {
		switch {
		case step.From == "":
			lists.Placements = append(lists.Placements, Listed{Step: *step, Node: step.To})
		case step.To == "":
			lists.Evictions = append(lists.Evictions, Listed{Step: *step, Node: step.From})
		default:
			lists.Moves = append(lists.Moves, Listed{Step: *step, FromNode: step.From, ToNode: step.To})
		}
	}
	return &stored
}

// takeLists turns the lists of an object that was read into steps.
func (s *Status) takeLists() {
	add := func(step Step, from, to string) {
		step.From, step.To = from, to
		s.Steps = append(s.Steps, &step)
	}
	lists := s.Lists
	s.Lists = Lists{}
	for _, one := range lists.Placements {
		add(one.Step, "", one.Node)
	}
	for _, one := range lists.Moves {
		add(one.Step, one.FromNode, one.ToNode)
	}
	for _, one := range lists.Evictions {
		add(one.Step, one.Node, "")
	}
}
