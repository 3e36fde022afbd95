package clusterview

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// workloads finds in the informers what decides whether a pod comes back after an eviction.
type workloads struct {
	// controllers are by kind, without Jobs where none of their pods is ever disrupted.
	controllers map[string]cache.GenericLister
	sets        appslisters.ReplicaSetLister
	quotas      corelisters.ResourceQuotaLister
	limits      corelisters.LimitRangeLister
}

// newWorkloads has the informers watched, those of Jobs only if needed: there may be very many.
func newWorkloads(factory informers.SharedInformerFactory, withJobs bool) workloads {
	kinds := map[string]schema.GroupVersionResource{
		"ReplicaSet":            appsv1.SchemeGroupVersion.WithResource("replicasets"),
		"StatefulSet":           appsv1.SchemeGroupVersion.WithResource("statefulsets"),
		"Deployment":            appsv1.SchemeGroupVersion.WithResource("deployments"),
		"ReplicationController": v1.SchemeGroupVersion.WithResource("replicationcontrollers"),
	}
	if withJobs {
		kinds["Job"] = batchv1.SchemeGroupVersion.WithResource("jobs")
	}
	in := workloads{
		controllers: map[string]cache.GenericLister{},
		sets:        factory.Apps().V1().ReplicaSets().Lister(),
		quotas:      factory.Core().V1().ResourceQuotas().Lister(),
		limits:      factory.Core().V1().LimitRanges().Lister(),
	}
	for kind, resource := range kinds {
		watched, err := factory.ForResource(resource)
		if err != nil {
			continue // it knows all of these
		}
		in.controllers[kind] = watched.Lister()
		if kind == "Deployment" || kind == "Job" { // the scheduler does not watch these itself
			// It fails only on an informer that runs already, which then keeps the managed fields.
			_ = watched.Informer().SetTransform(withoutManagedFields)
		}
	}
	return in
}

// withoutManagedFields saves memory, as the scheduler does for pods.
func withoutManagedFields(object any) (any, error) {
	if one, ok := object.(metav1.Object); ok {
		one.SetManagedFields(nil)
	}
	return object, nil
}

// Controller implements snapshot.Workloads. A kind of which a namespace has no object may not have been listed.
func (w workloads) Controller(namespace, kind, name string) (metav1.Object, bool) {
	known := w.controllers[kind]
	if known == nil {
		return nil, false
	}
	here := known.ByNamespace(namespace)
	if object, err := here.Get(name); err == nil {
		controller, ok := object.(metav1.Object)
		return controller, ok
	}
	return nil, len(every(here.List)) > 0
}

// ReplicaSets implements snapshot.Workloads.
func (w workloads) ReplicaSets(namespace string) []*appsv1.ReplicaSet {
	return every(w.sets.ReplicaSets(namespace).List)
}

// Quotas implements snapshot.Workloads.
func (w workloads) Quotas(namespace string) []*v1.ResourceQuota {
	return every(w.quotas.ResourceQuotas(namespace).List)
}

// LimitRanges implements snapshot.Workloads.
func (w workloads) LimitRanges(namespace string) []*v1.LimitRange {
	return every(w.limits.LimitRanges(namespace).List)
}

// every returns all objects that a lister has. It never fails, since it selects by no labels.
func every[Object any](list func(labels.Selector) ([]Object, error)) []Object {
	all, _ := list(labels.Everything())
	return all
}
