package scorecache

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
)

// Reasons why a pod gets a full scheduling cycle whatever is cached: what was found for another pod may not hold for it.
const (
	bypassProfile     = "profile"         // it has an unknown plugin, or lists the cache in the wrong place
	bypassExtender    = "extender"        // one filters or prioritises the pod, and plugins do not see its results
	bypassGroup       = "pod-group"       // the pod is scheduled in a group, on a changed snapshot
	bypassNominated   = "nominated"       // a node was freed for the pod by preemption, and is tried first
	bypassRetry       = "retry"           // a cached node did not lead to a binding
	bypassPlugin      = "plugin"          // one treats this pod individually, as for a reservation or a plan
	bypassNodeName    = "node-name"       // the pod names its nodes: NodeAffinity passes them on as the cache does
	bypassPodAffinity = "pod-affinity"    // where the pod may go depends on where other pods are
	bypassSpread      = "topology-spread" // a hard constraint: each pod that is placed changes which zones are allowed
	bypassVolumes     = "volumes"         // claims, and volumes that attach to one node only
	bypassDevices     = "devices"         // resource claims, explicit or by an extended resource
)

// bypass is the first reason that holds, empty if none does. The cheap ones come first.
func (p *Plugin) bypass(state fwk.CycleState, pod *v1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		affinity = &v1.Affinity{}
	}
	switch {
	case p.profile().unavailable != "":
		return bypassProfile
	case pod.Spec.SchedulingGroup != nil || state.IsPodGroupSchedulingCycle():
		return bypassGroup
	case pod.Status.NominatedNodeName != "":
		return bypassNominated
	case affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil:
		return bypassPodAffinity
	case pod.Spec.NodeName != "" || namesNodes(affinity.NodeAffinity):
		return bypassNodeName
	case slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, isHard):
		return bypassSpread
	case slices.ContainsFunc(pod.Spec.Volumes, isElsewhere):
		return bypassVolumes
	case len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.InitContainers, p.asksForDevices) ||
		slices.ContainsFunc(pod.Spec.Containers, p.asksForDevices):
		return bypassDevices
	case cachebypass.RequiredBy(state) != "":
		return bypassPlugin
	case slices.ContainsFunc(p.handle.Extenders(), func(extender fwk.Extender) bool {
		return (extender.IsFilter() || extender.IsPrioritizer()) && extender.IsInterested(pod)
	}):
		return bypassExtender
	}
	if _, served := p.served.Get(pod.UID); served {
		return bypassRetry
	}
	return ""
}

func namesNodes(affinity *v1.NodeAffinity) bool {
	if affinity == nil || affinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(affinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms,
		func(term v1.NodeSelectorTerm) bool { return len(term.MatchFields) > 0 })
}

func isHard(constraint v1.TopologySpreadConstraint) bool {
	return constraint.WhenUnsatisfiable != v1.ScheduleAnyway
}

// isElsewhere is false for volumes that every node can make by itself.
func isElsewhere(volume v1.Volume) bool {
	return volume.ConfigMap == nil && volume.Secret == nil && volume.EmptyDir == nil &&
		volume.DownwardAPI == nil && volume.Projected == nil && volume.HostPath == nil
}

func (p *Plugin) asksForDevices(container v1.Container) bool {
	manager := p.handle.SharedDRAManager()
	if manager == nil {
		return false
	}
	for name := range container.Resources.Requests {
		if manager.DeviceClassResolver().GetDeviceClass(name) != nil {
			return true
		}
	}
	return false
}
