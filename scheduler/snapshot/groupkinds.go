package snapshot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// GroupKind says how the pods of another project's groups are recognised. The scheduler tries such pods one by one, so only
// plans keep them together.
type GroupKind struct {
	// Name is that of the kind of object, such as JobSet.
	Name string `json:"name"`
	// Labels are the keys whose values together name a pod's group in its namespace. A kind without labels is not recognised.
	Labels []string `json:"labels,omitempty"`
	// SizeAnnotation is the key of the number of the group's pods; empty: it has as many as there are.
	SizeAnnotation string `json:"sizeAnnotation,omitempty"`
	// LeavesWhole: the project starts all pods of the group anew when one goes.
	LeavesWhole bool `json:"leavesWhole,omitempty"`
}

// KnownGroupKinds are recognised unless the plugin's arguments say otherwise. Of two that fit a pod, the first counts.
var KnownGroupKinds = []GroupKind{
	{Name: "LeaderWorkerSet", LeavesWhole: true, SizeAnnotation: "leaderworkerset.sigs.k8s.io/size",
		Labels: []string{"leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"}},
	{Name: "JobSet", LeavesWhole: true, Labels: []string{"jobset.sigs.k8s.io/jobset-name"}},
	{Name: "KueuePodGroup", Labels: []string{"kueue.x-k8s.io/pod-group-name"}, SizeAnnotation: "kueue.x-k8s.io/pod-group-total-count"},
	{Name: "CoschedulingPodGroup", Labels: []string{"scheduling.x-k8s.io/pod-group"}},
	{Name: "VolcanoJob", Labels: []string{"volcano.sh/job-name"}},
}

// GroupKinds are the known kinds with the others: one that has the name of a known kind replaces it.
func GroupKinds(others []GroupKind) []GroupKind {
	kinds := slices.Clone(KnownGroupKinds)
	for _, other := range others {
		at := slices.IndexFunc(kinds, func(one GroupKind) bool { return one.Name == other.Name })
		if at < 0 {
			kinds = append(kinds, other)
		} else {
			kinds[at] = other
		}
	}
	return slices.DeleteFunc(kinds, func(one GroupKind) bool { return len(one.Labels) == 0 })
}

// of is the ID of the pod's group, or "".
func (k *GroupKind) of(pod *v1.Pod) string {
	names := []string{k.Name, pod.Namespace}
	for _, key := range k.Labels {
		value := pod.Labels[key]
		if value == "" {
			return ""
		}
		names = append(names, value)
	}
	return strings.Join(names, "/")
}

// size is how many pods the group has by the pod's annotation, and 0 without one.
func (k *GroupKind) size(pod *v1.Pod) int32 {
	size, _ := strconv.ParseInt(pod.Annotations[k.SizeAnnotation], 10, 32) // of a bad one, 0
	return int32(max(0, size))
}

// Gang is the ID of the gang that the pod is of under the rules, or "": its pod group, or a group of another project.
func (r *Rules) Gang(pod *v1.Pod) string {
	id, _ := r.groupKind(pod)
	return cmp.Or(GroupOf(pod), id)
}

// groupKind is the group of another project that the pod is of, and its kind; none for a pod of a pod group.
func (r *Rules) groupKind(pod *v1.Pod) (id string, kind *GroupKind) {
	if IsInGroup(pod) {
		return "", nil
	}
	for i := range r.GroupKinds {
		if id := r.GroupKinds[i].of(pod); id != "" {
			return id, &r.GroupKinds[i]
		}
	}
	return "", nil
}

// groupLabels are the keys of all labels by which groups are recognised.
func (r *Rules) groupLabels() sets.Set[string] {
	keys := sets.New[string]()
	for _, kind := range r.GroupKinds {
		keys.Insert(kind.Labels...)
	}
	return keys
}

// addGroupsOfOthers adds the groups of other projects to those that the scheduler knows, by their IDs. All pods of one are
// enough: how many could do without the others, its own object says, and that is not read.
func addGroupsOfOthers(found map[string]*group, rules *Rules, lists ...[]*v1.Pod) {
	others := map[string]*group{}
	for _, pods := range lists {
		for _, pod := range pods {
			id, kind := rules.groupKind(pod)
			if id == "" {
				continue
			}
			of := others[id]
			if of == nil {
				of = &group{scheduler: pod.Spec.SchedulerName, refused: sets.New[string]()}
				of.Gang, of.LeavesWhole = true, kind.LeavesWhole
				others[id] = of
			}
			of.addOfOthers(pod, kind.size(pod))
		}
	}
	for id, of := range others {
		of.MinCount = max(1, cmp.Or(of.size, of.pods+of.finished)-of.finished)
		found[id] = of
	}
}
