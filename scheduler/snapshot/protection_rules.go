package snapshot

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
)

// DoNotMove is the annotation with which a pod opts out of being moved.
const DoNotMove = "stowage.dev/do-not-move"

// configSource is the annotation in which a kubelet says where it has a static pod from.
const configSource = "kubernetes.io/config.source"

// systemCritical is the priority from which pods are the system's own.
const systemCritical = 2_000_000_000

// optOuts are the annotations that forbid a disruption, of other projects.
var optOuts = map[string]string{
	"karpenter.sh/do-not-disrupt":                    "true",
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}

// replacing are the controllers that create a new pod when one is evicted, free to run anywhere.
var replacing = sets.New("ReplicaSet", "ReplicationController", "StatefulSet", "Job")

// hasForeignScheduler: its replacement would not come back to us.
func hasForeignScheduler(s subject) bool { return s.pod.Spec.SchedulerName != s.rules.SchedulerName }

// isInProtectedNamespace: a namespace that is not known yet cannot be selected.
func isInProtectedNamespace(s subject) bool {
	if s.pod.Namespace == metav1.NamespaceSystem || s.rules.ProtectedNamespaces.Has(s.pod.Namespace) {
		return true
	}
	if s.rules.Namespaces == nil {
		return false
	}
	return s.namespace == nil || !s.rules.Namespaces.Matches(labels.Set(s.namespace.Labels))
}

func isSystemCritical(s subject) bool { return s.class.Priority >= systemCritical }

func hasOptedOut(s subject) bool {
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

// needsTheUnsupported: nobody knows where else it could run.
func needsTheUnsupported(s subject) bool { return len(s.class.Unsupported) > 0 }

// hasLocalStorage: what is on the node's disk is lost, or is there only.
func hasLocalStorage(s subject) bool {
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

func isMirror(s subject) bool {
	_, mirror := s.pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}

// isStatic: the kubelet would only start it again.
func isStatic(s subject) bool {
	source, given := s.pod.Annotations[configSource]
	return given && source != "api"
}

// isBare: nobody would create it anew.
func isBare(s subject) bool { return metav1.GetControllerOf(s.pod) == nil }

func isOfDaemonSet(s subject) bool {
	owner := metav1.GetControllerOf(s.pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

// isOfUnknownController: whether it creates a new pod, and where, is not known.
func isOfUnknownController(s subject) bool {
	owner := metav1.GetControllerOf(s.pod)
	return owner != nil && !replacing.Has(owner.Kind)
}

func isTerminating(s subject) bool { return s.pod.DeletionTimestamp != nil }

// isBinding: the API does not know yet where it runs.
func isBinding(s subject) bool { return s.pod.Spec.NodeName == "" }

// hasNotStarted: the Eviction API lets such a pod go whatever its budgets say, so we protect it.
func hasNotStarted(s subject) bool { return s.pod.Status.Phase == v1.PodPending }

// isTooYoung counts from the pod's start; one that has not started is of no age.
func isTooYoung(s subject) bool {
	if s.rules.MinAge <= 0 {
		return false
	}
	return s.pod.Status.StartTime == nil || s.now.Sub(s.pod.Status.StartTime.Time) < s.rules.MinAge
}

// isKeptByBudgets: one of them is spent, or there are two, of which the Eviction API refuses the
// pods for good.
func isKeptByBudgets(s subject) bool {
	return len(s.budgets) > 1 || len(s.budgets) == 1 && s.budgets[0].Allowed < 1
}
