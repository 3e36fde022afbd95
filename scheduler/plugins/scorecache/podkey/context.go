package podkey

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/component-base/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// SiblingsOf returns what selects the pods that PodTopologySpread spreads a pod among by default; empty for a pod without
// an owner or a service. The informers of the factory must not have been started.
func SiblingsOf(factory informers.SharedInformerFactory) func(*v1.Pod) labels.Selector {
	core, apps := factory.Core().V1(), factory.Apps().V1()
	services, controllers := core.Services().Lister(), core.ReplicationControllers().Lister()
	replicaSets, statefulSets := apps.ReplicaSets().Lister(), apps.StatefulSets().Lister()
	return func(pod *v1.Pod) labels.Selector {
		return helper.DefaultSelector(pod, services, controllers, replicaSets, statefulSets)
	}
}

// FeaturesOf returns what infers the features that a pod needs its node to declare, as NodeDeclaredFeatures does; none
// where that plugin is off.
func FeaturesOf() (func(*v1.Pod) (string, error), error) {
	if !utilfeature.DefaultFeatureGate.Enabled(kubefeatures.NodeDeclaredFeatures) {
		return func(*v1.Pod) (string, error) { return "", nil }, nil
	}
	parsed, err := versionutil.Parse(version.Get().String())
	if err != nil {
		return nil, fmt.Errorf("reading the scheduler's own version: %w", err)
	}
	return func(pod *v1.Pod) (string, error) {
		needed, err := ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &pod.Spec}, parsed)
		return needed.String(), err
	}, nil
}
