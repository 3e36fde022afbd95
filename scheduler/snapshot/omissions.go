package snapshot

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// What the message lacks although the cluster has it, or holds fast although no rule of the cluster says so. A proof about
// the message is none about the cluster then.
const (
	untriedPods     = "waiting pods that the scheduler has yet to try"
	droppedPods     = "waiting pods that are left to another plan or to the scheduler"
	unsupportedPods = "waiting pods that need what no plan can give"
	unmovablePods   = "running pods that stay, since they need what no plan can give"
	unsentPods      = "pods whose class could not be sent"
	refusedPairs    = "pairs of pod class and node that were refused"
	unsentNodes     = "nodes that could not be sent"
	unsentBudgets   = "disruption budgets that could not be sent"
	unknownSpaces   = "namespaces that could not be read"
	reservedNodes   = "nodes with reserved room, which counts as taken for all"
	heldDevices     = "nodes with devices that count as taken, although other claims or pods could get them"
	incompletePools = "pools of devices that their driver is still publishing"
)

// pinnedPods are running pods that stay for a reason that is not in the snapshot.
func pinnedPods(reason string) string { return "running pods that stay: " + reason }

// Omission is something that the message lacks, and how many there are.
type Omission struct {
	What  string
	Count int
}

// String is the count in words.
func (o Omission) String() string { return fmt.Sprintf("%d %s", o.Count, o.What) }

// omitted is what a proof about the message does not cover.
type omitted struct {
	counts map[string]int
	// waiting are the priorities of the waiting pods that no plan for this snapshot can place.
	waiting []int32
}

func (o *omitted) add(what string, count int) {
	if count == 0 {
		return
	}
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	o.counts[what] += count
}

func (o *omitted) addWaiting(what string, pod *v1.Pod) {
	o.add(what, 1)
	o.waiting = append(o.waiting, corev1helpers.PodPriority(pod))
}

// Omissions are what of the cluster a proof about the message says nothing about, in the order of its words. Nothing: such a
// proof is one about the cluster. What the cluster's own rules protect belongs to the problem.
func (s *Snapshot) Omissions() []Omission {
	all := make([]Omission, 0, len(s.omitted.counts))
	for _, what := range slices.Sorted(maps.Keys(s.omitted.counts)) {
		all = append(all, Omission{what, s.omitted.counts[what]})
	}
	return all
}

// aboutWaiting are the parts that are about waiting pods alone.
var aboutWaiting = sets.New(untriedPods, droppedPods, unsupportedPods)

// OmissionsAmongRunning are the same for a proof that is about running pods alone.
func (s *Snapshot) OmissionsAmongRunning() []Omission {
	return slices.DeleteFunc(s.Omissions(), func(one Omission) bool { return aboutWaiting.Has(one.What) })
}

// WaitingOmitted counts the waiting pods that no plan for this snapshot can place.
func (s *Snapshot) WaitingOmitted() int { return len(s.omitted.waiting) }

// WaitingFrom counts the waiting pods of the cluster with at least that priority, also those that are omitted.
func (s *Snapshot) WaitingFrom(priority int32) int {
	count := 0
	for _, pod := range s.Pods {
		if pod.Node == "" && !pod.Unsupported && pod.Priority >= priority {
			count++
		}
	}
	for _, one := range s.omitted.waiting {
		if one >= priority {
			count++
		}
	}
	return count
}

// noteOmissions notes what the snapshot, as it was taken, does not show of the cluster.
func (s *Snapshot) noteOmissions(input Input, budgets *budgetIndex) {
	for _, pod := range input.Untried {
		if counts(pod, nodeOf(pod, input.Reserved), input.Rules) {
			s.omitted.addWaiting(untriedPods, pod)
		}
	}
	for _, pod := range s.Pods {
		switch waits := pod.Node == ""; {
		case s.classes[pod.Class].stripped && waits:
			s.omitted.addWaiting(unsentPods, pod.Object)
		case s.classes[pod.Class].stripped:
			s.omitted.add(unsentPods, 1)
		case waits && pod.Unsupported:
			s.omitted.addWaiting(unsupportedPods, pod.Object)
		case pod.Immovable == Unsupported:
			s.omitted.add(unmovablePods, 1)
		}
	}
	s.omitted.add(unsentBudgets, len(budgets.all)-len(s.Message.DisruptionBudgets))
	for _, room := range input.Held {
		if !room.IsZero() {
			s.omitted.add(reservedNodes, 1)
		}
	}
	s.omitted.add(unknownSpaces, s.unknownNamespaces(input))
}

// unknownNamespaces counts the namespaces whose labels a rule or a pod reads, but which are not known.
func (s *Snapshot) unknownNamespaces(input Input) int {
	if input.Rules.Namespaces == nil && input.Rules.Scope.Namespaces == nil && !s.Classes.labels.selectsNamespaces {
		return 0
	}
	unknown := sets.New[string]()
	for _, pod := range s.Pods {
		unknown.Insert(pod.Object.Namespace)
	}
	for _, one := range input.Namespaces {
		unknown.Delete(one.Name)
	}
	return unknown.Len()
}
