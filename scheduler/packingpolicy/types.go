// Package packingpolicy keeps the PackingPolicy objects: when plans are made without anybody asking, about what, and what
// has come of it.
package packingpolicy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// Resource is the PackingPolicy resource.
var Resource = schema.GroupVersionResource{Group: "stowage.dev", Version: "v1alpha1", Resource: "packingpolicies"}

// Kind is the kind of the objects.
const Kind = "PackingPolicy"

const (
	// PolicyLabel names the policy on its plans.
	PolicyLabel = "stowage.dev/policy"
	// WindowAnnotation is when the window of a policy's plan began, as in RFC 3339.
	WindowAnnotation = "stowage.dev/window"
	// Trigger is that of a policy's plans.
	Trigger = "Policy"
)

// Approval says who lets a policy's plans be carried out.
type Approval string

const (
	// Manual proposes plans; a user approves each.
	Manual Approval = "Manual"
	// Automatic carries them out.
	Automatic Approval = "Automatic"
)

// Spec is what is asked for.
type Spec struct {
	Scope             `json:",inline"`
	Windows           []Opening `json:"windows"`
	Approval          Approval  `json:"approval,omitempty"`
	Suspend           bool      `json:"suspend,omitempty"`
	MaxMovesPerWindow *int32    `json:"maxMovesPerWindow,omitempty"`
	HistoryLimit      *int32    `json:"historyLimit,omitempty"`
}

// Scope is what a policy hands on to each of its plans.
type Scope struct {
	Objective         packingplan.Objective    `json:"objective,omitempty"`
	Maximize          packingplan.Maximized    `json:"maximize,omitempty"`
	SchedulerNames    []string                 `json:"schedulerNames,omitempty"`
	NodeSelector      *metav1.LabelSelector    `json:"nodeSelector,omitempty"`
	NamespaceSelector *metav1.LabelSelector    `json:"namespaceSelector,omitempty"`
	LeastGain         string                   `json:"leastGain,omitempty"`
	EmptiedNodes      packingplan.EmptiedNodes `json:"emptiedNodes,omitempty"`
	CoolDownSeconds   *int32                   `json:"coolDownSeconds,omitempty"`
	TimeLimitSeconds  *float64                 `json:"timeLimitSeconds,omitempty"`
}

// Opening is when windows open, and for how long.
type Opening struct {
	// Schedule is in the five fields of cron, TimeZone a name of the IANA database; UTC if empty.
	Schedule        string `json:"schedule"`
	TimeZone        string `json:"timeZone,omitempty"`
	DurationSeconds int32  `json:"durationSeconds"`
}

// WindowPhase is how far a window has come.
type WindowPhase string

const (
	// Open: plans may be made and carried out.
	Open WindowPhase = "Open"
	// Closed: it ended.
	Closed WindowPhase = "Closed"
	// Missed: no scheduler led while it was open, or the policy was suspended.
	Missed WindowPhase = "Missed"
)

// Status is what has come of the policy.
type Status struct {
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	// Since is when the policy began to count windows: those that began before are none of it.
	Since      *metav1.Time `json:"since,omitempty"`
	NextWindow *metav1.Time `json:"nextWindow,omitempty"`
	// Windows are the last ones, the newest first.
	Windows []Window `json:"windows,omitempty"`
	// Of all windows, also those that are not listed any more.
	Moves        int64 `json:"moves,omitempty"`
	NodesEmptied int64 `json:"nodesEmptied,omitempty"`
	// HourlySaving is what the nodes emptied in the last window with any cost, in whatever currency their prices are.
	HourlySaving string `json:"hourlySaving,omitempty"`
}

// Window is one window of a policy.
type Window struct {
	Start metav1.Time `json:"start"`
	End   metav1.Time `json:"end"`
	Phase WindowPhase `json:"phase"`
	Plans []Plan      `json:"plans,omitempty"`
	Moves int32       `json:"moves"`
	// NodesEmptied are those that its plans emptied, and what an hour of them costs.
	NodesEmptied int32  `json:"nodesEmptied"`
	HourlySaving string `json:"hourlySaving,omitempty"`
	// Refused is what the plans left alone, by the reason.
	Refused []Refused `json:"refused,omitempty"`
	Message string    `json:"message,omitempty"`
}

// Refused counts what plans left alone for one reason: pods by the rule that protects them, nodes by what kept them.
type Refused struct {
	Reason  string `json:"reason"`
	Count   int32  `json:"count"`
	Example string `json:"example,omitempty"`
}

// Plan is what came of one plan of a window.
type Plan struct {
	Name         string            `json:"name"`
	Phase        packingplan.Phase `json:"phase,omitempty"`
	Moves        int32             `json:"moves"`
	NodesEmptied int32             `json:"nodesEmptied"`
	HourlySaving string            `json:"hourlySaving,omitempty"`
	// EndedAt is when it ended, Aborted whether somebody asked for that.
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	Aborted bool         `json:"aborted,omitempty"`
}
