package simulation

import (
	"fmt"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// LoadConfiguration reads a KubeSchedulerConfiguration as kube-scheduler --config does: unknown fields
// are errors, and all invalid values are reported together. Without a path it returns the defaults.
func LoadConfiguration(path string) (*config.KubeSchedulerConfiguration, error) {
	if path == "" {
		return latest.Default()
	}
	configuration, err := options.LoadConfigFromFile(klog.Background(), path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if invalid := validation.ValidateKubeSchedulerConfiguration(configuration); invalid != nil {
		return nil, fmt.Errorf("%s: %w", path, utilerrors.NewAggregate(invalid.Errors()))
	}
	return configuration, nil
}

// SetFeatureGates turns off, for the whole process, what would make an outcome depend on time: opportunistic batching
// reuses a ranking of nodes for half a second of wall clock, and asynchronous preemption deletes its victims after the
// attempt is over. The overrides, as in "Name=true,Other=false", take precedence.
func SetFeatureGates(overrides string) error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.OpportunisticBatching):    false,
		string(features.SchedulerAsyncPreemption): false,
	}); err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(overrides); err != nil {
		return fmt.Errorf("--feature-gates=%s: %w", overrides, err)
	}
	return nil
}
