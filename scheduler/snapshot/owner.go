package snapshot

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	"k8s.io/utils/ptr"
)

// Workloads shows the objects that decide whether a pod comes back after an eviction.
type Workloads interface {
	// Controller is the object of a kind, with the group of Kubernetes' own, or nil if there is none. listed says that
	// objects of the kind are known in that namespace, so that nil means that this one does not exist.
	Controller(namespace, kind, name string) (object metav1.Object, listed bool)
	// ReplicaSets, Quotas and LimitRanges are those of a namespace.
	ReplicaSets(namespace string) []*appsv1.ReplicaSet
	Quotas(namespace string) []*v1.ResourceQuota
	LimitRanges(namespace string) []*v1.LimitRange
}

// owner is what a pod's controller, and the controller's own, say about replacements; zero where nothing is known.
type owner struct {
	// missing: it does not exist any more, or is being deleted.
	missing bool
	// desired is how many pods it wants; nil if that is not known. present is how many it says there are.
	desired *int32
	present int32
	// outdated: its template is to be replaced by another one.
	outdated bool
	// refused: the API server has refused its last pod.
	refused  bool
	template *v1.PodTemplateSpec
	stateful *appsv1.StatefulSet
	job      *batchv1.Job
}

// controllerGroups are the API groups of the controllers that are looked up, by kind.
var controllerGroups = map[string]string{"ReplicaSet": appsv1.GroupName, "StatefulSet": appsv1.GroupName, "Deployment": appsv1.GroupName,
	"Job": batchv1.GroupName, "ReplicationController": v1.GroupName}

// lookUp is the object that a controller reference names. known is false where that cannot be said: the kind is not
// listed, or one of another group with the same name.
func lookUp(in Workloads, namespace string, ref *metav1.OwnerReference) (object metav1.Object, known bool) {
	group, ours := controllerGroups[ref.Kind]
	if version, err := schema.ParseGroupVersion(ref.APIVersion); !ours || err != nil ||
		ref.APIVersion != "" && version.Group != group {
		return nil, false
	}
	object, listed := in.Controller(namespace, ref.Kind, ref.Name)
	if object != nil && object.GetUID() != "" && object.GetUID() != ref.UID {
		object = nil // another one of that name
	}
	return object, listed || object != nil
}

// sources are the objects that tell about a pod's owner. An informer replaces an object that changes, so equal sources
// tell the same.
type sources struct {
	// object is the pod's controller, parent that of the controller; nil if it does not exist.
	object, parent metav1.Object
	// known and parentKnown: something can be said of them.
	known, parentKnown bool
}

// sourcesOf looks up what a controller reference leads to.
func sourcesOf(in Workloads, namespace string, ref *metav1.OwnerReference) (found sources) {
	if in == nil || ref == nil {
		return found
	}
	found.object, found.known = lookUp(in, namespace, ref)
	if set, ok := found.object.(*appsv1.ReplicaSet); ok {
		if above := metav1.GetControllerOfNoCopy(set); above != nil {
			found.parent, found.parentKnown = lookUp(in, namespace, above)
		}
	}
	return found
}

// owner is what the sources tell.
func (s sources) owner() (of owner) {
	if s.known && (s.object == nil || s.object.GetDeletionTimestamp() != nil) {
		return owner{missing: true}
	}
	switch object := s.object.(type) {
	case *appsv1.ReplicaSet:
		return s.ofReplicaSet(object)
	case *appsv1.StatefulSet:
		return owner{desired: object.Spec.Replicas, present: object.Status.Replicas,
			template: some(&object.Spec.Template), stateful: object}
	case *batchv1.Job:
		return owner{desired: wantedBy(object), present: object.Status.Active,
			template: some(&object.Spec.Template), job: object}
	case *v1.ReplicationController:
		of = owner{desired: object.Spec.Replicas, present: object.Status.Replicas, template: some(object.Spec.Template)}
		for _, condition := range object.Status.Conditions {
			of.refused = of.refused || condition.Type == v1.ReplicationControllerReplicaFailure && condition.Status == v1.ConditionTrue
		}
	}
	return of
}

