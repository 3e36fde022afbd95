package gate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// Watch has the gate told of pods that are bound or gone, and of what may let pods in that it did not before.
func (g *Gate) Watch(factory informers.SharedInformerFactory) error {
	core := factory.Core().V1()
	for _, one := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{core.Pods().Informer(), g.podHandler()},
		{factory.Policy().V1().PodDisruptionBudgets().Informer(), retryWhen(g, snapshot.LetsMoreGo)},
		{core.ResourceQuotas().Informer(), retryWhen(g, allowsMore)},
		{core.LimitRanges().Informer(), retryWhen(g, func(_, _ *v1.LimitRange) bool { return true })},
		{factory.Resource().V1().ResourceClaims().Informer(), g.claimHandler()},
	} {
		if _, err := one.informer.AddEventHandler(one.handler); err != nil {
			return fmt.Errorf("%s: watching pods and what limits them: %w", Name, err)
		}
	}
	return nil
}

// claimHandler wakes up the loop when devices come free while a plan is carried out: they do so after their pod is gone.
// Without a plan, the scheduling queue tries the pods that wait.
func (g *Gate) claimHandler() cache.ResourceEventHandler {
	freed := func(old, now any) {
		if g.Execution.Load() != nil && freesDevices(old, now) {
			g.WakeUp()
		}
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: freed,
		DeleteFunc: func(object any) { freed(customobject.LastKnown(object), nil) },
	}
}

// freesDevices says whether a claim had devices that it has no longer; now is nil if it is gone.
func freesDevices(old, now any) bool {
	before, known := old.(*resourceapi.ResourceClaim)
	after, stays := now.(*resourceapi.ResourceClaim)
	return known && before.Status.Allocation != nil && (!stays || after.Status.Allocation == nil)
}

// retryWhen asks for another solve when an object lets more pods in than before, or is gone: no other plugin reacts to its
// kind, so the waiting pods would not be tried again.
func retryWhen[Object any](g *Gate, more func(before, now *Object) bool) cache.ResourceEventHandler {
	again := func() {
		g.Trigger.Retry()
		g.WakeUp()
	}
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(old, object any) {
			before, known := old.(*Object)
			now, ok := object.(*Object)
			if known && ok && more(before, now) {
				again()
			}
		},
		DeleteFunc: func(any) { again() },
	}
}

// allowsMore says that the quota's limit of something was raised. If only less is used than before, a pod has gone, which
// wakes waiting pods anyhow.
func allowsMore(before, now *v1.ResourceQuota) bool {
	for name, was := range before.Status.Hard {
		if hard, limited := now.Status.Hard[name]; !limited || hard.Cmp(was) > 0 {
			return true
		}
	}
	return false
}
