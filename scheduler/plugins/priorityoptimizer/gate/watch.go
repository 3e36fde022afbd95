package gate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

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
	} {
		if _, err := one.informer.AddEventHandler(one.handler); err != nil {
			return fmt.Errorf("%s: watching pods and what limits them: %w", Name, err)
		}
	}
	return nil
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
