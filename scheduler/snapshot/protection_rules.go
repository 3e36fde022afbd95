package snapshot

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	"k8s.io/utils/ptr"
)

// DoNotMove is the annotation with which a pod opts out of being moved.
const DoNotMove = "stowage.dev/do-not-move"

// configSource is the annotation with the source of a kubelet's pod.
const configSource = "kubernetes.io/config.source"

// optOuts are annotations of other projects that forbid a disruption.
var optOuts = map[string]string{
	"karpenter.sh/do-not-disrupt":                    "true",
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}

// replacing are the controllers that create a new pod when one is evicted, free to run anywhere.
var replacing = sets.New("ReplicaSet", "ReplicationController", "StatefulSet", "Job")

// hasForeignScheduler: another scheduler would place its replacement.
func hasForeignScheduler(s *subject) bool {
	if s.rules.Schedulers != nil {
		return !s.rules.Schedulers.Has(s.pod.Spec.SchedulerName)
	}
	return s.pod.Spec.SchedulerName != s.rules.SchedulerName
}

// isOutOfScope: the plan was asked to leave it alone.
func isOutOfScope(s *subject) bool {
	if of := s.rules.Scope.Namespaces; of != nil && (s.namespace == nil || !of.Matches(labels.Set(s.namespace.Labels))) {
		return true
	}
	return s.outside
}

// isInProtectedNamespace: a namespace that is not known yet cannot be selected.
func isInProtectedNamespace(s *subject) bool {
	if s.pod.Namespace == metav1.NamespaceSystem || s.rules.ProtectedNamespaces.Has(s.pod.Namespace) {
		return true
	}
	if s.rules.Namespaces == nil {
		return false
	}
	return s.namespace == nil || !s.rules.Namespaces.Matches(labels.Set(s.namespace.Labels))
}

func isSystemCritical(s *subject) bool { return s.class.Priority >= scheduling.SystemCriticalPriority }

func hasOptedOut(s *subject) bool {
	if value, set := s.pod.Annotations[DoNotMove]; set && value != "false" {
		return true
	}
	for annotation, value := range optOuts {
		if s.pod.Annotations[annotation] == value {
			return true
		}
	}
	return false
}

// needsTheUnsupported: it is not known where else the pod could run.
func needsTheUnsupported(s *subject) bool { return len(s.class.Unsupported) > 0 }

// hasLocalStorage: the data on the node's disk would be lost, or is only available there.
func hasLocalStorage(s *subject) bool {
	for i := range s.pod.Spec.Volumes {
		volume := &s.pod.Spec.Volumes[i]
		if volume.HostPath != nil {
			return true
		}
		if volume.EmptyDir != nil && volume.EmptyDir.Medium != v1.StorageMediumMemory && !s.rules.LocalStorage {
			return true
		}
	}
	return false
}

func isMirror(s *subject) bool {
	return metav1.HasAnnotation(s.pod.ObjectMeta, v1.MirrorPodAnnotationKey)
}

// isStatic: the kubelet would start the pod again on the same node.
func isStatic(s *subject) bool {
	source, given := s.pod.Annotations[configSource]
	return given && source != "api"
}

// isBare: no controller would replace the pod.
func isBare(s *subject) bool { return s.controller == nil }

// GoesWithItsNode says that the pod would go with its node: it is of a DaemonSet, or of the kubelet's own.
func GoesWithItsNode(pod *v1.Pod) bool {
	return firstOf(ofNode, &subject{pod: pod, controller: metav1.GetControllerOfNoCopy(pod)}) != ""
}

func isOfDaemonSet(s *subject) bool { return s.controllerKind() == "DaemonSet" }

// isOfUnknownController: whether it creates a new pod, and where, is not known.
func isOfUnknownController(s *subject) bool {
	return s.controller != nil && !replacing.Has(s.controller.Kind)
}

// isOfJob: a Job may count an eviction as a failure, of which its backoffLimit allows so many.
func isOfJob(s *subject) bool { return s.rules.KeepJobs && s.controllerKind() == "Job" }

// takesLongToEnd: such a pod needs its time to shut down, and the plan would have to wait for it.
func takesLongToEnd(s *subject) bool {
	grace := ptr.Deref(s.pod.Spec.TerminationGracePeriodSeconds, v1.DefaultTerminationGracePeriodSeconds)
	return s.rules.MaxGracePeriod > 0 && float64(grace) > s.rules.MaxGracePeriod.Seconds()
}

// isOfStatefulSet: its replacement has the same name, and so comes only when the pod is gone.
func isOfStatefulSet(s *subject) bool {
	return s.rules.KeepStatefulSets && s.controllerKind() == "StatefulSet"
}

// isSingleton: while the pod is moved, no other pod serves.
func isSingleton(s *subject) bool {
	others := s.siblings.ready
	if IsReady(s.pod) {
		others--
	}
	return s.rules.KeepSingletons && others < 1
}

func (s *subject) controllerKind() string {
	if s.controller == nil {
		return ""
	}
	return s.controller.Kind
}

// siblings counts the pods of one controller.
type siblings struct {
	ready int
	// running have a node and do not end.
	running int32
}

// siblingsOf counts by controller.
func siblingsOf(pods []*known) map[types.UID]siblings {
	count := map[types.UID]siblings{}
	for _, pod := range pods {
		if pod.controller == nil || pod.pod.DeletionTimestamp != nil {
			continue
		}
		of := count[pod.controller.UID]
		if IsReady(pod.pod) {
			of.ready++
		}
		if pod.pod.Spec.NodeName != "" && !podutil.IsPodTerminal(pod.pod) {
			of.running++
		}
		count[pod.controller.UID] = of
	}
	return count
}

// IsReady says whether the pod serves and will continue to.
func IsReady(pod *v1.Pod) bool { return pod.DeletionTimestamp == nil && podutil.IsPodReady(pod) }

func isTerminating(s *subject) bool { return s.pod.DeletionTimestamp != nil }

// isBinding: the API does not know yet where it runs.
func isBinding(s *subject) bool { return s.pod.Spec.NodeName == "" }

// hasNotStarted: the Eviction API ignores disruption budgets for such a pod, so this rule protects it.
func hasNotStarted(s *subject) bool { return s.pod.Status.Phase == v1.PodPending }

// isNotReady: the pod is still starting, or is broken.
func isNotReady(s *subject) bool { return s.rules.KeepNotReady && !podutil.IsPodReady(s.pod) }

// isTooYoung counts from the pod's start; one that has not started is too young. Without a clock, no pod is.
func isTooYoung(s *subject) bool {
	if s.rules.MinAge <= 0 || s.now.IsZero() {
		return false
	}
	return s.pod.Status.StartTime == nil || s.now.Sub(s.pod.Status.StartTime.Time) < s.rules.MinAge
}

// isKeptByBudgets: the budget allows no disruption, or there are two: the Eviction API always refuses pods with more than
// one budget.
func isKeptByBudgets(s *subject) bool {
	return len(s.budgets) > 1 || len(s.budgets) == 1 && s.budgets[0].Allowed < 1 && !isExempt(s)
}

// isExempt: the Eviction API lets the pod go without its budget.
func isExempt(s *subject) bool {
	return len(s.budgets) == 1 && s.budgets[0].exemptsUnready && !podutil.IsPodReady(s.pod)
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
)
