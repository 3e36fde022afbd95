package devices

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/pluginargs"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = "Devices"

// APIVersion is the version of DevicesArgs this scheduler reads.
const APIVersion = "stowage.dev/v1alpha1"

// ArgsKind is the kind of the plugin's arguments.
const ArgsKind = "DevicesArgs"

// mostPods is the largest window.
const mostPods = 1_000_000

// DevicesArgs are the plugin's arguments in a KubeSchedulerConfiguration.
type DevicesArgs struct {
	metav1.TypeMeta `json:",inline"`

	// WindowPods is by how many pods, those that came last, it is judged what pods will ask for.
	WindowPods int32 `json:"windowPods,omitempty"`
}

// Default are the arguments of a profile that says nothing. The chart's values carry the same.
func Default() *DevicesArgs { return &DevicesArgs{WindowPods: 10_000} }

// Decode reads the plugin's arguments strictly: unknown and duplicate fields are errors. The result is defaulted and valid.
func Decode(object runtime.Object) (*DevicesArgs, error) {
	args := Default()
	kind := pluginargs.Kind{Plugin: Name, APIVersion: APIVersion, Kind: ArgsKind}
	return args, kind.Decode(object, args, &args.TypeMeta, func() (errs field.ErrorList) {
		if args.WindowPods < 1 || args.WindowPods > mostPods {
			errs = append(errs, field.Invalid(field.NewPath("windowPods"), args.WindowPods, "must be 1 to 1000000"))
		}
		return errs
	})
}
