package snapshot

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
)

// Reasons why a running pod may not be moved.
const (
	Terminating        = "terminating"
	Binding            = "binding"
	ForeignScheduler   = "foreign-scheduler"
	ProtectedNamespace = "protected-namespace"
	SystemCritical     = "system-critical"
	Mirror             = "mirror"
	Bare               = "bare"
	DaemonSet          = "daemonset"
	UnknownController  = "unknown-controller"
	OptedOut           = "opted-out"
	HostPath           = "host-path"
	Unsupported        = "unsupported"
	DisruptionBudget   = "disruption-budget"
	NotStarted         = "not-started"
)

// DoNotMove is the annotation with which a pod opts out of being moved.
const DoNotMove = "stowage.dev/do-not-move"

// systemCritical is the priority from which pods are the system's own.
const systemCritical = 2_000_000_000

// optOuts are the annotations that forbid a disruption, ours and those of other projects.
var optOuts = map[string]string{
	"karpenter.sh/do-not-disrupt":                    "true",
	"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}

// replacing are the controllers that create a new pod when one is evicted, free to run anywhere.
var replacing = sets.New("ReplicaSet", "ReplicationController", "StatefulSet", "Job")

// Rules say which pods this scheduler may touch.
type Rules struct {
	SchedulerName       string
	ProtectedNamespaces sets.Set[string]
}

// immovable is the lasting reason why the pod may not be moved. First match wins.
func (r Rules) immovable(pod *v1.Pod, class *contract.PodClass) string {
	switch {
	case pod.Spec.SchedulerName != r.SchedulerName:
		// Its replacement would not come back to us.
		return ForeignScheduler
	case pod.Namespace == metav1.NamespaceSystem || r.ProtectedNamespaces.Has(pod.Namespace):
		return ProtectedNamespace
	case class.Priority >= systemCritical:
		return SystemCritical
	case optedOut(pod):
		return OptedOut
	case len(class.Unsupported) > 0:
		return Unsupported
	case hasHostPath(pod):
		return HostPath
	}
	return immovableByOwner(pod)
}

func immovableByOwner(pod *v1.Pod) string {
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return Mirror
	}
	owner := metav1.GetControllerOf(pod)
	switch {
	case owner == nil:
		return Bare // nobody would create it anew
	case owner.Kind == "DaemonSet":
		return DaemonSet
	case !replacing.Has(owner.Kind):
		return UnknownController
	}
	return ""
}

// immovableNow adds the reasons that pass.
func immovableNow(pod *v1.Pod, atRest string, budgets *budgetIndex) string {
	switch {
	case pod.DeletionTimestamp != nil:
		return Terminating
	case pod.Spec.NodeName == "":
		return Binding
	case atRest != "":
		return atRest
	}
	matches, allowed := budgets.of(pod)
	switch {
	case matches == 0:
		return ""
	case matches > 1 || allowed < 1:
		// The Eviction API refuses pods of two budgets for good.
		return DisruptionBudget
	case pod.Status.Phase == v1.PodPending:
		// The Eviction API does not protect a pod that has not started; so we do.
		return NotStarted
	}
	return ""
}

func optedOut(pod *v1.Pod) bool {
	if value, set := pod.Annotations[DoNotMove]; set && value != "false" {
		return true
	}
	for annotation, value := range optOuts {
		if pod.Annotations[annotation] == value {
			return true
		}
	}
	return false
}

func hasHostPath(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].HostPath != nil {
			return true
		}
	}
	return false
}
