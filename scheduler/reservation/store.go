package reservation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/stowage/stowage/scheduler/customobject"
)

// Store writes Reservation objects.
type Store struct {
	objects customobject.Store[Spec, Status]
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store {
	return &Store{customobject.NewStore[Spec, Status](objectType, client)}
}

// Create makes an object. The name, labels and owners are those of the metadata.
func (s *Store) Create(ctx context.Context, metadata metav1.ObjectMeta, spec Spec) (*Record, error) {
	created, err := s.objects.Create(ctx, metadata, spec)
	if err != nil {
		return nil, err
	}
	return Read(created)
}

// WriteStatus writes the record's status, unless somebody changed the object meanwhile.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
	return s.objects.WriteStatus(ctx, &record.Object)
}

// DeletePlan removes all reservations of a plan.
func (s *Store) DeletePlan(ctx context.Context, plan string) error {
	if err := s.objects.DeleteSelected(ctx, PlanLabel+"="+plan); err != nil {
		return fmt.Errorf("deleting the reservations of plan %s: %w", plan, err)
	}
	return nil
}

// Delete removes the object; one that is gone already is fine, also if there is a namesake now.
func (s *Store) Delete(ctx context.Context, record *Record) error {
	uid := record.UID()
	err := s.objects.Delete(ctx, record.Name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}
