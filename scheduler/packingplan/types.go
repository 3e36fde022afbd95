// Package packingplan keeps the PackingPlan objects: one for each solve, so that everything the
// optimiser did or would do can be read, watched and audited with kubectl.
package packingplan

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is the PackingPlan resource.
var Resource = schema.GroupVersionResource{Group: "stowage.dev", Version: "v1alpha1", Resource: "packingplans"}

// Kind is the kind of the objects.
const Kind = "PackingPlan"

// CreatedBy labels the objects that the scheduler creates for its own solves.
const (
	CreatedByLabel = "app.kubernetes.io/created-by"
	CreatedByValue = "stowage-scheduler"
)

// ExecutionMode says whether a plan is carried out.
type ExecutionMode string

const (
	DryRun  ExecutionMode = "DryRun"
	Execute ExecutionMode = "Execute"
)

// Phase is how far a plan has come.
type Phase string

// Phases. Completed, NoImprovement, Aborted and Failed are final.
const (
	Pending       Phase = "Pending"
	Solving       Phase = "Solving"
	Proposed      Phase = "Proposed"
	Executing     Phase = "Executing"
	Completed     Phase = "Completed"
	NoImprovement Phase = "NoImprovement"
	Aborted       Phase = "Aborted"
	Failed        Phase = "Failed"
)

// Final says that nothing more will happen.
func (p Phase) Final() bool {
	return p == Completed || p == NoImprovement || p == Aborted || p == Failed
}

// Spec is what is asked for.
type Spec struct {
	ExecutionMode    ExecutionMode `json:"executionMode,omitempty"`
	Trigger          string        `json:"trigger,omitempty"`
	TimeLimitSeconds *float64      `json:"timeLimitSeconds,omitempty"`
	Abort            bool          `json:"abort,omitempty"`
	// Objective is Place where it is left out.
	Objective Objective `json:"objective,omitempty"`
	// Maximize is for plans to place pods; empty: as the release says.
	Maximize Maximized `json:"maximize,omitempty"`
	Scope    `json:",inline"`
	// LeastGain is the least gain of a node that is emptied, as in "0.5"; empty: any. It and EmptiedNodes are for plans
	// that consolidate.
	LeastGain    string       `json:"leastGain,omitempty"`
	EmptiedNodes EmptiedNodes `json:"emptiedNodes,omitempty"`
}

// Status is what came of it.
type Status struct {
	Conditions     []metav1.Condition `json:"conditions,omitempty"`
	Phase          Phase              `json:"phase,omitempty"`
	SnapshotID     string             `json:"snapshotID,omitempty"`
	Writer         string             `json:"writer,omitempty"`
	Strategy       string             `json:"strategy,omitempty"`
	EndReason      string             `json:"endReason,omitempty"`
	Optimal        bool               `json:"optimal"`
	Message        string             `json:"message,omitempty"`
	StartTime      *metav1.Time       `json:"startTime,omitempty"`
	CompletionTime *metav1.Time       `json:"completionTime,omitempty"`
	SolveSeconds   float64            `json:"solveSeconds,omitempty"`
	Consolidation  *Consolidation     `json:"consolidation,omitempty"`
	Tiers          []Tier             `json:"tiers,omitempty"`
	Classes        []Class            `json:"classes,omitempty"`
	Steps          []*Step            `json:"-"`
	Lists          `json:",inline"`
	Protected      []Protected `json:"protected,omitempty"`
	Refusals       []Refusal   `json:"refusals,omitempty"`
	Objections     []Refusal   `json:"objections,omitempty"`
}

// Tier is the result for the pods of one priority and above.
type Tier struct {
	Priority     int32 `json:"priority"`
	PlacedBefore int32 `json:"placedBefore"`
	Placed       int32 `json:"placed"`
	UpperBound   int32 `json:"upperBound"`
	Optimal      bool  `json:"optimal"`
	// Devices is there if the plan maximizes devices. The bound and Optimal are proved of it, not of the pods.
	Devices *TierDevices `json:"devices,omitempty"`
}

// TierDevices are the devices that the pods of a tier with a node ask for, as in "7.5". A pod without devices counts as 0.01.
type TierDevices struct {
	PlacedBefore string `json:"placedBefore"`
	Placed       string `json:"placed"`
	// UpperBound is empty where something was left aside.
	UpperBound string `json:"upperBound,omitempty"`
}

// Class is what the pods of one class need. A restarted scheduler uses it to reserve their room: by then the moved pods
// may be gone and their replacements not created yet.
type Class struct {
	ID       string          `json:"id"`
	Priority int32           `json:"priority"`
	Requests v1.ResourceList `json:"requests,omitempty"`
}

// Protected counts the running pods that one rule protects from a plan.
type Protected struct {
	Reason     string `json:"reason"`
	Pods       int32  `json:"pods"`
	Example    string `json:"example"`
	InTheWayOf int32  `json:"inTheWayOf,omitempty"`
}

// Refusal is what the optimiser left alone, and why.
type Refusal struct {
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail,omitempty"`
}

// Types of conditions.
const (
	// Solved: the optimiser answered.
	Solved = "Solved"
	// Verified: the profile's own plugins agree with every placement.
	Verified = "Verified"
	// Optimal: it is proved of the cluster that no plan is better. Its message says what a weaker proof is about.
	Optimal = "Optimal"
	// Executed: everything has been carried out.
	Executed = "Executed"
)

// maxText is the longest free text, in bytes: an event with a longer note is refused.
const maxText = 1024

const cutOff = " ..."

// Shortened is the text, cut off where it is too long for an object.
func Shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText-len(cutOff)], "") + cutOff
}

// Set notes that a condition holds, or does not, for a reason in one word.
func (s *Status) Set(condition string, holds bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason,
		Message: Shortened(message), LastTransitionTime: metav1.NewTime(now)})
}