func (s sources) ofReplicaSet(set *appsv1.ReplicaSet) owner {
	of := owner{desired: set.Spec.Replicas, present: set.Status.Replicas,
		template: some(&set.Spec.Template), refused: isRefused(set)}
	if !s.parentKnown {
		return of
	}
	deployment, _ := s.parent.(*appsv1.Deployment)
	if deployment == nil || deployment.DeletionTimestamp != nil {
		return owner{missing: true} // the ReplicaSet and its pods go with it
	}
	wanted := some(&deployment.Spec.Template)
	if of.template != nil && wanted != nil && !deploymentutil.EqualIgnoreHash(of.template, wanted) {
		of.outdated = true
		return of
	}
	if wanted := deployment.Spec.Replicas; of.desired != nil && wanted != nil && *wanted < *of.desired {
		of.desired = wanted // the Deployment is being scaled down
	}
	failure := deploymentutil.GetDeploymentCondition(deployment.Status, appsv1.DeploymentReplicaFailure)
	of.refused = of.refused || failure != nil && failure.Status == v1.ConditionTrue
	return of
}

// isRefused says that the API server has refused the ReplicaSet's last pod.
func isRefused(set *appsv1.ReplicaSet) bool {
	return slices.ContainsFunc(set.Status.Conditions, func(condition appsv1.ReplicaSetCondition) bool {
		return condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == v1.ConditionTrue
	})
}

// some is the template, or nil for one that was left out.
func some(template *v1.PodTemplateSpec) *v1.PodTemplateSpec {
	if template == nil || len(template.Spec.Containers) == 0 {
		return nil
	}
	return template
}

// wantedBy is how many pods the Job wants at a time now.
func wantedBy(job *batchv1.Job) *int32 {
	wanted := ptr.Deref(job.Spec.Parallelism, 1)
	if job.Spec.Completions != nil {
		wanted = min(wanted, *job.Spec.Completions-job.Status.Succeeded)
	}
	return &wanted
}

// isOutdatedIn says that the StatefulSet would create the pod anew from another revision.
func isOutdatedIn(set *appsv1.StatefulSet, pod *v1.Pod) bool {
	revision, update := pod.Labels[appsv1.ControllerRevisionHashLabelKey], set.Status.UpdateRevision
	if revision == "" || update == "" || revision == update {
		return false
	}
	rolling := set.Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.Partition == nil || revision != set.Status.CurrentRevision {
		return true
	}
	ordinal, err := strconv.Atoi(pod.Name[strings.LastIndex(pod.Name, "-")+1:])
	return err != nil || ordinal >= int(*rolling.Partition)
}

// wouldEnd says that the Job has ended or is suspended, or that it may take the eviction for its last failure.
func wouldEnd(job *batchv1.Job, pod *v1.Pod) bool {
	if ptr.Deref(job.Spec.Suspend, false) {
		return true
	}
	for _, condition := range job.Status.Conditions {
		switch condition.Type {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobFailureTarget, batchv1.JobSuccessCriteriaMet:
			if condition.Status == v1.ConditionTrue {
				return true
			}
		}
	}
	switch actionOnEviction(job.Spec.PodFailurePolicy) {
	case batchv1.PodFailurePolicyActionIgnore:
		return false
	case batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionFailIndex:
		return true
	}
	if limit := job.Spec.BackoffLimitPerIndex; limit != nil {
		failures, err := strconv.Atoi(pod.Annotations[batchv1.JobIndexFailureCountAnnotation])
		return err == nil && failures >= int(*limit)
	}
	return job.Status.Failed >= ptr.Deref(job.Spec.BackoffLimit, defaultBackoffLimit)
}

// defaultBackoffLimit is that of a Job that names none.
const defaultBackoffLimit = 6

// actionOnEviction is that of the first rule about pods that were evicted.
func actionOnEviction(policy *batchv1.PodFailurePolicy) batchv1.PodFailurePolicyAction {
	for _, rule := range ptr.Deref(policy, batchv1.PodFailurePolicy{}).Rules {
		for _, pattern := range rule.OnPodConditions {
			if pattern.Type == v1.DisruptionTarget && cmp.Or(pattern.Status, v1.ConditionTrue) == v1.ConditionTrue {
				return rule.Action
			}
		}
	}
	return ""
}
