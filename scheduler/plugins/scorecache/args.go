package scorecache

import (
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/stowage/stowage/scheduler/pluginargs"
)

// Args are the plugin's arguments in a KubeSchedulerConfiguration.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// RefreshThreshold is the paper's tau: the share of a ranking that may be used up.
	RefreshThreshold *float64 `json:"refreshThreshold,omitempty"`
	// MaxEntries is how many keys are kept.
	MaxEntries *int `json:"maxEntries,omitempty"`
	// DefaultSpreadTopologyKeys are the topologies over which PodTopologySpread spreads pods that do not say
	// how, less the hostname: those of the default constraints in its arguments. If they are others, pods of a
	// service are not served.
	DefaultSpreadTopologyKeys *[]string `json:"defaultSpreadTopologyKeys,omitempty"`
	// TrustedPlugins are further plugins of the profile whose PreFilter names no nodes, and whose Filter and
	// Score depend on nothing but the node and what makes up a Key.
	TrustedPlugins []string `json:"trustedPlugins,omitempty"`
}

// The chart's values carry the same.
const (
	DefaultRefreshThreshold = 0.5
	DefaultMaxEntries       = 128
)

// maxEntriesLimit keeps the memory in bounds: a ranking of 5,000 nodes takes half a megabyte.
const maxEntriesLimit = 10_000

var argsKind = pluginargs.Kind{Plugin: Name, APIVersion: "stowage.dev/v1alpha1", Kind: "ScoreCacheArgs"}

// DecodeArgs reads the plugin's arguments strictly. The result is defaulted and valid.
func DecodeArgs(object runtime.Object) (*Args, error) {
	args := &Args{}
	errs, err := argsKind.Decode(object, args, &args.TypeMeta)
	if err != nil {
		return nil, err
	}
	args.setDefaults()
	if err := append(errs, args.validate()...).ToAggregate(); err != nil {
		return nil, argsKind.Wrap(err)
	}
	return args, nil
}

func (a *Args) setDefaults() {
	if a.RefreshThreshold == nil {
		threshold := DefaultRefreshThreshold
		a.RefreshThreshold = &threshold
	}
	if a.MaxEntries == nil {
		entries := DefaultMaxEntries
		a.MaxEntries = &entries
	}
	if a.DefaultSpreadTopologyKeys == nil {
		a.DefaultSpreadTopologyKeys = &[]string{v1.LabelTopologyZone}
	}
}

func (a *Args) validate() field.ErrorList {
	var errs field.ErrorList
	if threshold := *a.RefreshThreshold; math.IsNaN(threshold) || threshold <= 0 || threshold > 1 {
		errs = append(errs, field.Invalid(field.NewPath("refreshThreshold"), threshold,
			"must be more than 0 and at most 1"))
	}
	if entries := *a.MaxEntries; entries < 1 || entries > maxEntriesLimit {
		errs = append(errs, field.Invalid(field.NewPath("maxEntries"), entries,
			fmt.Sprintf("must lie between 1 and %d", maxEntriesLimit)))
	}
	keys := field.NewPath("defaultSpreadTopologyKeys")
	for i, key := range *a.DefaultSpreadTopologyKeys {
		for _, message := range validation.IsQualifiedName(key) {
			errs = append(errs, field.Invalid(keys.Index(i), key, message))
		}
	}
	for i, plugin := range a.TrustedPlugins {
		if plugin == "" {
			errs = append(errs, field.Required(field.NewPath("trustedPlugins").Index(i), "name a plugin"))
		}
	}
	return errs
}
