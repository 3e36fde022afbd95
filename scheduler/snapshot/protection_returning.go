package snapshot

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// KeptAway is why the pod, as the API server shows it now, would not come back after an eviction, or "". It complements
// ProtectedNow with what other objects say.
func KeptAway(pod *v1.Pod, book *resources.Book, in Workloads, rules Rules) string {
	of := subjectOf(pod, &rules)
	of.book = book
	of.owner, of.class = sourcesOf(in, pod.Namespace, of.controller).owner(), &class{message: &contract.PodClass{}}
	of.admission = &admission{in: in, verdicts: map[ReplicaKey]verdict{}}
	return firstOf(returning, of)
}

// templates says whether a template is missing from which the replacement's claims would be made, or has changed since the
// pod's own were, so that the replacement would ask for other devices.
type templates struct{ missing, changed bool }

// templates looks at them once, however many rules ask.
func (s *subject) templates() templates {
	if len(s.pod.Spec.ResourceClaims) == 0 || !s.book.CountsDevices() {
		return templates{}
	}
	if s.ofClaims != nil {
		return *s.ofClaims
	}
	var found templates
	s.ofClaims = &found
	own := map[string]*resourceapi.ResourceClaimSpec{}
	for _, claim := range s.book.ClaimsOf(s.pod) {
		own[claim.Name] = &claim.Spec
	}
	for i := range s.pod.Spec.ResourceClaims {
		of := &s.pod.Spec.ResourceClaims[i]
		if of.ResourceClaimTemplateName == nil {
			continue
		}
		template := s.book.TemplateOf(s.pod.Namespace, *of.ResourceClaimTemplateName)
		if template == nil {
			found.missing = true
			continue
		}
		name, _, err := resourceclaim.Name(s.pod, of)
		if err == nil && name != nil && own[*name] != nil && !apiequality.Semantic.DeepEqual(&template.Spec.Spec, own[*name]) {
			found.changed = true
		}
	}
	return found
}

// IsWhole says whether so many pods are all that the pod's controller wants. Where nothing is known of it, nothing is missed.
func IsWhole(pod *v1.Pod, living int, in Workloads) bool {
	wanted := Wanted(pod, in)
	return wanted == nil || living >= int(*wanted)
}

// Wanted is how many pods the pod's controller wants; nil if that is not known.
func Wanted(pod *v1.Pod, in Workloads) *int32 {
	return sourcesOf(in, pod.Namespace, metav1.GetControllerOfNoCopy(pod)).owner().desired
}

// admission foretells what the API server would say of replacements.
type admission struct {
	in Workloads
	// pods are all pods that are known; they may be nil.
	pods []*known
	// verdicts are the same for all replicas.
	verdicts map[ReplicaKey]verdict
}

// verdict is what the API server would say of a replacement.
type verdict struct{ limited, overQuota bool }

func (a *admission) verdictOn(s *subject) verdict {
	if a.in == nil {
		return verdict{}
	}
	quotas, limits := a.in.Quotas(s.pod.Namespace), a.in.LimitRanges(s.pod.Namespace)
	if len(quotas) == 0 && len(limits) == 0 && s.pod.Annotations[byLimitRanger] == "" {
		return verdict{}
	}
	key := ReplicaKey{s.pod.UID, s.class.message.Id}
	if s.controller != nil {
		key.Owner = s.controller.UID
	}
	of, known := a.verdicts[key]
	if known {
		return of
	}
	made := replacementOf(s.pod, s.owner.template, limits)
	of.limited = made.altered || !made.unlimited
	for _, one := range quotas {
		of.overQuota = of.overQuota || !made.fitsInto(one, a.pods, func() bool { return a.isContested(s.pod.Namespace) })
	}
	a.verdicts[key] = of
	return of
}

// isContested says that some ReplicaSet of the namespace waits for room in its quotas.
func (a *admission) isContested(namespace string) bool {
	return slices.ContainsFunc(a.in.ReplicaSets(namespace), isRefused)
}
