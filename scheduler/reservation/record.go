package reservation

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

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
	template := r.Spec.Template.DeepCopy()
	pod := &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace = cmp.Or(pod.Namespace, metav1.NamespaceDefault)
	pod.Name, pod.UID = "reservation-"+r.Name(), r.UID()
	pod.Spec.NodeName = ""
	return pod
}

// Priority is that of the template's pod. Pods of higher priority are not kept out.
func (r *Record) Priority() int32 { return ptr.Deref(r.Spec.Template.Spec.Priority, 0) }

// Expired says that the reservation has ended. One with a TTL of 0 never does.
func (r *Record) Expired(now time.Time) bool {
	if r.Spec.Expires != nil {
		return !now.Before(r.Spec.Expires.Time)
	}
	ttl := ptr.Deref(r.Spec.TTL, metav1.Duration{Duration: DefaultTTL}).Duration
	return ttl != 0 && !now.Before(r.Created().Add(ttl))
}

// Set sets a condition. Its transition time is that of the last change.
func (s *Status) Set(condition string, holds bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	next := Condition{Type: condition, Status: status, Reason: reason, Message: message,
		LastProbeTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now)}
	known := s.Condition(condition)
	switch {
	case known == nil:
		s.Conditions = append(s.Conditions, next)
		return
	case known.Status == status && known.Reason == reason && known.Message == message:
		return
	case known.Status == status:
		next.LastTransitionTime = known.LastTransitionTime
	}
	*known = next
}

// Condition finds a condition by its type, or returns nil.
func (s *Status) Condition(condition string) *Condition {
	if at := slices.IndexFunc(s.Conditions, func(one Condition) bool { return one.Type == condition }); at >= 0 {
		return &s.Conditions[at]
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

// Store writes the objects.
type Store = customobject.Store[Spec, Status]

// NewStore writes through the client.
func NewStore(client dynamic.Interface) Store {
	return customobject.NewStore[Spec, Status](objectType, client)
}
