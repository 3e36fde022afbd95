// Package reservation is Koordinator's resource reservation (seed 001) on an unmodified scheduler:
// room on a node that is held for named owners, and for the pods of plans.
//
// A Reservation is an object of the API. What a plan holds is recorded only in its PackingPlan: the places of the pods
// that it sends to nodes, for as long as it is being carried out. The ledger contains both, and what pods have taken of
// them; it can be rebuilt from the objects and the annotations of the pods. In the process that carries a plan out, its
// places are those of the execution.
//
// Invariants:
//
//  1. A pod takes from one reservation or plan at most, and names it in an annotation.
//  2. The allocated amount of a reservation is the sum of the requests of its owners on its node that say they have
//     taken from it, or are being bound. A place of a plan is taken by one pod that the plan expects there.
//  3. The held amount of a reservation is its allocatable less its allocated amount, never negative; that of a plan
//     is the places that no pod has taken.
package reservation

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Resource is the Reservation resource.
var Resource = schema.GroupVersionResource{Group: "stowage.dev", Version: "v1alpha1", Resource: "reservations"}

// Kind is the kind of the objects.
const Kind = "Reservation"

// AllocatedAnnotation names the reservation or the plan that a pod took room from.
const AllocatedAnnotation = "stowage.dev/reservation-allocated"

// Phase is the state of a reservation.
type Phase string

// Phases (seed 001, ReservationPhase).
const (
	// Pending: it has no node yet.
	Pending Phase = "Pending"
	// Available: its owners may take from it.
	Available Phase = "Available"
	// Waiting: it has a node, but the room there is not free yet.
	Waiting Phase = "Waiting"
	// Failed: it expired or lost its node, and will be deleted.
	Failed Phase = "Failed"
)

// Spec is what to hold, and for which pods.
type Spec struct {
	// Template is a pod with the room to hold; its spec.nodeName may name the node.
	Template v1.PodTemplateSpec `json:"template"`
	// Owners are alternatives.
	Owners []Owner `json:"owners,omitempty"`
	// PreAllocation takes a node although the room is not free there yet.
	PreAllocation bool `json:"preAllocation,omitempty"`
	// TTL and Expires exclude each other; a TTL of 0 is none.
	TTL     *metav1.Duration `json:"ttl,omitempty"`
	Expires *metav1.Time     `json:"expires,omitempty"`
}

// Owner selects pods; what it names must all hold.
type Owner struct {
	Object        *v1.ObjectReference   `json:"object,omitempty"`
	Controller    *ControllerReference  `json:"controller,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ControllerReference is a controller of pods in one namespace, or in any if that is left out.
type ControllerReference struct {
	metav1.OwnerReference `json:",inline"`
	Namespace             string `json:"namespace,omitempty"`
}

// Status is the observed state.
type Status struct {
	Phase         Phase                `json:"phase,omitempty"`
	Conditions    []Condition          `json:"conditions,omitempty"`
	CurrentOwners []v1.ObjectReference `json:"currentOwners,omitempty"`
	NodeName      string               `json:"nodeName,omitempty"`
	Allocatable   v1.ResourceList      `json:"allocatable,omitempty"`
	Allocated     v1.ResourceList      `json:"allocated,omitempty"`
}

// Types of conditions and their reasons (seed 001, ReservationConditionType).
const (
	ConditionScheduled = "Scheduled"
	ConditionReady     = "Ready"

	ReasonScheduled     = "Scheduled"
	ReasonUnschedulable = "Unschedulable"
	ReasonAvailable     = "Available"
	ReasonWaiting       = "Waiting"
	ReasonExpired       = "Expired"
	ReasonNodeGone      = "NodeGone"
)

// Condition is one aspect of a reservation's state.
type Condition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
	LastProbeTime      metav1.Time            `json:"lastProbeTime,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitempty"`
}

// Taken is the reservation or the plan that a pod took room from, as in its annotation.
type Taken struct {
	Name string    `json:"name"`
	UID  types.UID `json:"uid"`
	// Planned says that it is a plan. It is not part of the annotation.
	Planned bool `json:"-"`
}

// TakenBy reads the pod's annotation. An annotation that cannot be read is ignored.
func TakenBy(pod *v1.Pod) (taken Taken, ok bool) {
	text, given := pod.Annotations[AllocatedAnnotation]
	if !given || json.Unmarshal([]byte(text), &taken) != nil || taken.UID == "" {
		return Taken{}, false
	}
	return taken, true
}

// Text is the annotation's value.
func (t Taken) Text() string {
	encoded, err := json.Marshal(t)
	if err != nil {
		return "" // two strings always marshal
	}
	return string(encoded)
}
