package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// Rules say which pods this scheduler may disrupt.
type Rules struct {
	SchedulerName       string
	ProtectedNamespaces sets.Set[string]
	// Namespaces selects by label the namespaces whose pods may be disrupted; nil selects all.
	Namespaces labels.Selector
	// Schedulers are those whose pods may be disrupted; nil: SchedulerName alone.
	Schedulers sets.Set[string]
	// Scope is what a plan may touch, beside all other rules.
	Scope Scope
	// MinAge is how long a pod must have run before it may be disrupted.
	MinAge time.Duration
	// MaxGracePeriod is the longest grace period of a pod that may be disrupted; zero: any.
	MaxGracePeriod time.Duration
	// LocalStorage allows disruptions of pods with data on their node.
	LocalStorage bool
	// KeepJobs protects pods of Jobs.
	KeepJobs bool
	// KeepStatefulSets protects pods of StatefulSets that no disruption budget covers.
	KeepStatefulSets bool
	// KeepSingletons protects a pod that no disruption budget covers and whose controller has no other ready pod.
	KeepSingletons bool
	// KeepNotReady protects pods that are not ready.
	KeepNotReady bool
	// KeepRollouts protects pods that their controller is about to replace by pods of another template.
	KeepRollouts bool
	// InTurn has the pods of a disruption budget leave one after the other, each when the budget allows it again: one that
	// allows a disruption now allows them all.
	InTurn bool
	// CountsDevices has pods count by the devices that they ask for where the pods of a tier with a node are counted.
	CountsDevices bool
	// GroupKinds are the groups of other projects of which plans place all pods or none.
	GroupKinds []GroupKind
}

// Scope selects by label the nodes that pods may leave and go to, and the namespaces of the pods. Nil selects all.
type Scope struct{ Nodes, Namespaces labels.Selector }

// hasNode says whether the node is in the scope.
func (s Scope) hasNode(node *v1.Node) bool {
	return s.Nodes == nil || s.Nodes.Matches(labels.Set(node.Labels))
}

// subject is a pod with everything that rules read. Of the class they read the priority, what is unsupported, and the
// budgets.
type subject struct {
	*known
	// node is empty for a pending pod.
	node      string
	class     *class
	namespace *v1.Namespace
	book      *resources.Book
	// siblings are the pods of its controller, including itself.
	siblings  siblings
	owner     owner
	admission *admission
	// ofClaims is about the templates of the pod's claims; nil: no rule has asked yet.
	ofClaims *templates
	// outside: its node is not in the scope.
	outside bool
	now     time.Time
	rules   *Rules
}

// A reason with no known end is checked again after a time equal to the pod's age, within these bounds: most pods start
// soon or not at all.
const (
	lookAgainSoon = 5 * time.Second
	lookAgainLate = 5 * time.Minute
	// LookAgain is the time after which is checked again whether a pod would come back.
	LookAgain = 30 * time.Second
)

// passes is when the reason may end, for reasons whose end causes no event that wakes up waiting pods, such as pods that
// have started or become ready. Zero: not by itself, or at no known time.
func (s *subject) passes(reason string) time.Time {
	switch {
	case s.now.IsZero():
	case reason == TooYoung && s.pod.Status.StartTime != nil:
		return s.pod.Status.StartTime.Add(s.rules.MinAge)
	case reason == TooYoung, reason == NotStarted, reason == NotReady:
		age := s.now.Sub(s.pod.CreationTimestamp.Time)
		return s.now.Add(min(max(age, lookAgainSoon), lookAgainLate))
	case reason == Rollout, reason == RefusedReplacement:
		return s.now.Add(LookAgain)
	}
	return time.Time{}
}

// ProtectedNow is why the pod, as the API server shows it now, may not be disrupted, or "". It checks all rules that
// depend only on the pod and its namespace, and leaves disruption budgets to the Eviction API, and pods without one to
// UnbudgetedNow. A namespace that is not known is nil.
func ProtectedNow(
	pod *v1.Pod, book *resources.Book, groups Groups, namespace *v1.Namespace, now time.Time, rules Rules,
) string {
	of := subjectOf(pod, &rules)
	of.namespace, of.now = namespace, now
	of.class = &class{message: &contract.PodClass{
		Priority: corev1helpers.PodPriority(pod), Unsupported: unsupported(pod, book, groups)}}
	return cmp.Or(firstOf(lasting, of), firstOf(passing, of))
}

// subjectOf is the pod alone, for rules that read nothing else.
func subjectOf(pod *v1.Pod, rules *Rules) *subject {
	return &subject{known: &known{pod: pod, controller: metav1.GetControllerOfNoCopy(pod)}, rules: rules}
}

