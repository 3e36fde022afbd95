package reservation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// ownerIndex finds the reservations that a pod may own, so that not all of them have to be checked for each pod. An owner
// is indexed by one property that its pods must have; its other conditions are checked for those that are found.
type ownerIndex struct {
	pods, controllers filed
	// labels are the values by the label's key: there are fewer keys that selectors use than labels of pods.
	labels map[string]filed
	// others are the reservations with an owner that has no such property.
	others sets.Set[types.UID]
}

// filed are the reservations by a property of their owners.
type filed map[string]sets.Set[types.UID]

func (f filed) add(key string, uid types.UID) {
	if f[key] == nil {
		f[key] = sets.New[types.UID]()
	}
	f[key].Insert(uid)
}

func (f filed) remove(key string, uid types.UID) {
	f[key].Delete(uid)
	if len(f[key]) == 0 {
		delete(f, key)
	}
}

func newOwnerIndex() ownerIndex {
	return ownerIndex{pods: filed{}, controllers: filed{}, labels: map[string]filed{},
		others: sets.New[types.UID]()}
}

func (x *ownerIndex) add(one *entry) {
	for i := range one.owners {
		x.file(&one.owners[i], one.uid, true)
	}
}

func (x *ownerIndex) remove(one *entry) {
	for i := range one.owners {
		x.file(&one.owners[i], one.uid, false)
	}
}

func (x *ownerIndex) file(o *owner, uid types.UID, in bool) {
	under := func(of filed, key string) {
		if in {
			of.add(key, uid)
		} else {
			of.remove(key, uid)
		}
	}
	switch {
	case o.object != nil && o.object.UID != "":
		under(x.pods, string(o.object.UID))
	case o.object != nil:
		under(x.pods, o.object.Name)
	case o.controller != nil && o.controller.UID != "":
		under(x.controllers, string(o.controller.UID))
	case o.controller != nil:
		under(x.controllers, o.controller.Name)
	default:
		x.fileSelector(o, uid, in, under)
	}
}

// fileSelector indexes a selector by the first exact value that it requires of a label.
func (x *ownerIndex) fileSelector(o *owner, uid types.UID, in bool, under func(filed, string)) {
	requirements, _ := o.labels.Requirements()
	for _, requirement := range requirements {
		key := requirement.Key()
		value, exact := o.labels.RequiresExactMatch(key)
		if !exact {
			continue
		}
		if x.labels[key] == nil {
			x.labels[key] = filed{}
		}
		under(x.labels[key], value)
		if len(x.labels[key]) == 0 {
			delete(x.labels, key)
		}
		return
	}
	if in {
		x.others.Insert(uid)
	} else {
		x.others.Delete(uid)
	}
}

// each calls back with every reservation that the pod may own, some of them twice.
func (x *ownerIndex) each(pod *v1.Pod, found func(types.UID)) {
	all := func(some sets.Set[types.UID]) {
		for uid := range some {
			found(uid)
		}
	}
	all(x.pods[string(pod.UID)])
	all(x.pods[pod.Name])
	if of := metav1.GetControllerOfNoCopy(pod); of != nil {
		all(x.controllers[string(of.UID)])
		all(x.controllers[of.Name])
	}
	for key, values := range x.labels {
		if value, has := pod.Labels[key]; has {
			all(values[value])
		}
	}
	all(x.others)
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
