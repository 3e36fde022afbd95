package reservation

import (
	"context"

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