// UnbudgetedNow is why a pod that no disruption budget covers may not be disrupted now, or "". It asks for the budgets of
// its namespace and the pods of its controller only where a rule depends on them. So many siblings that the plan itself
// leaves unplaced are not missed: the plan was made so.
func UnbudgetedNow(
	pod *v1.Pod, rules Rules, unplaced int, budgets func() []*policyv1.PodDisruptionBudget, siblings func() []*v1.Pod,
) string {
	of := subjectOf(pod, &rules)
	of.siblings.ready = unplaced
	if of.controller == nil || !rules.KeepSingletons && !isOfStatefulSet(of) {
		return ""
	}
	for _, object := range budgets() {
		if budgetOf(object).selector.Matches(labels.Set(pod.Labels)) {
			return ""
		}
	}
	for _, sibling := range siblings() {
		if IsReady(sibling) {
			of.siblings.ready++
		}
	}
	return firstOf(unbudgeted, of)
}

// IsPassing says that the reason holds for now only: a pod that is the only ready one may get siblings. While a pod that was
// moved within a full quota is terminating, its replacement is refused, which ends by itself.
func IsPassing(reason string) bool {
	return reason == Singleton || reason == RefusedReplacement || reason == ResourceQuota ||
		slices.ContainsFunc(passing, func(one rule) bool { return one.reason == reason })
}

// firstOf is the reason of the first rule that applies, or "".
func firstOf(rules []rule, to *subject) string {
	for _, one := range rules {
		if one.applies(to) {
			return one.reason
		}
	}
	return ""
}

// protection is why the running pod may not be disrupted, now and once it has settled on another node.
func protection(of *subject) (now, atRest string) {
	atRest = firstOf(lasting, of)
	if atRest == "" && len(of.class.budgets) == 0 {
		atRest = firstOf(unbudgeted, of)
	}
	switch {
	case of.pod.DeletionTimestamp != nil:
		return Terminating, atRest
	case atRest != "" && of.pod.Spec.NodeName != "":
		return atRest, atRest
	}
	if now = firstOf(passing, of); now == "" {
		now = firstOf(returning, of)
	}
	return now, atRest
}

// Protection counts the running pods that one rule keeps where they are.
type Protection struct {
	Reason string
	Pods   int
	// Example is the namespace and name of one of them, the first in the order of names; and what it needs, if that is why.
	Example string
	// InTheWayOf is how many pods keep waiting although they would fit on some node if it were not for protected pods
	// there, of which this rule protects some. Only room counts, not taints, selectors or affinities.
	InTheWayOf int
}

// guardedNode is a node with protected pods: what it has, what these leave of it, and the bits of the rules.
type guardedNode struct {
	whole, left resources.Vector
	reasons     uint64
}

// inTheWayOf are the bits of the rules that keep room from a pod, of all there are. A node whose rules are all known by then
// is not looked at: there are few rules and many nodes.
func inTheWayOf(requests resources.Vector, nodes []*guardedNode, all uint64) (reasons uint64) {
	for _, node := range nodes {
		if reasons == all {
			break
		}
		if node.reasons&^reasons != 0 && requests.FitsIn(node.whole) && !requests.FitsIn(node.left) {
			reasons |= node.reasons
		}
	}
	return reasons
}

// Protections are the rules that keep running pods where they are, those first that are in the way of most of the
// waiting pods; waits tells which of those no plan places.
func (s *Snapshot) Protections(waits func(types.UID) bool) []Protection {
	protections, number := []Protection{}, map[string]int{}
	guarded := map[string]*guardedNode{}
	for _, message := range s.Message.Pods { // in the order of names
		pod := s.Pods[types.UID(message.Uid)]
		if pod == nil || pod.Immovable == "" {
			continue
		}
		by, known := number[pod.Immovable]
		if !known {
			by = len(protections)
			number[pod.Immovable] = by
			example := pod.Object.Namespace + "/" + pod.Object.Name
			if needs := s.classes[pod.Class].message.Unsupported; pod.Immovable == Unsupported {
				example += " (" + strings.Join(needs, ", ") + ")"
			}
			protections = append(protections, Protection{Reason: pod.Immovable, Example: example})
		}
		protections[by].Pods++
		on := guarded[pod.Node]
		if on == nil {
			on = &guardedNode{whole: s.Nodes[pod.Node].Allocatable, left: s.Nodes[pod.Node].Allocatable}
			guarded[pod.Node] = on
		}
		on.reasons |= 1 << by
		on.left = on.left.Minus(pod.Requests)
	}
	nodes := slices.Collect(maps.Values(guarded))
	inTheWay := map[string]uint64{} // by class
	for uid, pod := range s.Pods {
		if pod.Node != "" || pod.Unsupported || !waits(uid) {
			continue
		}
		reasons, known := inTheWay[pod.Class]
		if !known {
			reasons = inTheWayOf(pod.Requests, nodes, 1<<len(protections)-1)
			inTheWay[pod.Class] = reasons
		}
		for by := range protections {
			protections[by].InTheWayOf += int(reasons >> by & 1)
		}
	}
	slices.SortFunc(protections, func(a, b Protection) int {
		return cmp.Or(cmp.Compare(b.InTheWayOf, a.InTheWayOf), cmp.Compare(b.Pods, a.Pods), cmp.Compare(a.Reason, b.Reason))
	})
	return protections
}
