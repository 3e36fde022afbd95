package reservation

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// Store writes Reservation objects.
type Store struct {
	api dynamic.ResourceInterface
}

// NewStore writes through the client.
func NewStore(client dynamic.Interface) *Store { return &Store{client.Resource(Resource)} }

// Create makes an object. The name, labels and owners are those of the metadata.
func (s *Store) Create(ctx context.Context, metadata metav1.ObjectMeta, spec Spec) (*Record, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, fmt.Errorf("creating a %s: %w", Kind, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetAPIVersion(Resource.GroupVersion().String())
	object.SetKind(Kind)
	object.SetName(metadata.Name)
	object.SetLabels(metadata.Labels)
	object.SetOwnerReferences(metadata.OwnerReferences)
	created, err := s.api.Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", Kind, metadata.Name, err)
	}
	return Read(created)
}

// WriteStatus writes the record's status, unless somebody changed the object meanwhile.
func (s *Store) WriteStatus(ctx context.Context, record *Record) error {
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

// DeletePlan removes all reservations of a plan.
func (s *Store) DeletePlan(ctx context.Context, plan string) error {
	err := s.api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: PlanLabel + "=" + plan})
	if err != nil {
		return fmt.Errorf("deleting the reservations of plan %s: %w", plan, err)
	}
	return nil
}

// Delete removes the object; one that is gone already is fine.
func (s *Store) Delete(ctx context.Context, record *Record) error {
	uid := record.UID()
	err := s.api.Delete(ctx, record.Name(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
