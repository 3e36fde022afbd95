package packingplan

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"
)

// suffixLength makes a clash of two plans' names as good as impossible.
const suffixLength = 8

// Store writes PackingPlan objects.
type Store struct {
	api dynamic.ResourceInterface
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store { return &Store{client.Resource(Resource)} }

// Create makes an object for a solve of the scheduler's own.
func (s *Store) Create(ctx context.Context, spec Spec) (*Record, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", Kind, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetAPIVersion(Resource.GroupVersion().String())
	object.SetKind(Kind)
	object.SetName("plan-" + rand.String(suffixLength))
	object.SetLabels(map[string]string{CreatedByLabel: CreatedByValue})
	created, err := s.api.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", Kind, err)
	}
	return Read(created)
}

// WriteStatus writes the record's status. Somebody else's change to the object is read and
// kept, save for the status, which is the scheduler's alone.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
	err := s.tryStatus(ctx, record)
	if apierrors.IsConflict(err) {
		latest, err := s.api.Get(ctx, record.Name(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading %s %s: %w", Kind, record.Name(), err)
		}
		record.object = latest
		return s.tryStatus(ctx, record)
	}
	return err
}

func (s *Store) tryStatus(ctx context.Context, record *Record) error {
	object, err := record.withStatus()
	if err != nil {
		return err
	}
	updated, err := s.api.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the status of %s %s: %w", Kind, record.Name(), err)
	}
	record.object = updated
	return nil
}

// Delete removes the object; one that is gone already is fine.
func (s *Store) Delete(ctx context.Context, name string) error {
	err := s.api.Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
