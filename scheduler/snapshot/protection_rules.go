package snapshot

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	"k8s.io/utils/ptr"
)

// DoNotMove is the annotation with which a pod opts out of being moved.
const DoNotMove = "stowage.dev/do-not-move"

// configSource is the annotation with the source of a kubelet's pod.
const configSource = "kubernetes.io/config.source"

// replacing are the controllers that create a new pod when one is evicted, free to run anywhere.
var replacing = sets.New("ReplicaSet", "ReplicationController", "StatefulSet", "Job")

// rule is one reason why a running pod may not be disrupted. Of the rules of a list, the first that applies is the reason.
type rule struct {
	reason  string
	applies func(*subject) bool
}

// ofNode are the rules for pods that go with their node. They come before all others: a node is empty with such a pod,
// whatever else protects it.
var ofNode = []rule{
	{DaemonSet, func(s *subject) bool { return s.controllerKind() == "DaemonSet" }},
	{Mirror, func(s *subject) bool { return metav1.HasAnnotation(s.pod.ObjectMeta, v1.MirrorPodAnnotationKey) }},
	// The kubelet would start the pod again on the same node.
	{Static, func(s *subject) bool {
		source, given := s.pod.Annotations[configSource]
		return given && source != "api"
	}},
}

// lasting are the rules that hold wherever the pod runs.
var lasting = append(slices.Clone(ofNode), []rule{
	// The plan was asked to leave it alone.
	{OutOfScope, func(s *subject) bool { return s.outside || !s.isInNamespace(s.rules.Scope.Namespaces) }},
	// Another scheduler would place its replacement.
	{ForeignScheduler, func(s *subject) bool {
		if s.rules.Schedulers != nil {
			return !s.rules.Schedulers.Has(s.pod.Spec.SchedulerName)
		}
		return s.pod.Spec.SchedulerName != s.rules.SchedulerName
	}},
	{ProtectedNamespace, func(s *subject) bool {
		return s.pod.Namespace == metav1.NamespaceSystem || s.rules.ProtectedNamespaces.Has(s.pod.Namespace) ||
			!s.isInNamespace(s.rules.Namespaces)
	}},
	{SystemCritical, func(s *subject) bool { return s.class.message.Priority >= scheduling.SystemCriticalPriority }},
	// The other two annotations are of other projects.
	{OptedOut, func(s *subject) bool {
		value, set := s.pod.Annotations[DoNotMove]
		return set && value != "false" || s.pod.Annotations["karpenter.sh/do-not-disrupt"] == "true" ||
			s.pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
	}},
	// The data on the node's disk would be lost, or is only available there.
	{LocalStorage, func(s *subject) bool {
		return hasVolume(s.pod, func(source *v1.VolumeSource) bool {
			return source.HostPath != nil ||
				source.EmptyDir != nil && source.EmptyDir.Medium != v1.StorageMediumMemory && !s.rules.LocalStorage
		})
	}},
	// No controller would replace the pod.
	{Bare, func(s *subject) bool { return s.controller == nil }},
	// Whether it creates a new pod, and where, is not known.
	{UnknownController, func(s *subject) bool { return !replacing.Has(s.controllerKind()) }},
	// A Job may count an eviction as a failure, of which its backoffLimit allows so many.
	{Job, func(s *subject) bool { return s.rules.KeepJobs && s.controllerKind() == "Job" }},
	// Such a pod needs its time to shut down, and the plan would have to wait for it.
	{LongGracePeriod, func(s *subject) bool { return s.rules.MaxGracePeriod > 0 && GraceOf(s.pod) > s.rules.MaxGracePeriod }},
	// It is not known where else the pod could run. The last: it is no rule of the cluster's.
	{Unsupported, func(s *subject) bool { return len(s.class.message.Unsupported) > 0 }},
}...)

// unbudgeted are the lasting rules for pods that no disruption budget covers.
var unbudgeted = []rule{
	{StatefulSet, isOfStatefulSet},
	// While the pod is moved, no other pod serves.
	{Singleton, func(s *subject) bool {
		others := s.siblings.ready
		if IsReady(s.pod) {
			others--
		}
		return s.rules.KeepSingletons && others < 1
	}},
}

// passing are the rules that hold for now.
var passing = []rule{
	{Terminating, func(s *subject) bool { return s.pod.DeletionTimestamp != nil }},
	// The API does not know yet where it runs.
	{Binding, func(s *subject) bool { return s.pod.Spec.NodeName == "" }},
	// The Eviction API ignores disruption budgets for such a pod, so this rule protects it.
	{NotStarted, func(s *subject) bool { return s.pod.Status.Phase == v1.PodPending }},
	// The pod is still starting, or is broken.
	{NotReady, func(s *subject) bool { return s.rules.KeepNotReady && !podutil.IsPodReady(s.pod) }},
	// From the pod's start; one that has not started is too young. Without a clock, no pod is.
	{TooYoung, func(s *subject) bool {
		started := s.pod.Status.StartTime
		return s.rules.MinAge > 0 && !s.now.IsZero() && (started == nil || s.now.Sub(started.Time) < s.rules.MinAge)
	}},
	// The budget allows no disruption, or there are two: the Eviction API always refuses pods with more than one budget.
	{DisruptionBudget, func(s *subject) bool {
		budgets := s.class.budgets
		return len(budgets) > 1 || len(budgets) == 1 && budgets[0].Allowed < 1 && !isExempt(s)
	}},
}

