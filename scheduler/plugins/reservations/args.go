package reservations

import (
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/pluginargs"
)

// Args are the plugin's arguments in a KubeSchedulerConfiguration.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// RetentionSeconds is how long a reservation that failed is kept.
	RetentionSeconds *float64 `json:"retentionSeconds,omitempty"`
}

// DefaultRetentionSeconds is a day. The chart's values carry the same.
const DefaultRetentionSeconds = 86400.0

const maxRetentionSeconds = 30 * 86400.0

var argsKind = pluginargs.Kind{Plugin: Name, APIVersion: "stowage.dev/v1alpha1", Kind: "ReservationsArgs"}

// DecodeArgs reads the plugin's arguments strictly. The result is defaulted and valid.
func DecodeArgs(object runtime.Object) (*Args, error) {
	args := &Args{}
	errs, err := argsKind.Decode(object, args, &args.TypeMeta)
	if err != nil {
		return nil, err
	}
	if args.RetentionSeconds == nil {
		retention := DefaultRetentionSeconds
		args.RetentionSeconds = &retention
	}
	if retention := *args.RetentionSeconds; math.IsNaN(retention) || retention < 0 || retention > maxRetentionSeconds {
		errs = append(errs, field.Invalid(field.NewPath("retentionSeconds"), retention, "must lie between 0 and 30 days"))
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, argsKind.Wrap(err)
	}
	return args, nil
}

// Retention is how long a reservation that failed is kept.
func (a *Args) Retention() time.Duration {
	return time.Duration(*a.RetentionSeconds * float64(time.Second))
}
