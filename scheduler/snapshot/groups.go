package snapshot

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/minor"
)

// Why no plan contains the pods of a pod group. All but the last hold for every pod of the group.
const (
	// podGroup: the scheduler does not know the group, so it would not keep its pods together.
	podGroup = "pod-group"
	// podGroupComposite: its group is part of another one, which is placed as a whole.
	podGroupComposite = "pod-group-composite"
	podGroupClaims    = "pod-group-claims"
	// The scheduler tries no pod of a group whose pods differ in these, or of which one differs from the group.
	podGroupPriority         = "pod-group-priority"
	podGroupPreemptionPolicy = "pod-group-preemption-policy"
	podGroupScheduler        = "pod-group-scheduler"
	// podGroupGated: a pod of it has scheduling gates, and the scheduler tries none of the others until they are gone.
	podGroupGated = "pod-group-gated"
	// podGroupDevices: pods that get shared devices come one after the other, but those of a group all at once.
	podGroupDevices = "pod-group-shared-devices"
)

// Groups finds a pod group by its namespace and name. Nil: the scheduler knows of no groups.
type Groups func(namespace, name string) (minor.Group, bool)

// IsInGroup says whether the pod belongs to a pod group, whose pods the scheduler tries together.
func IsInGroup(pod *v1.Pod) bool { return pod.Spec.SchedulingGroup != nil }

// GroupOf is "<namespace>/<name>" of the pod's group, or "". It is the ID of the gang.
func GroupOf(pod *v1.Pod) string {
	if !IsInGroup(pod) {
		return ""
	}
	return pod.Namespace + "/" + ptr.Deref(pod.Spec.SchedulingGroup.PodGroupName, "")
}

// group is a pod group that the scheduler knows, and why no plan keeps it.
type group struct {
	minor.Group
	scheduler string
	policy    v1.PreemptionPolicy
	refused   sets.Set[string]
	// size is how many pods a group of another project says that it has, pods and finished are how many there are.
	size, pods, finished int32
}

// groupsOf are the groups of the pods, by their IDs; nil for one that the scheduler does not know. A pod counts although no
// plan may place it, as the scheduler tries a group whole or not at all.
func groupsOf(find Groups, lists ...[]*v1.Pod) map[string]*group {
	found := map[string]*group{}
	if find == nil {
		return found
	}
	for _, pods := range lists {
		for _, pod := range pods {
			if !IsInGroup(pod) || podutil.IsPodTerminal(pod) {
				continue
			}
			id := GroupOf(pod)
			one, seen := found[id]
			if !seen {
				one = newGroup(find, pod)
				found[id] = one
			}
			if one != nil {
				one.add(pod)
			}
		}
	}
	return found
}

// newGroup is that of its first pod.
func newGroup(find Groups, first *v1.Pod) *group {
	known, exists := find(first.Namespace, ptr.Deref(first.Spec.SchedulingGroup.PodGroupName, ""))
	if !exists {
		return nil
	}
	of := &group{Group: known, scheduler: first.Spec.SchedulerName, policy: known.PreemptionPolicy, refused: sets.New[string]()}
	if of.policy == "" {
		of.policy = preemptionPolicyOf(first)
	}
	of.refuse(podGroupComposite, known.Parent != "")
	of.refuse(podGroupClaims, known.HasClaims)
	return of
}

func (g *group) add(pod *v1.Pod) {
	g.refuse(podGroupPriority, corev1helpers.PodPriority(pod) != g.Priority)
	g.refuse(podGroupPreemptionPolicy, preemptionPolicyOf(pod) != g.policy)
	g.refuseApart(pod)
}

// addOfOthers adds a pod of a group that the scheduler does not know, and its size by the pod's annotation.
func (g *group) addOfOthers(pod *v1.Pod, size int32) {
	g.size = max(g.size, size)
	if podutil.IsPodTerminal(pod) {
		g.finished++
		return
	}
	g.pods++
	g.refuseApart(pod)
}

// refuseApart refuses the group of a pod that does not come when the others do.
func (g *group) refuseApart(pod *v1.Pod) {
	g.refuse(podGroupScheduler, pod.Spec.SchedulerName != g.scheduler)
	g.refuse(podGroupGated, len(pod.Spec.SchedulingGates) > 0) // a pod with a node has none
}

func (g *group) refuse(reason string, applies bool) {
	if applies {
		g.refused.Insert(reason)
	}
}

func preemptionPolicyOf(pod *v1.Pod) v1.PreemptionPolicy {
	return ptr.Deref(pod.Spec.PreemptionPolicy, v1.PreemptLowerPriority)
}

// refusedInGroup names why no plan contains the pods of the group. sharesDevices: one needs devices that pods share or that
// overlap.
func refusedInGroup(of *group, sharesDevices bool) []string {
	if of == nil {
		return []string{podGroup}
	}
	refused := sets.List(of.refused)
	if sharesDevices {
		refused = append(refused, podGroupDevices)
	}
	return refused
}

// addGroup adds to the class which gang its pods are of, and why no plan contains them because of that.
func (c *classes) addGroup(message *contract.PodClass, pod *v1.Pod) {
	id := c.rules.Gang(pod)
	if id == "" {
		return
	}
	of := c.groups[id]
	if of != nil {
		message.Gang = id
	}
	message.Unsupported = append(message.Unsupported, refusedInGroup(of, len(message.DeviceRequests) > 0)...)
}

// gangs are those that classes name, in order. The pods of any group are a gang, of which one pod is enough if the group
// needs no more: the scheduler tries them together, so a plan carries out together what it does with them.
func (c *classes) gangs() []*contract.Gang {
	named := sets.New[string]()
	for _, one := range c.found {
		if one.message.Gang != "" {
			named.Insert(one.message.Gang)
		}
	}
	return converted(sets.List(named), func(id string) *contract.Gang {
		of := c.groups[id]
		return &contract.Gang{Id: id, MinCount: of.MinCount, LeavesWhole: of.LeavesWhole, TopologyKey: of.TopologyKey}
	})
}
