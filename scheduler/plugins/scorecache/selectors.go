package scorecache

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/helper"
)

// selectorOf is the selector of a constraint, the pod's own values of matchLabelKeys included. One that cannot
// be read selects nothing; PodTopologySpread refuses such a pod.
func selectorOf(constraint *v1.TopologySpreadConstraint, pod *v1.Pod) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	for _, key := range constraint.MatchLabelKeys {
		value, labelled := pod.Labels[key]
		if !labelled {
			continue
		}
		if requirement, err := labels.NewRequirement(key, selection.In, []string{value}); err == nil {
			selector = selector.Add(*requirement)
		}
	}
	return selector
}

// owners finds out which pods PodTopologySpread takes to belong together if they do not say how to be spread.
type owners struct {
	services     corelisters.ServiceLister
	controllers  corelisters.ReplicationControllerLister
	replicaSets  appslisters.ReplicaSetLister
	statefulSets appslisters.StatefulSetLister
}

func newOwners(factory informers.SharedInformerFactory) *owners {
	return &owners{
		services:     factory.Core().V1().Services().Lister(),
		controllers:  factory.Core().V1().ReplicationControllers().Lister(),
		replicaSets:  factory.Apps().V1().ReplicaSets().Lister(),
		statefulSets: factory.Apps().V1().StatefulSets().Lister(),
	}
}

// selector is empty for a pod that belongs to nobody.
func (o *owners) selector(pod *v1.Pod) labels.Selector {
	return helper.DefaultSelector(pod, o.services, o.controllers, o.replicaSets, o.statefulSets)
}
