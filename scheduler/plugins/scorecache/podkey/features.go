package podkey

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	kubefeatures "k8s.io/kubernetes/pkg/features"
)

// Features infers the features that a pod needs its node to declare, as NodeDeclaredFeatures does.
type Features struct {
	// version is nil where that plugin is off.
	version *versionutil.Version
}

// NewFeatures reads the feature gate and the version of this scheduler.
func NewFeatures() (Features, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(kubefeatures.NodeDeclaredFeatures) {
		return Features{}, nil
	}
	parsed, err := versionutil.Parse(version.Get().String())
	if err != nil {
		return Features{}, fmt.Errorf("reading the scheduler's own version: %w", err)
	}
	return Features{parsed}, nil
}

// Of is empty for a pod without such needs.
func (f Features) Of(pod *v1.Pod) (string, error) {
	if f.version == nil {
		return "", nil
	}
	needed, err := ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec}, f.version)
	if err != nil || needed.IsEmpty() {
		return "", err
	}
	return needed.String(), nil
}
