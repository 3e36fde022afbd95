package podkey

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
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
