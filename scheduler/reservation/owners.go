package reservation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Owns says whether the pod is one of those the reservation is for. An owner that names nothing
// selects nobody.
func (r *Record) Owns(pod *v1.Pod) bool {
	for i := range r.Spec.Owners {
		if r.Spec.Owners[i].selects(pod) {
			return true
		}
	}
	return false
}

func (o *Owner) selects(pod *v1.Pod) bool {
	if o.Object == nil && o.Controller == nil && o.LabelSelector == nil {
		return false
	}
	return (o.Object == nil || isObject(o.Object, pod)) &&
		(o.Controller == nil || o.Controller.controls(pod)) &&
		(o.LabelSelector == nil || labelsMatch(o.LabelSelector, pod))
}

func isObject(reference *v1.ObjectReference, pod *v1.Pod) bool {
	return (reference.Kind == "" || reference.Kind == "Pod") &&
		sameOrUnset(reference.Namespace, pod.Namespace) &&
		sameOrUnset(reference.Name, pod.Name) &&
		sameOrUnset(string(reference.UID), string(pod.UID)) &&
		(reference.Name != "" || reference.UID != "")
}

func (c *ControllerReference) controls(pod *v1.Pod) bool {
	of := metav1.GetControllerOf(pod)
	return of != nil && sameOrUnset(c.Namespace, pod.Namespace) &&
		sameOrUnset(c.APIVersion, of.APIVersion) && sameOrUnset(c.Kind, of.Kind) &&
		sameOrUnset(c.Name, of.Name) && sameOrUnset(string(c.UID), string(of.UID)) &&
		(c.Name != "" || c.UID != "")
}

func labelsMatch(selector *metav1.LabelSelector, pod *v1.Pod) bool {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && matching.Matches(labels.Set(pod.Labels))
}

func sameOrUnset(wanted, got string) bool { return wanted == "" || wanted == got }
