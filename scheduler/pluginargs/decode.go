// Package pluginargs reads the arguments of plugins strictly: unknown and duplicate fields are errors,
// and all errors are reported at once.
package pluginargs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Kind is the version and kind that arguments must have, if they name any.
type Kind struct{ Plugin, APIVersion, Kind string }

// Decode reads what the scheduler hands over into args, which have the defaults, and validates the result.
func (k Kind) Decode(object runtime.Object, args any, meta *metav1.TypeMeta, validate func() field.ErrorList) error {
	errs, err := k.read(object, args)
	if err == nil {
		err = slices.Concat(errs, k.validate(meta), validate()).ToAggregate()
	}
	if err != nil {
		return fmt.Errorf("pluginConfig of %s: %w", k.Plugin, err)
	}
	return nil
}

// read returns the errors about single fields in the list.
func (k Kind) read(object runtime.Object, args any) (field.ErrorList, error) {
	if object == nil {
		return nil, nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return nil, fmt.Errorf("want args of kind %s, got %T", k.Kind, object)
	}
	raw, err := asJSON(unknown.Raw)
	if err != nil {
		return nil, err
	}
	strict, err := sjson.UnmarshalStrict(raw, args)
	var errs field.ErrorList
	for _, err := range strict {
		var at sjson.FieldError // every strict error is one
		errors.As(err, &at)
		errs = append(errs, field.Forbidden(field.NewPath(at.FieldPath()), err.Error()))
	}
	return errs, err
}

// asJSON leaves JSON as it is: the strict JSON decoder names all duplicate fields, that of YAML only the first.
func asJSON(raw []byte) ([]byte, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		return raw, nil
	}
	return yaml.YAMLToJSONStrict(raw)
}

// validate allows both to be absent: the scheduler fills them in for its own plugins only.
func (k Kind) validate(meta *metav1.TypeMeta) field.ErrorList {
	var errs field.ErrorList
	if meta.APIVersion != "" && meta.APIVersion != k.APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), meta.APIVersion, []string{k.APIVersion}))
	}
	if meta.Kind != "" && meta.Kind != k.Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), meta.Kind, []string{k.Kind}))
	}
	return errs
}
