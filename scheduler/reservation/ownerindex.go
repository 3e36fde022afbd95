package reservation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ownerIndex finds the reservations that a pod may own, so that not all of them have to be checked for each pod. An owner
// is indexed by one property that its pods must have; its other conditions are checked for those that are found.
type ownerIndex map[property]sets.Set[types.UID]

// property is of a pod: itself, its controller, or a label. The zero value is one that every pod has.
type property struct{ of, key, value string }

const ofPod, ofController, ofLabel = "pod", "controller", "label"

func (x ownerIndex) add(one *entry) {
	for i := range one.owners {
		by := one.owners[i].property()
		if x[by] == nil {
			x[by] = sets.New[types.UID]()
		}
		x[by].Insert(one.uid)
	}
}

func (x ownerIndex) remove(one *entry) {
	for i := range one.owners {
		by := one.owners[i].property()
		if x[by].Delete(one.uid); len(x[by]) == 0 {
			delete(x, by)
		}
	}
}

// each calls back with every reservation that the pod may own, some of them twice.
func (x ownerIndex) each(pod *v1.Pod, found func(types.UID)) {
	having := []property{{}, {ofPod, "", string(pod.UID)}, {ofPod, "", pod.Name}}
	if of := metav1.GetControllerOfNoCopy(pod); of != nil {
		having = append(having, property{ofController, "", string(of.UID)}, property{ofController, "", of.Name})
	}
	for key, value := range pod.Labels {
		having = append(having, property{ofLabel, key, value})
	}
	for _, by := range having {
		for uid := range x[by] {
			found(uid)
		}
	}
}

// property is one that all pods of the owner have: of a selector, the first exact value that it requires of a label.
func (o *owner) property() property {
	if o.object != nil {
		if name := cmp.Or(string(o.object.UID), o.object.Name); name != "" {
			return property{ofPod, "", name}
		}
	}
	if o.controller != nil {
		if name := cmp.Or(string(o.controller.UID), o.controller.Name); name != "" {
			return property{ofController, "", name}
		}
	}
	for _, key := range o.labelsRead() {
		if value, exact := o.labels.RequiresExactMatch(key); exact {
			return property{ofLabel, key, value}
		}
	}
	return property{}
}

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
		if one.LabelSelector == nil && !one.namesPods() {
			continue // it selects no pods
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

// namesPods says whether the owner names a pod or a controller. An object or a controller without a name only narrows a
// label selector, mostly to a namespace: pods of all namespaces may wear the labels (as in Koordinator).
func (o *Owner) namesPods() bool {
	return (o.Object != nil || o.Controller != nil) && (o.Object == nil || o.Object.Name != "" || o.Object.UID != "") &&
		(o.Controller == nil || o.Controller.Name != "" || o.Controller.UID != "")
}

func anySelects(owners []owner, pod *v1.Pod) bool {
	return slices.ContainsFunc(owners, func(one owner) bool { return one.selects(pod) })
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
		sameOrUnset(string(reference.UID), string(pod.UID))
}

func (c *ControllerReference) controls(pod *v1.Pod) bool {
	of := metav1.GetControllerOfNoCopy(pod)
	return of != nil && sameOrUnset(c.Namespace, pod.Namespace) &&
		sameOrUnset(c.APIVersion, of.APIVersion) && sameOrUnset(c.Kind, of.Kind) &&
		sameOrUnset(c.Name, of.Name) && sameOrUnset(string(c.UID), string(of.UID))
}

func sameOrUnset(wanted, got string) bool { return wanted == "" || wanted == got }
