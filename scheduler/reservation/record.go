package reservation

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
)

// DefaultTTL is how long a reservation lasts that says nothing about it.
const DefaultTTL = 24 * time.Hour

// Record is one Reservation object as it was last seen.
type Record struct {
	Spec   Spec
	Status Status
	object *unstructured.Unstructured
}

// Name is the object's name.
func (r *Record) Name() string { return r.object.GetName() }

// UID is the object's UID.
func (r *Record) UID() types.UID { return r.object.GetUID() }

// Created is when the object was created.
func (r *Record) Created() time.Time { return r.object.GetCreationTimestamp().Time }

// Plan is the name of the plan the reservation was made for, or "".
func (r *Record) Plan() string { return r.object.GetLabels()[PlanLabel] }

// Reference is what events about the reservation point at.
func (r *Record) Reference() *v1.ObjectReference {
	return &v1.ObjectReference{APIVersion: Resource.GroupVersion().String(), Kind: Kind, Name: r.Name(), UID: r.UID()}
}

// Requests is what the reservation is to hold.
func (r *Record) Requests() resources.Vector { return resources.OfPod(r.Pod()) }

// Pod is the pod that stands for the reservation where plugins are asked about it.
func (r *Record) Pod() *v1.Pod {
	pod := &v1.Pod{}
	if r.Spec.Template != nil {
		pod.ObjectMeta = *r.Spec.Template.ObjectMeta.DeepCopy()
		pod.Spec = *r.Spec.Template.Spec.DeepCopy()
	}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	pod.Name, pod.UID = "reservation-"+r.Name(), r.UID()
	pod.Spec.NodeName = ""
	return pod
}

// Wanted is the node that the template names, or "".
func (r *Record) Wanted() string {
	if r.Spec.Template == nil {
		return ""
	}
	return r.Spec.Template.Spec.NodeName
}

// Priority is that of the template's pod. Pods of a higher one are not kept out.
func (r *Record) Priority() int32 {
	if r.Spec.Template == nil || r.Spec.Template.Spec.Priority == nil {
		return 0
	}
	return *r.Spec.Template.Spec.Priority
}

// Expiry is when the reservation ends; ok is false if it never does.
func (r *Record) Expiry() (at time.Time, ok bool) {
	switch {
	case r.Spec.Expires != nil:
		return r.Spec.Expires.Time, true
	case r.Spec.TTL == nil:
		return r.object.GetCreationTimestamp().Add(DefaultTTL), true
	case r.Spec.TTL.Duration == 0:
		return time.Time{}, false
	}
	return r.object.GetCreationTimestamp().Add(r.Spec.TTL.Duration), true
}

// Set notes a condition. The time of its transition is that of the last change.
func (s *Status) Set(condition string, holds bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	next := Condition{Type: condition, Status: status, Reason: reason, Message: message,
		LastProbeTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now)}
	for i, known := range s.Conditions {
		if known.Type != condition {
			continue
		}
		if known.Status == status && known.Reason == reason && known.Message == message {
			return
		}
		if known.Status == status {
			next.LastTransitionTime = known.LastTransitionTime
		}
		s.Conditions[i] = next
		return
	}
	s.Conditions = append(s.Conditions, next)
}

// Condition finds a condition by its type, or returns nil.
func (s *Status) Condition(condition string) *Condition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == condition {
			return &s.Conditions[i]
		}
	}
	return nil
}

// Read reads an object of the API. The object is not kept.
func Read(object any) (*Record, error) {
	from, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("want a %s, got %T", Kind, object)
	}
	record := &Record{object: from.DeepCopy()}
	var content struct {
		Spec   Spec   `json:"spec"`
		Status Status `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, &content); err != nil {
		return nil, fmt.Errorf("%s %s: %w", Kind, from.GetName(), err)
	}
	record.Spec, record.Status = content.Spec, content.Status
	if record.Status.Phase == "" {
		record.Status.Phase = Pending
	}
	return record, nil
}

// DeepCopy is a status of its own.
func (s *Status) DeepCopy() *Status {
	copied := *s
	copied.Conditions = slices.Clone(s.Conditions)
	copied.CurrentOwners = slices.Clone(s.CurrentOwners)
	copied.Allocatable, copied.Allocated = s.Allocatable.DeepCopy(), s.Allocated.DeepCopy()
	return &copied
}

// Equal says whether both mean the same, the times of probes aside.
func (s *Status) Equal(other *Status) bool { return equality.Semantic.DeepEqual(s, other) }

// withStatus is the object with the record's present status.
func (r *Record) withStatus() (*unstructured.Unstructured, error) {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&r.Status)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", Kind, r.Name(), err)
	}
	object := r.object.DeepCopy()
	object.Object["status"] = status
	return object, nil
}
