// Package packingpolicy reads PackingPolicy objects: each says when plans may be made, how many pods they may move, and
// what for.
package packingpolicy

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// Resource is the PackingPolicy resource.
var Resource = schema.GroupVersionResource{Group: "stowage.dev", Version: "v1alpha1", Resource: "packingpolicies"}

// Kind is the kind of the objects.
const Kind = "PackingPolicy"

var objectType = customobject.Type{Resource: Resource, Kind: Kind}

// Approval says who has a plan carried out.
type Approval string

const (
	// Manual leaves plans proposed, for a user to approve.
	Manual Approval = "Manual"
	// Automatic has them carried out.
	Automatic Approval = "Automatic"
)

// Spec is what a policy asks for. The API server has filled in the defaults of the CRD.
type Spec struct {
	Objective         packingplan.Objective `json:"objective"`
	Approval          Approval              `json:"approval,omitempty"`
	Suspend           bool                  `json:"suspend,omitempty"`
	TimeZone          string                `json:"timeZone,omitempty"`
	Windows           []WindowSpec          `json:"windows"`
	IntervalSeconds   int32                 `json:"intervalSeconds,omitempty"`
	Budget            Budget                `json:"budget,omitempty"`
	MinGainPerMove    float64               `json:"minGainPerMove"`
	CoolDownSeconds   float64               `json:"coolDownSeconds"`
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	TimeLimitSeconds  *float64              `json:"timeLimitSeconds,omitempty"`
}

// WindowSpec is a window that opens by a schedule.
type WindowSpec struct {
	// Schedule is in cron's five fields, or one of cron's names for such.
	Schedule        string `json:"schedule"`
	DurationSeconds int32  `json:"durationSeconds"`
}

// Budget bounds the running pods that are moved.
type Budget struct {
	MaxMovesPerWindow int32 `json:"maxMovesPerWindow"`
	MaxMovesPerPlan   int32 `json:"maxMovesPerPlan"`
}

// Status is what has come of a policy.
type Status struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	// Window is the one that is open.
	Window     *Window     `json:"window,omitempty"`
	LastWindow *Window     `json:"lastWindow,omitempty"`
	NextWindow *NextWindow `json:"nextWindow,omitempty"`
	LastPlan   *LastPlan   `json:"lastPlan,omitempty"`
}

// Window is a window and what was done in it.
type Window struct {
	Opened metav1.Time `json:"opened"`
	Ends   metav1.Time `json:"ends"`
	// Plans counts those that were asked for; the rest is counted when a plan has ended.
	Plans        int32 `json:"plans"`
	Moves        int32 `json:"moves"`
	NodesEmptied int32 `json:"nodesEmptied"`
	PodsPlaced   int32 `json:"podsPlaced"`
}

// NextWindow is the window that opens next.
type NextWindow struct {
	Opens metav1.Time `json:"opens"`
	Ends  metav1.Time `json:"ends"`
}

// LastPlan is the newest plan of a policy.
type LastPlan struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid,omitempty"`
	// Window is when its window opened.
	Window  metav1.Time       `json:"window"`
	Phase   packingplan.Phase `json:"phase,omitempty"`
	Message string            `json:"message,omitempty"`
	Ended   *metav1.Time      `json:"ended,omitempty"`
	// Moves are those that it was given as its budget, and from its end on those that it made.
	Moves           int32  `json:"moves"`
	NodesBefore     *int32 `json:"nodesBefore,omitempty"`
	NodesAfter      *int32 `json:"nodesAfter,omitempty"`
	NodesLowerBound *int32 `json:"nodesLowerBound,omitempty"`
	PodsPlaced      int32  `json:"podsPlaced"`
}

// Deleted is the phase of a plan that went before it had ended.
const Deleted packingplan.Phase = "Deleted"

// Open says that the plan may still do something.
func (p *LastPlan) Open() bool { return p != nil && p.Phase != Deleted && !p.Phase.Final() }

// Types of conditions.
const (
	// Valid: the windows can be read.
	Valid = "Valid"
	// WindowOpen: a window is open.
	WindowOpen = "WindowOpen"
	// Planning: a plan is under way. If it is false, its reason says why none is made.
	Planning = "Planning"
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

// Record is one PackingPolicy object as it was last seen.
type Record struct {
	customobject.Object[Spec, Status]
}

// Read reads an object of the API or a record, which must not be changed afterwards.
func Read(object any) (*Record, error) {
	read, err := customobject.Read[Spec, Status](objectType, object)
	if err != nil {
		return nil, err
	}
	return &Record{*read}, nil
}

// NewInformer watches the policies. It holds *Record values, which must not be changed: Read makes a copy.
func NewInformer(client dynamic.Interface) cache.SharedIndexInformer {
	return customobject.NewInformer(objectType, client, Read)
}

// NewStore writes the status of policies.
func NewStore(client dynamic.Interface) customobject.Store[Spec, Status] {
	return customobject.NewStore[Spec, Status](objectType, client)
}
