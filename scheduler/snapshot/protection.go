package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
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
}

// subject is a running pod with everything that rules read. Of the class they read only the priority and what is
// unsupported.
type subject struct {
	pod *v1.Pod
	// controller is nil if it has none.
	controller *metav1.OwnerReference
	class      *contract.PodClass
	namespace  *v1.Namespace
	budgets    []*Budget
	// ready counts the ready pods of its controller, including itself, and running those with a node.
	ready   int
	running int32
	// owner is what is known of its controller; nil is nothing.
	owner     *owner
	admission *admission
	now       time.Time
	rules     Rules
}

// rule is one reason why a running pod may not be disrupted.
type rule struct {
	reason  string
	applies func(*subject) bool
}

// lasting are the rules that hold wherever the pod runs. The first match names the reason.
var lasting = []rule{
	{ForeignScheduler, hasForeignScheduler},
	{ProtectedNamespace, isInProtectedNamespace},
	{SystemCritical, isSystemCritical},
	{OptedOut, hasOptedOut},
	{Unsupported, needsTheUnsupported},
	{LocalStorage, hasLocalStorage},
	{Mirror, isMirror},
	{Static, isStatic},
	{Bare, isBare},
	{DaemonSet, isOfDaemonSet},
	{UnknownController, isOfUnknownController},
	{Job, isOfJob},
	{LongGracePeriod, takesLongToEnd},
}

// unbudgeted are the lasting rules for pods that no disruption budget covers.
var unbudgeted = []rule{
	{StatefulSet, isOfStatefulSet},
	{Singleton, isSingleton},
}

// passing are the rules that hold for now.
var passing = []rule{
	{Terminating, isTerminating},
	{Binding, isBinding},
	{NotStarted, hasNotStarted},
	{NotReady, isNotReady},
	{TooYoung, isTooYoung},
	{DisruptionBudget, isKeptByBudgets},
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
// depend only on the pod and its namespace, and leaves disruption budgets to the Eviction API. A namespace that is not
// known is nil.
func ProtectedNow(pod *v1.Pod, namespace *v1.Namespace, now time.Time, rules Rules) string {
	class := &contract.PodClass{Priority: corev1helpers.PodPriority(pod), Unsupported: unsupported(pod)}
	of := &subject{pod: pod, controller: metav1.GetControllerOfNoCopy(pod), class: class, namespace: namespace, now: now, rules: rules}
	if reason := firstOf(lasting, of); reason != "" {
		return reason
	}
	return firstOf(passing, of)
}

// IsPassing says that the reason holds for now only. While a pod that was moved within a full quota is terminating, its
// replacement is refused, which ends by itself.
func IsPassing(reason string) bool {
	return reason == RefusedReplacement || reason == ResourceQuota || slices.ContainsFunc(passing, func(one rule) bool { return one.reason == reason })
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
	if atRest == "" && len(of.budgets) == 0 {
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
	// Example is the namespace and name of one of them, the first in the order of names.
	Example string
	// InTheWayOf is how many pods keep waiting although they would fit on some node if it were not for protected pods
	// there, of which this rule protects some. Only room counts, not taints, selectors or affinities.
	InTheWayOf int
}

// Protections are the rules that keep running pods where they are, those first that are in the way of most of the
// waiting pods; waits tells which of those no plan places.
func (s *Snapshot) Protections(waits func(types.UID) bool) []Protection {
	byReason := map[string]*Protection{}
	onNode := map[string]sets.Set[string]{}
	room := map[string]resources.Vector{}
	for _, message := range s.Message.Pods { // in the order of names
		pod := s.Pods[types.UID(message.Uid)]
		if pod == nil || pod.Immovable == "" {
			continue
		}
		if byReason[pod.Immovable] == nil {
			byReason[pod.Immovable] = &Protection{Reason: pod.Immovable, Example: pod.Object.Namespace + "/" + pod.Object.Name}
		}
		byReason[pod.Immovable].Pods++
		if onNode[pod.Node] == nil {
			onNode[pod.Node], room[pod.Node] = sets.New[string](), s.Nodes[pod.Node].Allocatable
		}
		onNode[pod.Node].Insert(pod.Immovable)
		room[pod.Node] = room[pod.Node].Minus(pod.Requests)
	}
	inTheWay := map[string]sets.Set[string]{} // by class
	for uid, pod := range s.Pods {
		if pod.Node != "" || pod.Unsupported || !waits(uid) {
			continue
		}
		if inTheWay[pod.Class] == nil {
			inTheWay[pod.Class] = sets.New[string]()
			for node, left := range room {
				if pod.Requests.FitsIn(s.Nodes[node].Allocatable) && !pod.Requests.FitsIn(left) {
					inTheWay[pod.Class] = inTheWay[pod.Class].Union(onNode[node])
				}
			}
		}
		for reason := range inTheWay[pod.Class] {
			byReason[reason].InTheWayOf++
		}
	}
	protections := make([]Protection, 0, len(byReason))
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		protections = append(protections, *byReason[reason])
	}
	slices.SortStableFunc(protections, func(a, b Protection) int {
		return cmp.Or(cmp.Compare(b.InTheWayOf, a.InTheWayOf), cmp.Compare(b.Pods, a.Pods))
	})
	return protections
}
