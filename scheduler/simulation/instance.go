package simulation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
)

// Instance is one cluster to be filled.
type Instance struct {
	ID    string    `json:"id"`
	Nodes []v1.Node `json:"nodes"`
	// Pods are in the order of arrival.
	Pods []v1.Pod `json:"pods"`
	// Objects are the other objects that the scheduler reads: Services and ReplicaSets, by which it spreads pods by
	// default, PodDisruptionBudgets, bound PersistentVolumeClaims with their volumes.
	Objects []Object `json:"objects,omitempty"`
	// Changes happen while the pods arrive.
	Changes []Change `json:"changes,omitempty"`
	// Arrival is how the pods arrive; InTurn if it is left out.
	Arrival Arrival `json:"arrival,omitempty"`
	// Replace replaces preempted pods under other names, as their controllers would. Their placement is then that of
	// their last replacement.
	Replace bool `json:"replace,omitempty"`
	// Once has each pod tried in its turn alone: one that gets no node then leaves again.
	Once bool `json:"once,omitempty"`
	// Measure asks for a measurement.
	Measure bool `json:"measure,omitempty"`
	// Observed says that the objects were read from a cluster, and not written for a simulation: whatever cannot be read
	// of them, or makes no sense, is left out and named.
	Observed bool `json:"observed,omitempty"`
	// Reading is what was left out.
	Reading `json:"-"`
	// inVirtualTime has objects of any kind come and go.
	inVirtualTime bool
}

// Arrival is how the pods of an instance arrive.
type Arrival string

const (
	// InTurn: each arrives when the scheduler has settled after the one before.
	InTurn Arrival = "InTurn"
	// AtOnce: all arrive before the scheduler tries the first of them.
	AtOnce Arrival = "AtOnce"
)

// Change is something that happens to the cluster while pods arrive: exactly one of Node, NodeGone and
// PodGone.
type Change struct {
	// After is how many of the instance's pods are in the list before those that come after the change.
	After int `json:"after"`
	// Node takes the place of the node of its name, or joins the others.
	Node *v1.Node `json:"node,omitempty"`
	// NodeGone is the name of a node that is removed. Its pods stay behind, as they do in a cluster.
	NodeGone string `json:"nodeGone,omitempty"`
	// PodGone is namespace/name of a pod that is removed, if it is still there.
	PodGone string `json:"podGone,omitempty"`
}

// Result is the result of one instance.
type Result struct {
	ID string `json:"id"`
	// Placements maps namespace/name of every pod to its node, or to "" if it is pending.
	Placements map[string]string `json:"placements"`
	// Evicted lists the pods that preemption removed, in alphabetical order.
	Evicted []string `json:"evicted,omitempty"`
	// Awaiting are the pods that were placed and whose volumes somebody has still to make.
	Awaiting []Remark `json:"awaiting,omitempty"`
	// Reasons says in the scheduler's words, by namespace/name, what keeps each pod that is pending.
	Reasons map[string]string `json:"reasons,omitempty"`
	// Measurement is there if it was asked for.
	Measurement *Measurement `json:"measurement,omitempty"`
	Reading
	// Error says why there are no placements.
	Error string `json:"error,omitempty"`
}

// ParseInstance reads an instance from JSON. Unknown fields are errors, and all errors are reported together. Of an
// observed instance they are no errors, as far as the objects are concerned: what was left out is in its Reading.
func ParseInstance(data []byte) (Instance, error) {
	var instance Instance
	form := observedInstance{inner: inner{&instance}}
	errs, err := parse(data, "an instance", &instance, &instance, &form, &form.lists)
	if err != nil {
		return Instance{ID: instance.ID}, err
	}
	return instance, errors.Join(errs...)
}

// parse reads what is asked about an instance, and lists what is wrong. If the instance was observed, the form is read,
// whose lists are decoded one by one.
func parse(data []byte, name string, asked any, instance *Instance, form any, from *lists) ([]error, error) {
	if mayBeObserved(data) {
		if errs, err := kjson.UnmarshalStrict(data, form); err == nil && instance.Observed {
			instance.observe(from)
			return append(errs, instance.validate()...), nil
		}
	}
	errs, err := kjson.UnmarshalStrict(data, asked)
	if err != nil {
		return nil, fmt.Errorf("not %s in JSON: %w", name, err)
	}
	instance.complete()
	return append(errs, instance.validate()...), nil
}

// complete fills in the namespace of pods that name none.
func (instance *Instance) complete() {
	for i := range instance.Pods {
		if instance.Pods[i].Namespace == "" {
			instance.Pods[i].Namespace = metav1.NamespaceDefault
		}
	}
}

// validate lists why the instance could not exist in a cluster.
func (instance *Instance) validate() []error {
	var errs []error
	if instance.ID == "" {
		errs = append(errs, errors.New("id: missing; give the instance a name"))
	}
	nodes := map[string]bool{}
	for i := range instance.Nodes {
		errs = append(errs, validateNode(fmt.Sprintf("nodes[%d]", i), &instance.Nodes[i], nodes)...)
	}
	pods := map[string]bool{}
	for i := range instance.Pods {
		pod := &instance.Pods[i]
		path := fmt.Sprintf("pods[%d]", i)
		errs = append(errs, validateName(path, pod.Name, key(pod), pods)...)
		if pod.Spec.NodeName != "" && !nodes[pod.Spec.NodeName] {
			errs = append(errs, fmt.Errorf(
				"%s.spec.nodeName: the instance has no node %q", path, pod.Spec.NodeName))
		}
		for j, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			errs = append(errs, validateQuantities(
				fmt.Sprintf("%s container %d requests", path, j), container.Resources.Requests)...)
		}
	}
	return append(errs, instance.validateSequence()...)
}

