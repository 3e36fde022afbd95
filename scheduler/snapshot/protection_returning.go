package snapshot

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// returning are the rules for pods that would not come back after an eviction, or not as they were.
var returning = []rule{
	{MissingOwner, hasNoOwner},
	{EndingJob, isOfEndingJob},
	{Rollout, isRolledOut},
	{ScaledDown, isSurplus},
	{RefusedReplacement, wasRefused},
	{LimitRange, isLimited},
	{ResourceQuota, isOverQuota},
}

// KeptAway is why the pod, as the API server shows it now, would not come back after an eviction, or "". It complements
// ProtectedNow with what other objects say.
func KeptAway(pod *v1.Pod, in Workloads, rules Rules) string {
	controller := metav1.GetControllerOfNoCopy(pod)
	of := &subject{pod: pod, controller: controller, rules: rules, owner: sourcesOf(in, pod.Namespace, controller).owner(),
		admission: &admission{in: in}}
	return firstOf(returning, of)
}

// IsWhole says whether so many pods are all that the pod's controller wants. Where nothing is known of it, nothing is missed.
func IsWhole(pod *v1.Pod, living int, in Workloads) bool {
	wanted := Wanted(pod, in)
	return wanted == nil || living >= int(*wanted)
}

// Wanted is how many pods the pod's controller wants; nil if that is not known.
func Wanted(pod *v1.Pod, in Workloads) *int32 {
	of := sourcesOf(in, pod.Namespace, metav1.GetControllerOfNoCopy(pod)).owner()
	if of == nil {
		return nil
	}
	return of.desired
}

// hasNoOwner: nobody would replace the pod, and it is about to be deleted itself.
func hasNoOwner(s *subject) bool { return s.owner != nil && s.owner.missing }

// isOfEndingJob: its Job has ended or is suspended, or would fail with this pod.
func isOfEndingJob(s *subject) bool {
	return s.owner != nil && s.owner.job != nil && wouldEnd(s.owner.job, s.pod)
}

// isRolledOut: another pod is to take its place soon, or would at once.
func isRolledOut(s *subject) bool {
	if s.owner == nil || !s.rules.KeepRollouts {
		return false
	}
	return s.owner.outdated || s.owner.stateful != nil && isOutdatedIn(s.owner.stateful, s.pod)
}

// isSurplus: there are more pods than its controller wants, which would not replace it. One of them leaves anyhow.
func isSurplus(s *subject) bool {
	return s.owner != nil && s.owner.desired != nil && max(s.owner.present, s.siblings.running) > *s.owner.desired
}

// wasRefused: the API server has refused the last pod of its controller, and may refuse the next one.
func wasRefused(s *subject) bool { return s.owner != nil && s.owner.refused }

// isLimited: a LimitRange would refuse the replacement, or have it ask for something else, so that it might not fit.
func isLimited(s *subject) bool { return s.admission.verdictOn(s).limited }

// isOverQuota: a ResourceQuota would refuse the replacement.
func isOverQuota(s *subject) bool { return s.admission.verdictOn(s).overQuota }

// admission foretells what the API server would say of replacements.
type admission struct {
	in Workloads
	// pods are all pods that are known; they may be nil.
	pods []*known
	// verdicts by kind: the pods of one kind are alike.
	verdicts map[Kind]verdict
}

// verdict is what the API server would say of a replacement.
type verdict struct{ limited, overQuota bool }

func (a *admission) verdictOn(s *subject) verdict {
	if a == nil || a.in == nil {
		return verdict{}
	}
	quotas, limits := a.in.Quotas(s.pod.Namespace), a.in.LimitRanges(s.pod.Namespace)
	if len(quotas) == 0 && len(limits) == 0 && s.pod.Annotations[byLimitRanger] == "" {
		return verdict{}
	}
	var kind Kind
	if a.verdicts != nil && s.controller != nil {
		kind = Kind{Owner: s.controller.UID, Class: s.class.Id}
		if known, before := a.verdicts[kind]; before {
			return known
		}
	}
	var template *v1.PodTemplateSpec
	if s.owner != nil {
		template = s.owner.template
	}
	made := replacementOf(s.pod, template, limits)
	of := verdict{limited: made.altered || !made.unlimited}
	for _, one := range quotas {
		of.overQuota = of.overQuota ||
			!made.fitsInto(one, usedOf(one, a.pods), func() bool { return a.isContested(s.pod.Namespace) })
	}
	if kind.Owner != "" {
		a.verdicts[kind] = of
	}
	return of
}

// isContested says that some ReplicaSet of the namespace waits for room in its quotas.
func (a *admission) isContested(namespace string) bool {
	return slices.ContainsFunc(a.in.ReplicaSets(namespace), isRefused)
}
