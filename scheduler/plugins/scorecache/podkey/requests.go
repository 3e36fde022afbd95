package podkey

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"

	"github.com/stowage/stowage/scheduler/resources"
)

// assumed is what scoring assumes for a container without requests.
var assumed = v1.ResourceList{
	v1.ResourceCPU:    *resource.NewMilliQuantity(schedutil.DefaultMilliCPURequest, resource.DecimalSI),
	v1.ResourceMemory: *resource.NewQuantity(schedutil.DefaultMemoryRequest, resource.BinarySI),
}

// writeRequests writes the pod's effective requests of every resource: containers, init containers, sidecars and
// overhead, once as filters count them and once as scoring does. Pod-level requests are written beside those of the
// containers, since a feature gate decides which count.
func writeRequests(w *writer, pod *v1.Pod) {
	writeResources(w, resources.RequestsOf(pod, resourcehelper.PodResourcesOptions{SkipPodLevelResources: true}))
	writeResources(w, resources.RequestsOf(pod, resourcehelper.PodResourcesOptions{
		SkipPodLevelResources: true, NonMissingContainerRequests: assumed}))
	w.flag(pod.Spec.Resources != nil)
	if pod.Spec.Resources != nil {
		writeResources(w, resources.RequestsOf(pod, resourcehelper.PodResourcesOptions{}))
		writeResources(w, resources.RequestsOf(pod, resourcehelper.PodResourcesOptions{
			NonMissingContainerRequests: assumed}))
	}
}

// writeResources leaves out zero amounts: they are the same as no request.
func writeResources(w *writer, list v1.ResourceList) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		value := quantity.Value()
		if name == v1.ResourceCPU {
			value = quantity.MilliValue()
		}
		if value != 0 {
			w.text(string(name))
			w.number(value)
		}
	}
	w.text("")
}