// validateSequence lists what is wrong with the arrival and the changes.
func (instance *Instance) validateSequence() []error {
	var errs []error
	switch instance.Arrival {
	case "", InTurn:
	case AtOnce:
		if len(instance.Changes) > 0 {
			errs = append(errs, fmt.Errorf("changes: none can happen between pods that arrive %s", AtOnce))
		}
		if instance.Once {
			errs = append(errs, fmt.Errorf("once: pods that arrive %s have no turns", AtOnce))
		}
	default:
		errs = append(errs, fmt.Errorf("arrival: %q is neither %s nor %s", instance.Arrival, InTurn, AtOnce))
	}
	for i := range instance.Changes {
		errs = append(errs, instance.Changes[i].validate(fmt.Sprintf("changes[%d]", i), instance)...)
	}
	return errs
}

func (change *Change) validate(path string, instance *Instance) []error {
	var errs []error
	kinds := 0
	for _, given := range []bool{change.Node != nil, change.NodeGone != "", change.PodGone != ""} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		errs = append(errs, fmt.Errorf("%s: must have one of node, nodeGone and podGone", path))
	}
	if change.After < 0 || change.After > len(instance.Pods) {
		errs = append(errs, fmt.Errorf("%s.after: %d is not a number of the instance's pods", path, change.After))
	}
	if node := change.Node; node != nil {
		errs = append(errs, validateNode(path+".node", node, map[string]bool{})...)
	}
	return errs
}

func validateNode(path string, node *v1.Node, seen map[string]bool) []error {
	return slices.Concat(validateName(path, node.Name, node.Name, seen),
		validateQuantities(path+".status.allocatable", node.Status.Allocatable),
		validateQuantities(path+".status.capacity", node.Status.Capacity))
}

func validateName(path, name, key string, seen map[string]bool) []error {
	if name == "" {
		return []error{fmt.Errorf("%s.metadata.name: missing", path)}
	}
	if seen[key] {
		return []error{fmt.Errorf("%s.metadata.name: %q appears twice", path, key)}
	}
	seen[key] = true
	return nil
}

func validateQuantities(path string, resources v1.ResourceList) []error {
	var errs []error
	for name, quantity := range resources {
		if quantity.Sign() < 0 {
			errs = append(errs, fmt.Errorf("%s.%s: %s is negative", path, name, quantity.String()))
		}
	}
	return errs
}

func key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// nameOf is an object's name as it is told; some have no namespace.
func nameOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// splitKey takes a pod's key apart; one without a namespace means the default one.
func splitKey(key string) (namespace, name string) {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		return metav1.NamespaceDefault, key
	}
	return namespace, name
}

// decoder knows every built-in kind and refuses unknown fields.
var decoder = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// Object is a Kubernetes object of any built-in kind, with its apiVersion and kind.
type Object struct {
	runtime.Object
}

// decodeObject decodes an object of a kind that the scheduler reads, or of any built-in kind. strict are its unknown and
// doubled fields.
func decodeObject(data []byte, ofAnyKind bool) (object Object, strict []error, err error) {
	decoded, kind, err := decoder.Decode(data, nil, nil)
	if unknown, are := runtime.AsStrictDecodingError(err); are && decoded != nil {
		strict, err = unknown.Errors(), nil
	}
	if err != nil {
		return Object{}, nil, err
	}
	if Kinds[*kind] == "" && !ofAnyKind {
		return Object{}, nil, fmt.Errorf("the scheduler reads no %s of %s", kind.Kind, kind.GroupVersion())
	}
	metadata, err := meta.Accessor(decoded)
	switch {
	case err != nil:
		return Object{}, nil, fmt.Errorf("%s: %w", kind.Kind, err)
	case Kinds[*kind] == meta.RESTScopeNameRoot:
		metadata.SetNamespace("")
	case metadata.GetNamespace() == "":
		metadata.SetNamespace(metav1.NamespaceDefault)
	}
	return Object{decoded}, strict, nil
}

// UnmarshalJSON reads the object of the given apiVersion and kind. Nodes and pods have their own lists, since their order
// matters.
func (o *Object) UnmarshalJSON(data []byte) error {
	object, strict, err := decodeObject(data, true)
	if len(strict) > 0 {
		err = runtime.NewStrictDecodingError(strict)
	}
	if err != nil {
		return fmt.Errorf("objects: %w", err)
	}
	*o = object
	switch o.Object.(type) {
	case *v1.Pod, *v1.Node:
		return fmt.Errorf("objects: %s %s belongs in the list of its kind", o.kind().Kind, o.meta().GetName())
	}
	if o.meta().GetName() == "" {
		return fmt.Errorf("objects: %s without metadata.name", o.kind().Kind)
	}
	return nil
}

func (o *Object) kind() schema.GroupVersionKind { return o.GetObjectKind().GroupVersionKind() }

// meta is the object's metadata. Every kind that can be read has it.
func (o *Object) meta() metav1.Object { return o.Object.(metav1.Object) }

// create stores the object.
func (o *Object) create(a *api) error {
	return a.Create(resourceOf(o.kind()), o.DeepCopyObject(), o.meta().GetNamespace())
}

// namespaceOf returns the namespace with the label that the API server gives to each.
func namespaceOf(name string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{v1.LabelMetadataName: name},
	}}
}
