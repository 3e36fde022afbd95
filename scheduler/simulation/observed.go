package simulation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	quota "k8s.io/apiserver/pkg/quota/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	kjson "sigs.k8s.io/json"

	"github.com/stowage/stowage/scheduler/resources"
)

// Remark is what there is to say of one object.
type Remark struct {
	// Object is its kind and name, as in "Pod default/web-0".
	Object string `json:"object"`
	Reason string `json:"reason"`
}

// UnknownField is a field that the scheduler's version does not know, and that was passed over.
type UnknownField struct {
	// Field is the kind and the path, as in "Pod spec.containers[].colour".
	Field string `json:"field"`
	// Objects is how many objects have it.
	Objects int `json:"objects"`
}

// Reading is what was not taken as it was written. It is empty for instances that were not observed: their errors are
// errors of the whole.
type Reading struct {
	// LeftOut are the objects that take no part, or not the part that they should.
	LeftOut       []Remark       `json:"leftOut,omitempty"`
	UnknownFields []UnknownField `json:"unknownFields,omitempty"`
}

func (r *Reading) leaveOut(kind, name, reason string) {
	r.LeftOut = append(r.LeftOut, Remark{Object: kind + " " + name, Reason: reason})
}

// lists are the objects of an observed instance. Each is decoded on its own, so that one that cannot be decoded costs no
// other.
type lists struct {
	Nodes   []json.RawMessage `json:"nodes"`
	Pods    []json.RawMessage `json:"pods"`
	Objects []json.RawMessage `json:"objects,omitempty"`
}

// observedInstance and observedQuestion are an instance and a question whose lists are still to be decoded. In JSON, a
// list takes precedence over one of its name that is embedded deeper.
type (
	observedInstance struct {
		inner
		lists
	}
	inner            struct{ *Instance }
	observedQuestion struct {
		*Question
		lists
	}
)

// mayBeObserved spares all others from being parsed twice.
func mayBeObserved(data []byte) bool { return observedTrue.Match(data) }

var observedTrue = regexp.MustCompile(`"observed"\s*:\s*true`)

// observe fills in the objects of the lists that make sense. Of two with the same name the later one counts.
func (instance *Instance) observe(from *lists) {
	o := &observation{Reading: &instance.Reading, unknown: map[string]int{}}
	instance.Nodes = o.nodes(from.Nodes)
	instance.Objects = o.others(from.Objects)
	instance.Pods = o.countable(o.pods(from.Pods, instance.Nodes), instance.Nodes)
	o.listUnknown()
}

// observation is an instance that is being read.
type observation struct {
	*Reading
	unknown map[string]int
}

// listUnknown lists the fields that were not known so far.
func (o *observation) listUnknown() {
	o.UnknownFields = nil
	for _, field := range slices.Sorted(maps.Keys(o.unknown)) {
		o.UnknownFields = append(o.UnknownFields, UnknownField{field, o.unknown[field]})
	}
}

// keep adds an object to a list, or puts it in the place of the one of the same key.
func keep[T any](o *observation, list []T, places map[string]int, key, kind, name string, one T) []T {
	if place, again := places[key]; again {
		o.leaveOut(kind, name, "it is listed more than once; the last one counts")
		list[place] = one
		return list
	}
	places[key] = len(list)
	return append(list, one)
}

// uncountable amounts make the scheduler fail on every pod that a node with them could take.
const uncountable = "more of a resource than any machine has, so that the scheduler's sums overflow"

func (o *observation) nodes(raw []json.RawMessage) []v1.Node {
	nodes, places := make([]v1.Node, 0, len(raw)), map[string]int{}
	for i := range raw {
		var node v1.Node
		if !o.decode("Node", i, raw[i], &node) || o.senseless("Node", i, raw[i], &node.ObjectMeta, nil) {
			continue
		}
		node.Namespace = ""
		nodes = keep(o, nodes, places, node.Name, "Node", node.Name, node)
	}
	return nodes
}

