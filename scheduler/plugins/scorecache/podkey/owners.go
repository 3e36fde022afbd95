package podkey

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	versionutil "k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/component-base/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// Owners finds the pods that PodTopologySpread spreads together by default.
type Owners struct {
	services     corelisters.ServiceLister
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
}

// NewOwners reads the informers of the factory, which must not have been started.
func NewOwners(factory informers.SharedInformerFactory) *Owners {
	return &Owners{
		services:     factory.Core().V1().Services().Lister(),
		controllers:  factory.Core().V1().ReplicationControllers().Lister(),
		replicaSets:  factory.Apps().V1().ReplicaSets().Lister(),
		statefulSets: factory.Apps().V1().StatefulSets().Lister(),
	}
}

// Selector is empty for a pod without an owner or a service.
func (o *Owners) Selector(pod *v1.Pod) labels.Selector {
	return helper.DefaultSelector(pod, o.services, o.controllers, o.replicaSets, o.statefulSets)
}

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
