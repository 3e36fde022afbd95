package packingpolicy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// objectType is what the API calls the objects.
var objectType = customobject.Type{Resource: Resource, Kind: Kind}

// Store writes the statuses of policies.
type Store = customobject.Store[Spec, Status]

// NewStore writes through the client.
func NewStore(client dynamic.Interface) Store {
	return customobject.NewStore[Spec, Status](objectType, client)
}

// Record is one PackingPolicy object as it was last seen.
type Record struct {
	customobject.Object[Spec, Status]
}

// NewInformer watches the policies. It holds *Record values, which must not be changed: Read makes a copy.
func NewInformer(client dynamic.Interface) cache.SharedIndexInformer {
	return customobject.NewInformer(objectType, client, Read)
}

// Read reads an object of the API or a record, which must not be changed afterwards. What the API server fills in is
// filled in here for objects that are older than the field.
func Read(object any) (*Record, error) {
	read, err := customobject.Read[Spec, Status](objectType, object)
	if err != nil {
		return nil, err
	}
	if read.Spec.Approval == "" {
		read.Spec.Approval = Manual
	}
	if read.Spec.Objective == "" {
		read.Spec.Objective = packingplan.Consolidate
	}
	return &Record{*read}, nil
}

// Kept is how many windows the status lists.
func (r *Record) Kept() int {
	if limit := r.Spec.HistoryLimit; limit != nil {
		return int(*limit)
	}
	return 10
}

// MovesLeft is how many moves a window with so many may have yet; nil is any number.
func (r *Record) MovesLeft(moves int32) *int32 {
	if r.Spec.MaxMovesPerWindow == nil {
		return nil
	}
	left := max(0, *r.Spec.MaxMovesPerWindow-moves)
	return &left
}

// PlanSpec is what a plan of the policy is asked for, with at most so many moves; nil is any number.
func (r *Record) PlanSpec(moves *int32) packingplan.Spec {
	mode := packingplan.DryRun
	if r.Spec.Approval == Automatic {
		mode = packingplan.Execute
	}
	return packingplan.Spec{
		ExecutionMode: mode, Trigger: Trigger, TimeLimitSeconds: r.Spec.TimeLimitSeconds, Objective: r.Spec.Objective,
		Scope: packingplan.Scope{SchedulerNames: r.Spec.SchedulerNames, NodeSelector: r.Spec.NodeSelector,
			NamespaceSelector: r.Spec.NamespaceSelector, MaxMoves: moves, CoolDownSeconds: r.Spec.CoolDownSeconds},
		Maximize: r.Spec.Maximize, LeastGain: r.Spec.LeastGain, EmptiedNodes: r.Spec.EmptiedNodes,
	}
}

// Types of conditions.
const (
	// Accepted: the policy can be read. Its message says what is wrong otherwise.
	Accepted = "Accepted"
	// Active: a window is open.
	Active = "Active"
)

// Set notes that a condition holds, or does not, for a reason in one word.
func (s *Status) Set(condition string, holds bool, reason, message string, generation int64, now time.Time) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason,
		Message: packingplan.Shortened(message), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now)})
}
