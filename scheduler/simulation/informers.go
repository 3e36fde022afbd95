package simulation

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"
)

// newInformerFactory returns the scheduler's own informer factory, with informers of pods and nodes that count the
// events that have been handled.
func newInformerFactory(client kubernetes.Interface, pods, nodes *eventCounter) informers.SharedInformerFactory {
	podInformer := scheduler.NewInformerFactory(client, 0).Core().V1().Pods().Informer()
	factory := informers.NewSharedInformerFactory(client, 0)
	factory.InformerFor(&v1.Pod{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return countingInformer{podInformer, pods}
	})
	factory.InformerFor(&v1.Node{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		return countingInformer{coreinformers.NewNodeInformer(client, resync, indexers), nodes}
	})
	return factory
}

// countingInformer counts the events that its handlers have handled.
type countingInformer struct {
	cache.SharedIndexInformer
	counter *eventCounter
}

func (i countingInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(i.counted(handler))
}

func (i countingInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.counted(handler), resync)
}

func (i countingInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(i.counted(handler), options)
}

func (i countingInformer) counted(handler cache.ResourceEventHandler) cache.ResourceEventHandler {
	return countedHandler{handler, i.counter.addHandler()}
}

// countedHandler calls done after each event.
type countedHandler struct {
	handler cache.ResourceEventHandler
	done    func()
}

func (h countedHandler) OnAdd(object any, initial bool) {
	h.handler.OnAdd(object, initial)
	h.done()
}

func (h countedHandler) OnUpdate(before, after any) {
	h.handler.OnUpdate(before, after)
	h.done()
}

func (h countedHandler) OnDelete(object any) {
	h.handler.OnDelete(object)
	h.done()
}
