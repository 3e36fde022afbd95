package packingplan

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	"github.com/stowage/stowage/scheduler/customobject"
)

// suffixLength makes a clash of two plans' names as good as impossible.
const suffixLength = 8

// Store writes PackingPlan objects.
type Store struct {
	objects customobject.Store[Spec, Status]
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store {
	return &Store{customobject.NewStore[Spec, Status](objectType, client)}
}

// Create makes an object for a solve of the scheduler's own.
func (s *Store) Create(ctx context.Context, spec Spec) (*Record, error) {
	created, err := s.objects.Create(ctx, metav1.ObjectMeta{
		Name:   "plan-" + rand.String(suffixLength),
		Labels: map[string]string{CreatedByLabel: CreatedByValue},
	}, spec)
	if err != nil {
		return nil, err
	}
	return Read(created)
}

// WriteStatus writes the record's status. Somebody else's change to the object is read and
// kept, save for the status, which is the scheduler's alone.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
	err := s.objects.WriteStatus(ctx, &record.Object)
	if !apierrors.IsConflict(err) {
		return err
	}
	if err := s.objects.LookAgain(ctx, &record.Object); err != nil {
		return err
	}
	return s.objects.WriteStatus(ctx, &record.Object)
}

// Delete removes the object; one that is gone already is fine.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.objects.Delete(ctx, name, metav1.DeleteOptions{})
}
