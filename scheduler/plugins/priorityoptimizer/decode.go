package priorityoptimizer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// DecodeArgs reads the plugin's arguments strictly from what the scheduler hands over: unknown
// and doubled fields are faults. The result is defaulted and valid.
func DecodeArgs(object runtime.Object) (*PriorityOptimizerArgs, error) {
	args := &PriorityOptimizerArgs{}
	faults, err := decodeInto(object, args)
	if err != nil {
		return nil, err
	}
	SetDefaults(args)
	faults = append(faults, Validate(args)...)
	if err := faults.ToAggregate(); err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	return args, nil
}

func decodeInto(object runtime.Object, args *PriorityOptimizerArgs) (field.ErrorList, error) {
	if object == nil {
		return nil, nil
	}
	unknown, ok := object.(*runtime.Unknown)
	if !ok {
		return nil, fmt.Errorf("pluginConfig of %s: want args of kind %s, got %T", Name, ArgsKind, object)
	}
	raw, err := asJSON(unknown.Raw)
	if err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	strict, err := sjson.UnmarshalStrict(raw, args)
	if err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	return append(strictFaults(strict), validateTypeMeta(args)...), nil
}

// asJSON leaves JSON as it is: the strict JSON decoder names all doubled fields, YAML's the first.
func asJSON(raw []byte) ([]byte, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) > 0 && trimmed[0] == '{' {
		return raw, nil
	}
	return yaml.YAMLToJSONStrict(raw)
}

func strictFaults(strict []error) field.ErrorList {
	var faults field.ErrorList
	for _, err := range strict {
		path := "args"
		var fieldError sjson.FieldError
		if errors.As(err, &fieldError) {
			path = fieldError.FieldPath()
		}
		faults = append(faults, field.Forbidden(field.NewPath(path), err.Error()))
	}
	return faults
}

// validateTypeMeta lets both be left out, which the scheduler does not: it fills them in for
// its own plugins only.
func validateTypeMeta(args *PriorityOptimizerArgs) field.ErrorList {
	var faults field.ErrorList
	if args.APIVersion != "" && args.APIVersion != APIVersion {
		faults = append(faults, field.NotSupported(field.NewPath("apiVersion"), args.APIVersion,
			[]string{APIVersion}))
	}
	if args.Kind != "" && args.Kind != ArgsKind {
		faults = append(faults, field.NotSupported(field.NewPath("kind"), args.Kind, []string{ArgsKind}))
	}
	return faults
}

func rangeMessage(least, most float64) string {
	return "must lie between " + strconv.FormatFloat(least, 'g', -1, 64) +
		" and " + strconv.FormatFloat(most, 'g', -1, 64)
}