func (o *observation) pods(raw []json.RawMessage, nodes []v1.Node) []v1.Pod {
	there := make(map[string]bool, len(nodes))
	for i := range nodes {
		there[nodes[i].Name] = true
	}
	pods, places, uids := make([]v1.Pod, 0, len(raw)), map[string]int{}, map[types.UID]string{}
	for i := range raw {
		var pod v1.Pod
		if !o.decode("Pod", i, raw[i], &pod) || o.senseless("Pod", i, raw[i], &pod.ObjectMeta, amountsOfPod(&pod)) {
			continue
		}
		if pod.Namespace == "" {
			pod.Namespace = metav1.NamespaceDefault
		}
		name := key(&pod)
		if node := pod.Spec.NodeName; node != "" && !there[node] {
			o.leaveOut("Pod", name, fmt.Sprintf("its node %q is %s", node, o.missing(node)))
			continue
		}
		if pod.UID == "" {
			pod.UID = types.UID(name)
		}
		if other, taken := uids[pod.UID]; taken && other != name {
			o.leaveOut("Pod", name, fmt.Sprintf("it has the UID of %s", other))
			continue
		}
		uids[pod.UID] = name
		pods = keep(o, pods, places, name, "Pod", name, pod)
	}
	return pods
}

// missing is why a node is not there.
func (o *observation) missing(node string) string {
	if slices.ContainsFunc(o.LeftOut, func(one Remark) bool { return one.Object == "Node "+node }) {
		return "left out"
	}
	return "not listed"
}

// countable leaves out the pods that ask for most, as few as possible, where all together ask for more than the scheduler
// can add up: what those that run take is taken off their nodes. Then it leaves nodes no more of anything than it can
// score, which is at least what all pods together ask for.
func (o *observation) countable(pods []v1.Pod, nodes []v1.Node) []v1.Pod {
	requests, totals := make(map[int]v1.ResourceList, len(pods)), v1.ResourceList{}
	for i := range pods {
		if !podutil.IsPodTerminal(&pods[i]) {
			requests[i] = resources.ListOf(&pods[i])
			totals = quota.Add(totals, requests[i])
		}
	}
	left := sets.New[int]()
	for _, name := range resources.Uncountable(totals) {
		most := slices.Collect(maps.Keys(requests))
		slices.SortFunc(most, func(a, b int) int {
			amount := requests[b][name]
			return cmp.Or(amount.Cmp(requests[a][name]), cmp.Compare(a, b))
		})
		for _, i := range most {
			if !slices.Contains(resources.Uncountable(totals), name) {
				break
			}
			o.leaveOut("Pod", key(&pods[i]), "it asks for "+uncountable)
			totals = quota.Subtract(totals, requests[i])
			takeOff(nodes, pods[i].Spec.NodeName, requests[i])
			delete(requests, i)
			left.Insert(i)
		}
	}
	for i := range nodes {
		status := &nodes[i].Status
		status.Allocatable, status.Capacity = resources.Room(status.Allocatable, totals), resources.Room(status.Capacity, totals)
	}
	kept := make([]v1.Pod, 0, len(pods)-left.Len())
	for i := range pods {
		if !left.Has(i) {
			kept = append(kept, pods[i])
		}
	}
	return kept
}

// takeOff leaves the node what it has besides a pod.
func takeOff(nodes []v1.Node, name string, requests v1.ResourceList) {
	for i := range nodes {
		if nodes[i].Name != name {
			continue
		}
		room := nodes[i].Status.Allocatable
		take := func(name v1.ResourceName, amount resource.Quantity) {
			if free, has := room[name]; has {
				free.Sub(amount)
				room[name] = free
			}
		}
		for name, amount := range requests {
			take(name, amount)
		}
		take(v1.ResourcePods, *resource.NewQuantity(1, resource.DecimalSI))
	}
}

func (o *observation) others(raw []json.RawMessage) []Object {
	objects, places := make([]Object, 0, len(raw)), map[string]int{}
	for i := range raw {
		object, strict, err := decodeObject(raw[i], false)
		kind, name := namesIn(raw[i], i)
		if err != nil {
			o.leaveOut(kind, name, err.Error())
			continue
		}
		o.note(kind, strict)
		meta := object.meta()
		if o.senseless(kind, i, raw[i], &metav1.ObjectMeta{Name: meta.GetName(), Namespace: meta.GetNamespace()}, nil) {
			continue
		}
		if budget, is := object.Object.(*policyv1.PodDisruptionBudget); is {
			o.doubt(budget)
		}
		key := kind + " " + meta.GetNamespace() + "/" + meta.GetName()
		objects = keep(o, objects, places, key, kind, name, object)
	}
	return objects
}

