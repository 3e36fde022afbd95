package snapshot

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// Input is the state of the cluster. The objects are only read.
type Input struct {
	ID         string
	Nodes      []*v1.Node
	Pods       []*v1.Pod
	Budgets    []*policyv1.PodDisruptionBudget
	Namespaces []*v1.Namespace
	// Volumes may be nil; then pods with claims are left alone.
	Volumes Volumes
	// Now is what the age of pods is counted to; zero means that it is not told.
	Now time.Time
	// Reserved are pods of which this scheduler knows the node although the API does not yet.
	Reserved map[types.UID]string
	// Held is the room on each node that is reserved for others.
	Held  map[string]resources.Vector
	Rules Rules
}

// Node is a node of the snapshot.
type Node struct {
	Name        string
	Allocatable resources.Vector
	// Used is what the pods on it take.
	Used resources.Vector
	// Cordoned nodes take only pods that tolerate it.
	Cordoned bool
	// State is equal for two looks at the node between which nothing changed that matters.
	State string
}

// Pod is a pod of the snapshot.
type Pod struct {
	Object   *v1.Pod
	Class    string
	Owner    types.UID
	Priority int32
	Requests resources.Vector
	// Node is empty for a pending pod.
	Node string
	// Immovable is why a running pod may not be moved; empty means that it may.
	Immovable string
	// Budgets are the disruption budgets that cover the pod.
	Budgets []*Budget
	// Unsupported is set if no plan may place the pod.
	Unsupported bool
	// atRest is the reason that will hold once the pod has settled on a node.
	atRest string
}

// NeverPreempts says that nobody is to be evicted for the pod, whatever its priority.
func (p *Pod) NeverPreempts() bool {
	policy := p.Object.Spec.PreemptionPolicy
	return policy != nil && *policy == v1.PreemptNever
}

// Snapshot is the state of the cluster, indexed, and its message for the optimiser.
type Snapshot struct {
	ID      string
	Nodes   map[string]*Node
	Pods    map[types.UID]*Pod
	Message *contract.Snapshot
	// Fingerprint is equal for equal states, whatever the pods are called.
	Fingerprint string

	nodeLines []string
	forbidden sets.Set[Pair]
}

// Pending counts the pods that wait for a node.
func (s *Snapshot) Pending() int {
	count := 0
	for _, pod := range s.Pods {
		if pod.Node == "" {
			count++
		}
	}
	return count
}

// Build takes the snapshot.
func Build(input Input) *Snapshot {
	s := &Snapshot{
		ID:      input.ID,
		Nodes:   make(map[string]*Node, len(input.Nodes)),
		Pods:    make(map[types.UID]*Pod, len(input.Pods)),
		Message: &contract.Snapshot{Id: input.ID},

		forbidden: sets.New[Pair](),
	}
	s.addNodes(input.Nodes)
	index := indexes{
		budgets:    matchBudgets(input.Budgets),
		classes:    newClasses(input.Namespaces, input.Volumes),
		namespaces: make(map[string]*v1.Namespace, len(input.Namespaces)),
	}
	for _, namespace := range input.Namespaces {
		index.namespaces[namespace.Name] = namespace
	}
	for _, pod := range sortedPods(input.Pods) {
		s.addPod(pod, input, index)
	}
	s.addHeld(input.Held)
	s.Message.PodClasses = index.classes.messages()
	s.forbidLeaving(input.Nodes)
	s.Message.Namespaces = namespaceMessages(input.Namespaces)
	s.Message.DisruptionBudgets = budgetMessages(input.Budgets)
	s.Fingerprint = s.FingerprintAfter(nil)
	return s
}

func (s *Snapshot) addNodes(nodes []*v1.Node) {
	nodes = append([]*v1.Node(nil), nodes...)
	sort.Slice(nodes, func(i, j int) bool { return nodes[i].Name < nodes[j].Name })
	for _, node := range nodes {
		message := nodeMessage(node)
		s.Message.Nodes = append(s.Message.Nodes, message)
		s.Nodes[node.Name] = &Node{
			Name:        node.Name,
			Allocatable: resources.OfList(node.Status.Allocatable),
			Cordoned:    node.Spec.Unschedulable,
			State:       nodeLine(message),
		}
		s.nodeLines = append(s.nodeLines, s.Nodes[node.Name].State)
	}
}

// addHeld counts reserved room as taken.
func (s *Snapshot) addHeld(held map[string]resources.Vector) {
	for _, name := range slices.Sorted(maps.Keys(held)) {
		node, room := s.Nodes[name], held[name]
		if node == nil {
			continue // its room went with the node
		}
		node.Used = node.Used.Plus(room)
		s.Message.Reservations = append(s.Message.Reservations, &contract.Reservation{
			Name: "on " + name, Node: name, Held: room.Message()})
		s.nodeLines = append(s.nodeLines, fmt.Sprintf("%s holds %+v", name, room))
	}
}

// indexes find what a pod refers to.
type indexes struct {
	budgets    *budgetIndex
	classes    *classes
	namespaces map[string]*v1.Namespace
}

func (s *Snapshot) addPod(object *v1.Pod, input Input, index indexes) {
	node := nodeOf(object, input.Reserved)
	if !counts(object, node, input.Rules) {
		return
	}
	if _, known := s.Nodes[node]; node != "" && !known {
		return // its room went with the node
	}
	class := index.classes.of(object)
	pod := &Pod{
		Object:      object,
		Class:       class.Id,
		Owner:       ControllerUID(object),
		Priority:    class.Priority,
		Requests:    resources.OfPod(object),
		Node:        node,
		Budgets:     index.budgets.of(object),
		Unsupported: len(class.Unsupported) > 0,
	}
	var now string
	now, pod.atRest = protection(subject{pod: object, class: class, budgets: pod.Budgets,
		namespace: index.namespaces[object.Namespace], now: input.Now, rules: input.Rules})
	if node != "" {
		pod.Immovable = now
		s.Nodes[node].Used = s.Nodes[node].Used.Plus(pod.Requests)
	}
	s.Pods[object.UID] = pod
	s.Message.Pods = append(s.Message.Pods, podMessage(pod, input.Now))
}

// nodeOf is the pod's node, also while its binding is still under way.
func nodeOf(pod *v1.Pod, reserved map[types.UID]string) string {
	if pod.Spec.NodeName != "" {
		return pod.Spec.NodeName
	}
	return reserved[pod.UID]
}

// counts says whether a pod belongs into the snapshot: it takes room, or waits for us to place it.
func counts(pod *v1.Pod, node string, rules Rules) bool {
	if podutil.IsPodTerminal(pod) {
		return false
	}
	if node != "" {
		return true
	}
	return pod.DeletionTimestamp == nil && pod.Spec.SchedulerName == rules.SchedulerName &&
		len(pod.Spec.SchedulingGates) == 0
}

func sortedPods(pods []*v1.Pod) []*v1.Pod {
	pods = append([]*v1.Pod(nil), pods...)
	sort.Slice(pods, func(i, j int) bool {
		if pods[i].Namespace != pods[j].Namespace {
			return pods[i].Namespace < pods[j].Namespace
		}
		if pods[i].Name != pods[j].Name {
			return pods[i].Name < pods[j].Name
		}
		return pods[i].UID < pods[j].UID
	})
	return pods
}
