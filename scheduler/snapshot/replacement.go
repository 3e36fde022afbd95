package snapshot

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiadmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	podquota "k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	"k8s.io/kubernetes/plugin/pkg/admission/limitranger"
	"k8s.io/utils/clock"
)

// byLimitRanger is the annotation of pods that got their requests from a LimitRange.
const byLimitRanger = "kubernetes.io/limit-ranger"

// podUsage measures pods as the API server and the quota controller do.
var podUsage = podquota.NewPodEvaluator(nil, clock.RealClock{})

// replacement is the pod that would be created in another one's place, and what admission would do to it.
type replacement struct {
	of, pod *v1.Pod
	// altered: it would ask for something else than the pod that it replaces.
	altered bool
	// unlimited: no LimitRange would refuse it.
	unlimited bool
}

// replacementOf is the pod with what LimitRanges give to it and to what its controller's template leaves open. What
// webhooks have changed in the pod they would change again, so it is taken as it is.
func replacementOf(of *v1.Pod, template *v1.PodTemplateSpec, limits []*v1.LimitRange) replacement {
	if len(limits) == 0 && of.Annotations[byLimitRanger] == "" {
		return replacement{of: of, pod: of, unlimited: true}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, Labels: of.Labels}, Spec: *of.Spec.DeepCopy()}
	if template != nil && of.Annotations[byLimitRanger] != "" {
		asked := &v1.Pod{Spec: *template.Spec.DeepCopy()}
		corev1.SetObjectDefaults_Pod(asked)
		takeResources(pod.Spec.Containers, asked.Spec.Containers)
		takeResources(pod.Spec.InitContainers, asked.Spec.InitContainers)
	}
	admitted := &core.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod, admitted, nil); err != nil {
		return replacement{of: of, pod: of} // the API server could not read it either
	}
	unlimited := true
	for _, limit := range limits {
		if err := limitranger.PodMutateLimitFunc(limit, admitted); err != nil {
			unlimited = false
		}
	}
	for _, limit := range limits {
		unlimited = unlimited && limitranger.PodValidateLimitFunc(limit, admitted) == nil
	}
	made := &v1.Pod{}
	if err := corev1.Convert_core_Pod_To_v1_Pod(admitted, made, nil); err != nil {
		return replacement{of: of, pod: of}
	}
	return replacement{of: of, pod: made, unlimited: unlimited,
		altered: !sameRequests(made.Spec.Containers, of.Spec.Containers) ||
			!sameRequests(made.Spec.InitContainers, of.Spec.InitContainers)}
}

// FromTemplate is the pod that the controller would create in place of the given one, under a name that is still to be
// generated; nil where its template is not known.
func FromTemplate(of *v1.Pod, in Workloads) *v1.Pod {
	ref := metav1.GetControllerOf(of)
	owner := sourcesOf(in, of.Namespace, ref).owner()
	if owner.template == nil {
		return nil
	}
	ref.BlockOwnerDeletion = nil // to set it takes a right on the owner, which the scheduler has not got
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, GenerateName: ref.Name + "-",
		Labels: owner.template.Labels, Annotations: owner.template.Annotations, Finalizers: owner.template.Finalizers,
		OwnerReferences: []metav1.OwnerReference{*ref}}, Spec: *owner.template.Spec.DeepCopy()}
	for _, volume := range of.Spec.Volumes {
		if owner.stateful != nil && volume.PersistentVolumeClaim != nil &&
			!slices.ContainsFunc(pod.Spec.Volumes, func(other v1.Volume) bool { return other.Name == volume.Name }) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, volume) // of a claim template
		}
	}
	return pod
}

// takeResources gives the containers the resources of those with the same names.
func takeResources(to, from []v1.Container) {
	for i := range to {
		for j := range from {
			if to[i].Name == from[j].Name {
				to[i].Resources = from[j].Resources
			}
		}
	}
}

func sameRequests(a, b []v1.Container) bool {
	return slices.EqualFunc(a, b, func(a, b v1.Container) bool {
		return apiequality.Semantic.DeepEqual(a.Resources.Requests, b.Resources.Requests)
	})
}

// fitsInto says whether the quota would let the replacement in; the pods are all that are known. The pod that leaves counts
// until it is gone, and the controller tries until then: so what matters is the use without it. A quota that is full takes
// the replacement then, unless others wait for the same room: contested says whether they do.
func (r replacement) fitsInto(of *v1.ResourceQuota, pods []*known, contested func() bool) bool {
	of = applied(of)
	of.Status.Used = usedOf(of, pods)
	if r.isAdmittedBy(of) {
		return true
	}
	counts, err := podUsage.Matches(of, r.of)
	if err != nil || !counts {
		return false
	}
	leaving, err := podUsage.Usage(r.of)
	if err != nil {
		return false
	}
	of.Status.Used = quota.Subtract(of.Status.Used, quota.Mask(leaving, quota.ResourceNames(of.Status.Used)))
	return r.isAdmittedBy(of) && !contested()
}

// isAdmittedBy asks the API server's own admission.
func (r replacement) isAdmittedBy(of *v1.ResourceQuota) bool {
	request := apiadmission.NewAttributesRecord(r.pod, nil, v1.SchemeGroupVersion.WithKind("Pod"), r.pod.Namespace, r.pod.Name,
		v1.SchemeGroupVersion.WithResource("pods"), "", apiadmission.Create, nil, false, nil)
	_, err := resourcequota.CheckRequest([]v1.ResourceQuota{*of}, request, podUsage, nil)
	return err == nil
}

// applied is the quota with the smaller of both limits of each resource: its spec is what will apply, its status what
// applies.
func applied(of *v1.ResourceQuota) *v1.ResourceQuota {
	hard := v1.ResourceList{}
	for _, list := range []v1.ResourceList{of.Spec.Hard, of.Status.Hard} {
		for name, amount := range list {
			if known, both := hard[name]; !both || amount.Cmp(known) < 0 {
				hard[name] = amount
			}
		}
	}
	now := *of
	now.Status.Hard = hard
	return &now
}

// usedOf is the use of an applied quota as its status says, or else as the pods of its namespace add up.
func usedOf(of *v1.ResourceQuota, pods []*known) v1.ResourceList {
	if len(of.Status.Used) > 0 || pods == nil {
		return of.Status.Used
	}
	used := v1.ResourceList{}
	for name := range of.Spec.Hard {
		used[name] = resource.Quantity{}
	}
	for _, one := range pods {
		if one.pod.Namespace != of.Namespace {
			continue
		}
		if matches, err := podUsage.Matches(of, one.pod); err != nil || !matches {
			continue
		}
		if usage, err := podUsage.Usage(one.pod); err == nil {
			used = quota.Add(used, usage)
		}
	}
	return used
}
