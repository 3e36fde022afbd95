package scorecache

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	kubefeatures "k8s.io/kubernetes/pkg/features"
)

// features tells what a pod needs its node to declare, as NodeDeclaredFeatures finds it out.
type features struct {
	// version is nil where that plugin does nothing.
	version *versionutil.Version
}

func newFeatures() (features, error) {
	if !utilfeature.DefaultFeatureGate.Enabled(kubefeatures.NodeDeclaredFeatures) {
		return features{}, nil
	}
	parsed, err := versionutil.Parse(version.Get().String())
	if err != nil {
		return features{}, fmt.Errorf("%s: reading the scheduler's own version: %w", Name, err)
	}
	return features{parsed}, nil
}

// of is empty for a pod without such needs.
func (f features) of(pod *v1.Pod) (string, error) {
	if f.version == nil {
		return "", nil
	}
	needed, err := ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec}, f.version)
	if err != nil || needed.IsEmpty() {
		return "", err
	}
	return needed.String(), nil
}
