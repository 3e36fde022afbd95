package priorityoptimizer

import (
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/stowage/stowage/scheduler/pluginargs"
)

var argsKind = pluginargs.Kind{Plugin: Name, APIVersion: APIVersion, Kind: ArgsKind}

// DecodeArgs reads the plugin's arguments strictly: unknown and duplicate fields are errors. The result is defaulted
// and valid.
func DecodeArgs(object runtime.Object) (*PriorityOptimizerArgs, error) {
	args := &PriorityOptimizerArgs{}
	errs, err := argsKind.Decode(object, args, &args.TypeMeta)
	if err != nil {
		return nil, err
	}
	SetDefaults(args)
	errs = append(errs, Validate(args)...)
	if err := errs.ToAggregate(); err != nil {
		return nil, argsKind.Wrap(err)
	}
	return args, nil
}

func rangeMessage(least, most float64) string {
	return "must lie between " + strconv.FormatFloat(least, 'g', -1, 64) +
		" and " + strconv.FormatFloat(most, 'g', -1, 64)
}
