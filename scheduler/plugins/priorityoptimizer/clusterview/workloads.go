package clusterview

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	batchlisters "k8s.io/client-go/listers/batch/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// workloads finds in the informers what decides whether a pod comes back after an eviction.
type workloads struct {
	sets        appslisters.ReplicaSetLister
	stateful    appslisters.StatefulSetLister
	deployments appslisters.DeploymentLister
	controllers corelisters.ReplicationControllerLister
	// jobs is nil where no pod of a Job is ever disrupted.
	jobs   batchlisters.JobLister
	quotas corelisters.ResourceQuotaLister
	limits corelisters.LimitRangeLister
}

// newWorkloads has the informers watched, those of Jobs only if needed: there may be very many.
func newWorkloads(factory informers.SharedInformerFactory, withJobs bool) workloads {
	in := workloads{
		sets:        factory.Apps().V1().ReplicaSets().Lister(),
		stateful:    factory.Apps().V1().StatefulSets().Lister(),
		deployments: factory.Apps().V1().Deployments().Lister(),
		controllers: factory.Core().V1().ReplicationControllers().Lister(),
		quotas:      factory.Core().V1().ResourceQuotas().Lister(),
		limits:      factory.Core().V1().LimitRanges().Lister(),
	}
	bare := []cache.SharedIndexInformer{factory.Apps().V1().Deployments().Informer()}
	if withJobs {
		in.jobs = factory.Batch().V1().Jobs().Lister()
		bare = append(bare, factory.Batch().V1().Jobs().Informer())
	}
	for _, informer := range bare {
		// It fails only on an informer that runs already, which then keeps the managed fields.
		_ = informer.SetTransform(withoutManagedFields)
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
	switch kind {
	case "ReplicaSet":
		of := w.sets.ReplicaSets(namespace)
		return found(of.Get, of.List, name)
	case "StatefulSet":
		of := w.stateful.StatefulSets(namespace)
		return found(of.Get, of.List, name)
	case "Deployment":
		of := w.deployments.Deployments(namespace)
		return found(of.Get, of.List, name)
	case "ReplicationController":
		of := w.controllers.ReplicationControllers(namespace)
		return found(of.Get, of.List, name)
	case "Job":
		if w.jobs != nil {
			of := w.jobs.Jobs(namespace)
			return found(of.Get, of.List, name)
		}
	}
	return nil, false
}

// found is the object of that name, or nil, and whether there is any object of its kind.
func found[Object interface {
	comparable
	metav1.Object
}](get func(string) (Object, error), list func(labels.Selector) ([]Object, error), name string) (metav1.Object, bool) {
	if object, err := get(name); err == nil {
		return object, true
	}
	all, err := list(labels.Everything())
	return nil, err == nil && len(all) > 0
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

// every returns all objects that a lister has. It never fails.
func every[Object any](list func(labels.Selector) ([]Object, error)) []Object {
	all, _ := list(labels.Everything())
	return all
}