// doubt says how a budget is taken whose selector cannot be read: it may protect any pod of its namespace.
func (o *observation) doubt(budget *policyv1.PodDisruptionBudget) {
	if _, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector); err != nil {
		o.leaveOut("PodDisruptionBudget", nameOf(budget.Namespace, budget.Name),
			fmt.Sprintf("its selector cannot be read (%v), so that no pod of its namespace is moved", err))
	}
}

// decode says whether the object could be decoded.
func (o *observation) decode(kind string, index int, raw json.RawMessage, into any) bool {
	strict, err := kjson.UnmarshalStrict(raw, into)
	if err != nil {
		_, name := namesIn(raw, index)
		o.leaveOut(kind, name, err.Error())
		return false
	}
	o.note(kind, strict)
	return true
}

var (
	indices      = regexp.MustCompile(`\[\d+\]`)
	unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)
)

// note counts the fields that are not known. A field that is there twice has its last value, as for the API server.
func (o *observation) note(kind string, strict []error) {
	seen := map[string]bool{}
	for _, err := range strict {
		if match := unknownField.FindStringSubmatch(err.Error()); match != nil {
			seen[kind+" "+indices.ReplaceAllString(match[1], "[]")] = true
		}
	}
	for field := range seen {
		o.unknown[field]++
	}
}

// senseless leaves the object out if no cluster can hold it.
func (o *observation) senseless(
	kind string, index int, raw json.RawMessage, meta *metav1.ObjectMeta, amounts map[string]v1.ResourceList,
) bool {
	errs := namesErrors(meta)
	for _, where := range slices.Sorted(maps.Keys(amounts)) {
		errs = append(errs, validateQuantities(where, amounts[where])...)
	}
	if len(errs) == 0 {
		return false
	}
	_, name := namesIn(raw, index)
	o.leaveOut(kind, name, strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; "))
	return true
}

func namesErrors(meta *metav1.ObjectMeta) []error {
	if meta.Name == "" {
		return []error{errors.New("metadata.name: missing")}
	}
	var errs []error
	for field, name := range map[string]string{"name": meta.Name, "namespace": meta.Namespace} {
		for _, why := range content.IsPathSegmentName(name) {
			if name != "" {
				errs = append(errs, fmt.Errorf("metadata.%s: %s", field, why))
			}
		}
	}
	return errs
}

// namesIn are the kind and the name of an object, also of one that cannot be decoded: then its place in the list, if it
// has no name either.
func namesIn(raw json.RawMessage, index int) (kind, name string) {
	var of struct {
		Kind     any `json:"kind"`
		Metadata any `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &of) // whatever it is: what is missing has no name
	kind, _ = of.Kind.(string)
	metadata, _ := of.Metadata.(map[string]any)
	name, _ = metadata["name"].(string)
	namespace, _ := metadata["namespace"].(string)
	if name = nameOf(namespace, name); strings.HasSuffix(name, "/") || name == "" {
		name = fmt.Sprintf("number %d of its list", index+1)
	}
	if kind == "" {
		kind = "object"
	}
	return kind, name
}

func amountsOfPod(pod *v1.Pod) map[string]v1.ResourceList {
	amounts := map[string]v1.ResourceList{"spec.overhead": pod.Spec.Overhead}
	add := func(where string, of *v1.ResourceRequirements) {
		if of != nil {
			amounts[where+".requests"], amounts[where+".limits"] = of.Requests, of.Limits
		}
	}
	add("spec.resources", pod.Spec.Resources)
	add("status.resources", pod.Status.Resources)
	amounts["status.allocatedResources"] = pod.Status.AllocatedResources
	for i, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		add(fmt.Sprintf("container %d resources", i), &container.Resources)
	}
	for i, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		where := fmt.Sprintf("status of container %d", i)
		add(where+" resources", status.Resources)
		amounts[where+" allocatedResources"] = status.AllocatedResources
	}
	return amounts
}
