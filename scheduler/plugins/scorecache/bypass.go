package scorecache

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
)

// Reasons why a pod gets a full scheduling cycle whatever is cached: what was found for another pod may not hold for it.
const (
	// bypassProfile: the profile has a plugin that the cache does not know, or the cache is not its last PreFilter and
	// first PostFilter plugin.
	bypassProfile = "profile"
	// bypassExtender: an extender filters or prioritises the pod, and plugins do not see its results.
	bypassExtender = "extender"
	// bypassGroup: the pod is scheduled in a group, on a changed snapshot.
	bypassGroup = "pod-group"
	// bypassNominated: a node was freed for the pod by preemption, and is tried first.
	bypassNominated = "nominated"
	// bypassRetry: a cached node did not lead to a binding.
	bypassRetry = "retry"
	// bypassPlugin: a plugin treats this pod individually: it takes from a reservation, or belongs to a plan that is
	// being carried out.
	bypassPlugin = "plugin"
	// bypassNodeName: the pod names its nodes, and NodeAffinity hands them to the framework as the cache does.
	bypassNodeName = "node-name"
	// bypassPodAffinity: where the pod may go depends on where other pods are.
	bypassPodAffinity = "pod-affinity"
	// bypassSpread: a hard topology spread constraint. Each pod that is placed changes which zones are allowed.
	bypassSpread = "topology-spread"
	// bypassVolumes: claims, and volumes that attach to one node only.
	bypassVolumes = "volumes"
	// bypassDevices: resource claims, explicit or by an extended resource.
	bypassDevices = "devices"
)

// rule is a reason, and whether it holds for a pod.
type rule struct {
	reason string
	holds  func(p *Plugin, state fwk.CycleState, pod *v1.Pod) bool
}

// rules are asked in this order, the cheap ones first.
var rules = []rule{
	{bypassProfile, func(p *Plugin, _ fwk.CycleState, _ *v1.Pod) bool { return p.profile().unavailable != "" }},
	{bypassGroup, func(_ *Plugin, state fwk.CycleState, pod *v1.Pod) bool {
		return pod.Spec.SchedulingGroup != nil || state.IsPodGroupSchedulingCycle()
	}},
	{bypassNominated, func(_ *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return pod.Status.NominatedNodeName != "" }},
	{bypassPodAffinity, func(_ *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return hasPodAffinity(pod) }},
	{bypassNodeName, func(_ *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return namesNodes(pod) }},
	{bypassSpread, func(_ *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return hasHardSpread(pod) }},
	{bypassVolumes, func(_ *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return hasVolumes(pod) }},
	{bypassDevices, func(p *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return p.hasDevices(pod) }},
	{bypassPlugin, func(_ *Plugin, state fwk.CycleState, _ *v1.Pod) bool { return cachebypass.RequiredBy(state) != "" }},
	{bypassExtender, func(p *Plugin, _ fwk.CycleState, pod *v1.Pod) bool { return p.isExtended(pod) }},
	{bypassRetry, func(p *Plugin, _ fwk.CycleState, pod *v1.Pod) bool {
		_, served := p.served.Get(pod.UID)
		return served
	}},
}

// bypass is the first reason that holds, empty if none does.
func (p *Plugin) bypass(state fwk.CycleState, pod *v1.Pod) string {
	for _, rule := range rules {
		if rule.holds(p, state, pod) {
			return rule.reason
		}
	}
	return ""
}

func hasPodAffinity(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil && (affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil)
}

func namesNodes(pod *v1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 {
			return true
		}
	}
	return false
}

func hasHardSpread(pod *v1.Pod) bool {
	for i := range pod.Spec.TopologySpreadConstraints {
		if pod.Spec.TopologySpreadConstraints[i].WhenUnsatisfiable != v1.ScheduleAnyway {
			return true
		}
	}
	return false
}

// hasVolumes is false for volumes that every node can make by itself.
func hasVolumes(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i].VolumeSource
		if volume.ConfigMap == nil && volume.Secret == nil && volume.EmptyDir == nil &&
			volume.DownwardAPI == nil && volume.Projected == nil && volume.HostPath == nil {
			return true
		}
	}
	return false
}

func (p *Plugin) hasDevices(pod *v1.Pod) bool {
	if len(pod.Spec.ResourceClaims) > 0 {
		return true
	}
	manager := p.handle.SharedDRAManager()
	if manager == nil {
		return false
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			for name := range containers[i].Resources.Requests {
				if manager.DeviceClassResolver().GetDeviceClass(name) != nil {
					return true
				}
			}
		}
	}
	return false
}

func (p *Plugin) isExtended(pod *v1.Pod) bool {
	for _, extender := range p.handle.Extenders() {
		if (extender.IsFilter() || extender.IsPrioritizer()) && extender.IsInterested(pod) {
			return true
		}
	}
	return false
}
