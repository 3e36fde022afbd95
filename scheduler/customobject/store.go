package customobject

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// Store writes the objects of one type.
type Store[Spec, Status any] struct {
	of  Type
	api dynamic.ResourceInterface
}

// NewStore writes through the client.
func NewStore[Spec, Status any](of Type, client dynamic.Interface) Store[Spec, Status] {
	return Store[Spec, Status]{of, client.Resource(of.Resource)}
}

// Create makes an object. The name, labels, annotations and owners are those of the metadata. Where the definition is of
// an older version and lacks a field of the spec, that is an error: what is left of the spec may mean something else.
func (s *Store[Spec, Status]) Create(ctx context.Context, metadata metav1.ObjectMeta, spec Spec) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", s.of.Kind, metadata.Name, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	object.SetAPIVersion(s.of.Resource.GroupVersion().String())
	object.SetKind(s.of.Kind)
	object.SetName(metadata.Name)
	object.SetLabels(metadata.Labels)
	object.SetAnnotations(metadata.Annotations)
	object.SetOwnerReferences(metadata.OwnerReferences)
	created, err := s.api.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		return nil, fmt.Errorf("creating %s %s: %w", s.of.Kind, metadata.Name, err)
	}
	return created, nil
}

// WriteStatus writes the object's status, unless the object has been changed meanwhile.
func (s *Store[Spec, Status]) WriteStatus(ctx context.Context, object *Object[Spec, Status]) error {
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&object.Status)
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.of.Kind, object.Name(), err)
	}
	next := &unstructured.Unstructured{Object: maps.Clone(object.seen.Object)}
	next.Object["status"] = status
	written, err := s.api.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("writing the status of %s %s: %w", s.of.Kind, object.Name(), err)
	}
	object.seen = written
	return nil
}

// Refresh adopts the stored version of the object. It returns the status as it was last seen and as it is stored now;
// the Spec and Status of the object stay as they are.
func (s *Store[Spec, Status]) Refresh(ctx context.Context, object *Object[Spec, Status]) (before, now Status, err error) {
	latest, err := s.Get(ctx, object.Name())
	if err != nil {
		return before, now, err
	}
	seen, err := Read[Spec, Status](s.of, object.seen)
	if err != nil {
		return before, now, err
	}
	stored, err := Read[Spec, Status](s.of, latest)
	if err != nil {
		return before, now, err
	}
	object.seen = latest
	return seen.Status, stored.Status, nil
}

// Get reads the object of that name.
func (s *Store[Spec, Status]) Get(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	found, err := s.api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", s.of.Kind, name, err)
	}
	return found, nil
}

// MergeSpec sets fields of an object's spec; an object that is gone already is fine.
func (s *Store[Spec, Status]) MergeSpec(ctx context.Context, name string, fields map[string]any) error {
	patch, err := json.Marshal(map[string]any{"spec": fields})
	if err == nil {
		_, err = s.api.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("changing %s %s: %w", s.of.Kind, name, err)
	}
	return nil
}

// Delete removes the object. It is no error if it is gone already, or if another one has its name by now.
func (s *Store[Spec, Status]) Delete(ctx context.Context, object *Object[Spec, Status]) error {
	err := s.api.Delete(ctx, object.Name(), *metav1.NewPreconditionDeleteOptions(string(object.UID())))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
