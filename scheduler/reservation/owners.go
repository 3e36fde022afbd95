package reservation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// owner is an Owner whose selector has been parsed.
type owner struct {
	object     *v1.ObjectReference
	controller *ControllerReference
	// labels is nil where no selector is given.
	labels labels.Selector
}

func parseOwners(spec []Owner) []owner {
	owners := make([]owner, 0, len(spec))
	for _, one := range spec {
		if one.Object == nil && one.Controller == nil && one.LabelSelector == nil {
			continue // it names nothing, so it selects no pods
		}
		parsed := owner{object: one.Object, controller: one.Controller}
		if one.LabelSelector != nil {
			selector, err := metav1.LabelSelectorAsSelector(one.LabelSelector)
			if err != nil {
				continue
			}
			parsed.labels = selector
		}
		owners = append(owners, parsed)
	}
	return owners
}

// Owns says whether the reservation is for the pod. An owner that names nothing selects no pods.
func (r *Record) Owns(pod *v1.Pod) bool { return anySelects(parseOwners(r.Spec.Owners), pod) }

func anySelects(owners []owner, pod *v1.Pod) bool {
	for i := range owners {
		if owners[i].selects(pod) {
			return true
		}
	}
	return false
}

func (o *owner) selects(pod *v1.Pod) bool {
	return (o.object == nil || isObject(o.object, pod)) &&
		(o.controller == nil || o.controller.controls(pod)) &&
		(o.labels == nil || o.labels.Matches(labels.Set(pod.Labels)))
}

// labelsRead are the keys of the labels that the owner's selector reads.
func (o *owner) labelsRead() (keys []string) {
	if o.labels == nil {
		return nil
	}
	requirements, _ := o.labels.Requirements()
	for _, requirement := range requirements {
		keys = append(keys, requirement.Key())
	}
	return keys
}

func isObject(reference *v1.ObjectReference, pod *v1.Pod) bool {
	return (reference.Kind == "" || reference.Kind == "Pod") &&
		sameOrUnset(reference.Namespace, pod.Namespace) &&
		sameOrUnset(reference.Name, pod.Name) &&
		sameOrUnset(string(reference.UID), string(pod.UID)) &&
		(reference.Name != "" || reference.UID != "")
}

func (c *ControllerReference) controls(pod *v1.Pod) bool {
	of := metav1.GetControllerOfNoCopy(pod)
	return of != nil && sameOrUnset(c.Namespace, pod.Namespace) &&
		sameOrUnset(c.APIVersion, of.APIVersion) && sameOrUnset(c.Kind, of.Kind) &&
		sameOrUnset(c.Name, of.Name) && sameOrUnset(string(c.UID), string(of.UID)) &&
		(c.Name != "" || c.UID != "")
}

func sameOrUnset(wanted, got string) bool { return wanted == "" || wanted == got }
