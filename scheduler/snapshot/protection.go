package snapshot

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
)

// Rules say which pods this scheduler may touch.
type Rules struct {
	SchedulerName       string
	ProtectedNamespaces sets.Set[string]
	// Namespaces selects by label the namespaces whose pods may be disturbed; nil selects all.
	Namespaces labels.Selector
	// MinAge is how long a pod must have run before it is disturbed.
	MinAge time.Duration
	// LocalStorage lets pods with data on their node be disturbed.
	LocalStorage bool
}

// subject is a running pod, and all that rules look at.
type subject struct {
	pod       *v1.Pod
	class     *contract.PodClass
	namespace *v1.Namespace
	budgets   []*Budget
	now       time.Time
	rules     Rules
}

// rule is one reason why a running pod may not be disturbed.
type rule struct {
	reason  string
	applies func(subject) bool
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
}

// passing are the rules that hold for now.
var passing = []rule{
	{Terminating, isTerminating},
	{Binding, isBinding},
	{NotStarted, hasNotStarted},
	{TooYoung, isTooYoung},
	{DisruptionBudget, isKeptByBudgets},
}

// firstOf is the reason of the first rule that applies, or "".
func firstOf(rules []rule, to subject) string {
	for _, one := range rules {
		if one.applies(to) {
			return one.reason
		}
	}
	return ""
}

// protection is why the running pod may not be disturbed, now and once it is at rest elsewhere.
func protection(of subject) (now, atRest string) {
	atRest = firstOf(lasting, of)
	switch {
	case of.pod.DeletionTimestamp != nil:
		return Terminating, atRest
	case atRest != "" && of.pod.Spec.NodeName != "":
		return atRest, atRest
	}
	return firstOf(passing, of), atRest
}
