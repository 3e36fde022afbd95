package packingplan

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Record is one PackingPlan object as it was last seen.
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

// Ours says that the scheduler created it.
func (r *Record) Ours() bool { return r.object.GetLabels()[CreatedByLabel] == CreatedByValue }

// Rests says that the plan is a proposal, which waits for its approval for as long as it takes.
func (r *Record) Rests() bool {
	return r.Status.Phase == Proposed && r.Spec.Mode == DryRun && !r.Spec.Abort
}

// Approved says that the plan was a proposal and is to be carried out.
func (r *Record) Approved() bool {
	return r.Status.Phase == Proposed && r.Spec.Mode == Execute && r.Status.CompletionTime != nil
}

// Reference is what events about the plan point at.
func (r *Record) Reference() *v1.ObjectReference {
	return &v1.ObjectReference{
		APIVersion: Resource.GroupVersion().String(),
		Kind:       Kind,
		Name:       r.object.GetName(),
		UID:        r.object.GetUID(),
	}
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
	if record.Spec.Mode == "" {
		record.Spec.Mode = DryRun
	}
	return record, nil
}

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