// returning are the rules for pods that would not come back after an eviction, or not as they were.
var returning = []rule{
	// Nobody would replace the pod, and it is about to be deleted itself.
	{MissingOwner, func(s *subject) bool { return s.owner.missing }},
	// Its Job has ended or is suspended, or would fail with this pod.
	{EndingJob, func(s *subject) bool { return s.owner.job != nil && wouldEnd(s.owner.job, s.pod) }},
	// Another pod is to take its place soon, or would at once.
	{Rollout, func(s *subject) bool {
		return s.rules.KeepRollouts &&
			(s.owner.outdated || s.owner.stateful != nil && isOutdatedIn(s.owner.stateful, s.pod))
	}},
	// There are more pods than its controller wants, which would not replace it. One of them leaves anyhow.
	{ScaledDown, func(s *subject) bool {
		return s.owner.desired != nil && max(s.owner.present, s.siblings.running) > *s.owner.desired
	}},
	// The API server has refused the last pod of its controller, and may refuse the next one.
	{RefusedReplacement, func(s *subject) bool { return s.owner.refused }},
	// A LimitRange would refuse the replacement, or have it ask for something else, so that it might not fit.
	{LimitRange, func(s *subject) bool { return s.admission.verdictOn(s).limited }},
	// A ResourceQuota would refuse the replacement.
	{ResourceQuota, func(s *subject) bool { return s.admission.verdictOn(s).overQuota }},
	// No claim would be made for the replacement, which then would wait.
	{DeviceTemplateMissing, func(s *subject) bool { return s.templates().missing }},
	// The replacement's claim would ask for other devices than the pod's.
	{DeviceTemplateChanged, func(s *subject) bool { return s.templates().changed }},
}

// isInNamespace says whether the pod's namespace is selected; one that is not known yet cannot be. Nil selects all.
func (s *subject) isInNamespace(of labels.Selector) bool {
	return of == nil || s.namespace != nil && of.Matches(labels.Set(s.namespace.Labels))
}

// GoesWithItsNode says that the pod would go with its node: it is of a DaemonSet, or of the kubelet's own.
func GoesWithItsNode(pod *v1.Pod) bool { return firstOf(ofNode, subjectOf(pod, nil)) != "" }

// isOfStatefulSet: its replacement has the same name, and so comes only when the pod is gone.
func isOfStatefulSet(s *subject) bool {
	return s.rules.KeepStatefulSets && s.controllerKind() == "StatefulSet"
}

func (s *subject) controllerKind() string {
	if s.controller == nil {
		return ""
	}
	return s.controller.Kind
}

// GraceOf is how long the pod may take to terminate, at most some decades: the API accepts longer times than a Duration has.
func GraceOf(pod *v1.Pod) time.Duration {
	seconds := ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	return time.Duration(min(seconds, math.MaxInt32)) * time.Second
}

// IsReady says whether the pod serves and will continue to.
func IsReady(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) }

// isExempt: the Eviction API lets the pod go without its budget.
func isExempt(s *subject) bool {
	budgets := s.class.budgets
	return len(budgets) == 1 && budgets[0].exemptsUnready && !podutil.IsPodReady(s.pod)
}

// Reasons why a running pod may not be disrupted.
const (
	Terminating        = "terminating"
	Binding            = "binding"
	OutOfScope         = "out-of-scope"
	ForeignScheduler   = "foreign-scheduler"
	ProtectedNamespace = "protected-namespace"
	SystemCritical     = "system-critical"
	Mirror             = "mirror"
	Static             = "static"
	Bare               = "bare"
	DaemonSet          = "daemonset"
	UnknownController  = "unknown-controller"
	OptedOut           = "opted-out"
	LocalStorage       = "local-storage"
	Unsupported        = "unsupported"
	Job                = "job"
	StatefulSet        = "statefulset"
	Singleton          = "singleton"
	LongGracePeriod    = "long-grace-period"
	DisruptionBudget   = "disruption-budget"
	NotStarted         = "not-started"
	NotReady           = "not-ready"
	TooYoung           = "too-young"
	CoolingDown        = "cooling-down"
	MissingOwner       = "missing-owner"
	EndingJob          = "ending-job"
	Rollout            = "rollout"
	ScaledDown         = "scaled-down"
	RefusedReplacement = "refused-replacement"
	LimitRange         = "limit-range"
	ResourceQuota      = "resource-quota"
	LostReplacement    = "lost-replacement"
	NotWhole           = "not-whole"

	DeviceTemplateMissing = "device-template-missing"
	DeviceTemplateChanged = "device-template-changed"
)
