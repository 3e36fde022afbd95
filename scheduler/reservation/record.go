package reservation

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
)

// DefaultTTL is how long a reservation lasts by default.
const DefaultTTL = 24 * time.Hour

// objectType is what the API calls the objects.
var objectType = customobject.Type{Resource: Resource, Kind: Kind}

// Record is one Reservation object as it was last seen.
type Record struct {
	customobject.Object[Spec, Status]
}

// Pod is the pod with which plugins choose a node for the reservation.
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

// Priority is that of the template's pod. Pods of higher priority are not kept out.
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
		return r.Created().Add(DefaultTTL), true
	case r.Spec.TTL.Duration == 0:
		return time.Time{}, false
	}
	return r.Created().Add(r.Spec.TTL.Duration), true
}

// Set sets a condition. Its transition time is that of the last change.
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

// NewInformer watches the reservations. It holds *Record values, which must not be changed: Read makes a copy.
func NewInformer(client dynamic.Interface) cache.SharedIndexInformer {
	return customobject.NewInformer(objectType, client, Read)
}

// Read reads an object of the API or a record, which must not be changed afterwards.
func Read(object any) (*Record, error) {
	read, err := customobject.Read[Spec, Status](objectType, object)
	if err != nil {
		return nil, err
	}
	if read.Status.Phase == "" {
		read.Status.Phase = Pending
	}
	return &Record{*read}, nil
}

// Copy is a record whose status may be changed.
func (r *Record) Copy() *Record {
	copied := *r
	copied.Status = *r.Status.DeepCopy()
	return &copied
}

// DeepCopy is an independent copy.
func (s *Status) DeepCopy() *Status {
	copied := *s
	copied.Conditions = slices.Clone(s.Conditions)
	copied.CurrentOwners = slices.Clone(s.CurrentOwners)
	copied.Allocatable, copied.Allocated = s.Allocatable.DeepCopy(), s.Allocated.DeepCopy()
	return &copied
}

// Equal says whether both are semantically equal.
func (s *Status) Equal(other *Status) bool { return equality.Semantic.DeepEqual(s, other) }

// Store writes Reservation objects.
type Store struct {
	objects customobject.Store[Spec, Status]
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store {
	return &Store{customobject.NewStore[Spec, Status](objectType, client)}
}

// WriteStatus writes the record's status, unless the object has been changed meanwhile.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
	return s.objects.WriteStatus(ctx, &record.Object)
}

// Delete removes the object. It is no error if the object is gone, or another one has its name by now.
func (s *Store) Delete(ctx context.Context, record *Record) error {
	uid := record.UID()
	err := s.objects.Delete(ctx, record.Name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
