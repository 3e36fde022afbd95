package reservation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	Template *v1.PodTemplateSpec `json:"template,omitempty"`
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
