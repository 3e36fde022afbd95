package scorecache

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
)

// bypass is the first reason why the pod gets a full scheduling cycle whatever is cached, because what was found for
// another pod may not hold for it; empty if none holds. The cheap ones come first.
func (p *Plugin) bypass(state fwk.CycleState, pod *v1.Pod) string {
	affinity := pod.Spec.Affinity
	if affinity == nil {
		affinity = &v1.Affinity{}
	}
	switch {
	case p.profile().unavailable != "": // it has an unknown plugin, or lists the cache in the wrong place
		return "profile"
	case pod.Spec.SchedulingGroup != nil || state.IsPodGroupSchedulingCycle(): // on a changed snapshot
		return "pod-group"
	case pod.Status.NominatedNodeName != "": // a node was freed for the pod by preemption, and is tried first
		return "nominated"
	case affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil: // the place depends on those of other pods
		return "pod-affinity"
	case pod.Spec.NodeName != "" || namesNodes(affinity.NodeAffinity): // NodeAffinity passes them on as the cache does
		return "node-name"
	case slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, isHard): // each pod changes which zones are allowed
		return "topology-spread"
	case slices.ContainsFunc(pod.Spec.Volumes, isElsewhere): // claims, and volumes that attach to one node only
		return "volumes"
	case len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.InitContainers, p.asksForDevices) ||
		slices.ContainsFunc(pod.Spec.Containers, p.asksForDevices):
		return "devices"
	case cachebypass.Required(state): // a plugin treats this pod individually, as for a reservation or a plan
		return "plugin"
	case slices.ContainsFunc(p.handle.Extenders(), func(extender fwk.Extender) bool {
		return (extender.IsFilter() || extender.IsPrioritizer()) && extender.IsInterested(pod)
	}): // plugins do not see its results
		return "extender"
	}
	if _, served := p.served.Get(pod.UID); served { // the cached node did not lead to a binding
		return "retry"
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
	for name := range container.Resources.Requests {
		if p.book.IsServed(name) {
			return true
		}
	}
	return false
}
