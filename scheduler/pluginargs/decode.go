// Package pluginargs reads the arguments of plugins strictly: unknown and duplicate fields are errors,
// and all errors are reported at once.
package pluginargs

import (
	"bytes"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// Kind is the version and kind that arguments must have, if they name any.
type Kind struct{ Plugin, APIVersion, Kind string }

// Decode reads what the scheduler hands over into args. Errors about single fields are returned in the list, so that
// they can be reported together with invalid values.
func (k Kind) Decode(object runtime.Object, args any, meta *metav1.TypeMeta) (field.ErrorList, error) {
	if object == nil {
		return nil, nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return nil, fmt.Errorf("pluginConfig of %s: want args of kind %s, got %T", k.Plugin, k.Kind, object)
	}
	raw, err := asJSON(unknown.Raw)
	if err != nil {
		return nil, k.Wrap(err)
	}
	strict, err := sjson.UnmarshalStrict(raw, args)
	if err != nil {
		return nil, k.Wrap(err)
	}
	return append(strictErrors(strict), k.validate(meta)...), nil
}

// Wrap adds the plugin's name to an error.
func (k Kind) Wrap(err error) error { return fmt.Errorf("pluginConfig of %s: %w", k.Plugin, err) }

// asJSON leaves JSON as it is: the strict JSON decoder names all duplicate fields, that of YAML only the first.
func asJSON(raw []byte) ([]byte, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		return raw, nil
	}
	return yaml.YAMLToJSONStrict(raw)
}

func strictErrors(strict []error) field.ErrorList {
	var errs field.ErrorList
	for _, err := range strict {
		path := "args"
		var fieldError sjson.FieldError
		if errors.As(err, &fieldError) {
			path = fieldError.FieldPath()
		}
		errs = append(errs, field.Forbidden(field.NewPath(path), err.Error()))
	}
	return errs
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
