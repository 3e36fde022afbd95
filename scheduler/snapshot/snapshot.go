// Package snapshot turns the scheduler's view of the cluster into the optimiser's Snapshot.
//
// Invariants:
//
//  1. Every pod that takes room on a node is in the snapshot, also a terminating one, one of
//     another scheduler, and one whose binding is still under way. Finished pods are not.
//  2. A pod whose needs the contract cannot express is of a class with unsupported needs: no
//     plan touches it.
//  3. Pods of one class can replace each other. A class never depends on a pod's name or UID, so
//     a replacement is of the class of the pod that it replaces.
//  4. The same state gives the same fingerprint, whatever the names of the pods are.
package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/resources"
)

// Input is the state of the cluster. The objects are only read.
type Input struct {
	ID    string
	Nodes []*v1.Node
	Pods  []*v1.Pod
	// Untried are pods that are left out: those of them that wait are not in the snapshot, and a proof says nothing about
	// them.
	Untried    []*v1.Pod
	Budgets    []*policyv1.PodDisruptionBudget
	Namespaces []*v1.Namespace
	// Volumes may be nil; then pods with claims are unsupported.
	Volumes Volumes
	// Groups may be nil; then pods of pod groups are unsupported.
	Groups Groups
	Book   *resources.Book
	// Workloads may be nil; then nothing is known of whether a pod would come back after an eviction.
	Workloads Workloads
	// Now is the time for the age of pods; zero means that ages are left out.
	Now time.Time
	// Reserved are the nodes of pods that this scheduler is binding, by pod.
	Reserved map[types.UID]string
	// Labels are further labels that pods are selected by, such as the owners of reservations.
	Labels sets.Set[string]
	// Cache may be nil; it saves most of the work if the previous snapshot used it too.
	Cache *Cache
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
	// Leaving nodes are being deleted; they take no pods.
	Leaving bool
	// Outside nodes are not in the scope of the plan: no pod leaves them or goes there.
	Outside bool
	// HourlyPriceMicros is what an hour of it costs; 0 is not known, or none of the plan's business.
	HourlyPriceMicros int64
	// IrremovableReason is why autoscalers may not remove it; empty means that they may.
	IrremovableReason string
	// State is equal for two versions of the node that differ in nothing that can change an answer.
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
	// Exempt pods run and are not ready, and go without their budget.
	Exempt bool
	// Unsupported is set if no plan may place the pod.
	Unsupported bool
	// Worth is what it counts among the pods of a tier that have a node: 1, or hundredths of devices.
	Worth int64
	// atRest is the reason that will hold once the pod has settled on a node.
	atRest  string
	message *contract.Pod
}

// NeverPreempts says that no pod may be evicted for this one, whatever its priority.
func (p *Pod) NeverPreempts() bool {
	return ptr.Deref(p.Object.Spec.PreemptionPolicy, "") == v1.PreemptNever
}

// Snapshot is the state of the cluster, indexed, and its message for the optimiser.
type Snapshot struct {
	ID      string
	Nodes   map[string]*Node
	Pods    map[types.UID]*Pod
	Message *contract.Snapshot
	// Classes computes the classes of pods, also of those that come later.
	Classes Classes
	// NextChange is when the first of the rules that protect pods only for now may end; zero: none ends by itself.
	NextChange time.Time
	// CountsDevices: see Rules.
	CountsDevices bool

	classes   map[string]*class
	book      *resources.Book
	forbidden sets.Set[Pair]
	omitted   omitted
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

// Free is the room on every node of the snapshot.
func (s *Snapshot) Free() map[string]resources.Vector {
	free := make(map[string]resources.Vector, len(s.Nodes))
	for name, node := range s.Nodes {
		free[name] = node.Allocatable.Minus(node.Used)
	}
	return free
}

// Build takes the snapshot.
func Build(input Input) *Snapshot {
	s := &Snapshot{
		ID:      input.ID,
		Nodes:   make(map[string]*Node, len(input.Nodes)),
		Pods:    make(map[types.UID]*Pod, len(input.Pods)),
		Message: &contract.Snapshot{Id: input.ID},

		CountsDevices: input.Rules.CountsDevices,

		forbidden: sets.New[Pair](),
	}
	cache := cmp.Or(input.Cache, &Cache{})
	cache.begin(input.Book)
	defer cache.end()
	sizes := s.addNodes(input.Nodes, input.Rules.Scope, cache)
	budgets := matchBudgets(input.Budgets)
	if input.Rules.InTurn {
		budgets.inTurn(len(input.Pods))
	}
	s.addPods(input, cache, budgets)
	s.addHeld(input.Held)
	s.addHeldDevices(cache.book)
	s.addDevices(cache)
	s.book = cache.book
	s.fitNodes(sizes)
	s.Message.DisruptionBudgets = budgets.messages()
	s.noteOmissions(input, budgets)
	return s
}

// addNodes returns the sizes of their messages.
func (s *Snapshot) addNodes(nodes []*v1.Node, scope Scope, cache *Cache) []int {
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	s.Message.Nodes = make([]*contract.Node, len(nodes))
	sizes := make([]int, len(nodes))
	for i, node := range nodes {
		known := cache.ofNode(node)
		if known.unsent {
			s.omitted.add(unsentNodes, 1)
		}
		outside, message := !scope.hasNode(node), known.message
		if outside {
			message = closed(message)
		}
		s.Message.Nodes[i], sizes[i] = message, known.size
		s.Nodes[node.Name] = &Node{
			Name:        node.Name,
			Allocatable: known.allocatable,
			Cordoned:    node.Spec.Unschedulable,
			Leaving:     node.DeletionTimestamp != nil,
			Outside:     outside,
			State:       known.state,

			HourlyPriceMicros: message.HourlyPriceMicros,
			IrremovableReason: message.IrremovableReason,
		}
	}
	return sizes
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
	}
}

// addHeldDevices counts the devices as taken that pods hold beside what they need, and those that other claims hold.
func (s *Snapshot) addHeldDevices(book *resources.Book) {
	s.omitted.add(incompletePools, book.IncompletePools())
	if !book.HasDevices() {
		return
	}
	pods := s.podsByNode()
	for _, message := range s.Message.Nodes {
		held, node := book.HeldBeside(message.Name, pods[message.Name]), s.Nodes[message.Name]
		if held.IsZero() {
			continue
		}
		node.Used = node.Used.Plus(held)
		s.Message.Reservations = append(s.Message.Reservations, &contract.Reservation{
			Name: "devices on " + node.Name, Node: node.Name, Held: held.Message()})
		s.omitted.add(heldDevices, 1)
	}
}

func (s *Snapshot) addPods(input Input, cache *Cache, budgets *budgetIndex) {
	pods := cache.of(input.Pods)
	s.Classes = cache.use(selectedLabels(input, pods))
	found := &classes{by: s.Classes, namespaces: input.Namespaces, volumes: input.Volumes, budgets: budgets,
		book: cache.book, found: map[string]*class{}, requests: map[string]*contract.DeviceRequest{},
		groups: groupsOf(input.Groups, input.Pods, input.Untried), rules: &input.Rules}
	addGroupsOfOthers(found.groups, &input.Rules, input.Pods, input.Untried)
	namespaces := make(map[string]*v1.Namespace, len(input.Namespaces))
	for _, one := range input.Namespaces {
		namespaces[one.Name] = one
	}
	admission := &admission{in: input.Workloads, pods: pods, verdicts: map[ReplicaKey]verdict{}}
	siblings := siblingsOf(pods)
	counted := make([]subject, 0, len(pods))
	for _, pod := range pods {
		node := nodeOf(pod.pod, input.Reserved)
		on := s.Nodes[node]
		if node != "" && on == nil || !counts(pod.pod, node, input.Rules) {
			continue // the room of the former went with the node
		}
		one := subject{known: pod, node: node, class: found.of(cache.classOf(pod), pod), namespace: namespaces[pod.pod.Namespace],
			book: cache.book, outside: on != nil && on.Outside, admission: admission, now: input.Now, rules: &input.Rules}
		if pod.controller != nil {
			one.siblings = siblings[pod.controller.UID]
			if on != nil {
				one.owner = cache.ownerOf(input.Workloads, pod.pod.Namespace, pod.controller)
			}
		}
		counted = append(counted, one)
	}
	// Only now are all classes known, and those that are too large to be sent marked as unsupported.
	s.Message.PodClasses, s.classes = found.messages(), found.found
	s.Message.DeviceRequests = found.requestMessages()
	s.Message.Gangs = found.gangs()
	s.Message.Pods = make([]*contract.Pod, 0, len(counted))
	for i := range counted {
		s.addPod(&counted[i])
	}
}

func (s *Snapshot) addPod(of *subject) {
	class := of.class.message
	pod := &Pod{
		Object:      of.pod,
		Class:       class.Id,
		Priority:    class.Priority,
		Requests:    of.requests,
		Node:        of.node,
		Budgets:     of.class.budgets,
		Unsupported: len(class.Unsupported) > 0,
		Worth:       max(1, class.Worth),
	}
	if of.controller != nil {
		pod.Owner = of.controller.UID
	}
	var now string
	now, pod.atRest = protection(of)
	if pod.Node != "" {
		pod.Immovable, pod.Exempt = now, isExempt(of)
		s.noteChange(of.passes(now))
		node := s.Nodes[pod.Node]
		node.Used = node.Used.Plus(pod.Requests)
	}
	pod.message = podMessage(pod, of.now)
	s.Pods[of.pod.UID] = pod
	s.Message.Pods = append(s.Message.Pods, pod.message)
}

// siblings counts the pods of one controller.
type siblings struct {
	ready int
	// running have a node and do not end.
	running int32
}

// siblingsOf counts by controller.
func siblingsOf(pods []*known) map[types.UID]siblings {
	count := map[types.UID]siblings{}
	for _, pod := range pods {
		if pod.controller == nil || pod.pod.DeletionTimestamp != nil {
			continue
		}
		of := count[pod.controller.UID]
		if podutil.IsPodReady(pod.pod) {
			of.ready++
		}
		if pod.pod.Spec.NodeName != "" && !podutil.IsPodTerminal(pod.pod) {
			of.running++
		}
		count[pod.controller.UID] = of
	}
	return count
}

// noteChange keeps the earliest time; zero is none.
func (s *Snapshot) noteChange(at time.Time) {
	if !at.IsZero() && (s.NextChange.IsZero() || at.Before(s.NextChange)) {
		s.NextChange = at
	}
}

// DeletionCost is the pod's controller.kubernetes.io/pod-deletion-cost.
func (p *Pod) DeletionCost() int32 { return p.message.DeletionCost }

// InUse counts the pods by node that would not go with it, once the given pods have these nodes. A node that is not in the
// map is not in use; one that may not be removed is, even without such a pod.
func (s *Snapshot) InUse(after map[types.UID]string) map[string]int {
	count := map[string]int{}
	for name, node := range s.Nodes {
		if node.IrremovableReason != "" {
			count[name] = 0
		}
	}
	for uid, pod := range s.Pods {
		node, moved := after[uid]
		if !moved {
			node = pod.Node
		}
		if node != "" && !GoesWithItsNode(pod.Object) {
			count[node]++
		}
	}
	return count
}

// KeptInUse are the nodes that are in use in every plan: those that may not be removed, and those with a pod that would not
// go with its node and that a rule of the cluster keeps there for good.
func (s *Snapshot) KeptInUse() sets.Set[string] {
	gone := map[types.UID]string{}
	for uid, pod := range s.Pods {
		if pod.atRest == "" || pod.atRest == Unsupported || pod.Immovable == Terminating {
			gone[uid] = ""
		}
	}
	return sets.KeySet(s.InUse(gone))
}

// nodeOf is the pod's node, also while its binding is still under way.
func nodeOf(pod *v1.Pod, reserved map[types.UID]string) string {
	return cmp.Or(pod.Spec.NodeName, reserved[pod.UID])
}

// counts says whether a pod belongs in the snapshot: it takes room, or waits for this scheduler.
func counts(pod *v1.Pod, node string, rules Rules) bool {
	waits := pod.DeletionTimestamp == nil && pod.Spec.SchedulerName == rules.SchedulerName && len(pod.Spec.SchedulingGates) == 0
	return !podutil.IsPodTerminal(pod) && (node != "" || waits)
}

// ReplicaKey identifies pods that can replace each other: those of one owner and one class.
type ReplicaKey struct {
	Owner types.UID
	Class string
}

// ReplicaKey is that of the pod. No other pod can replace one without a controller: it is its own owner.
func (p *Pod) ReplicaKey() ReplicaKey { return ReplicaKey{cmp.Or(p.Owner, p.Object.UID), p.Class} }

// OwnerOf is the pod's controller, or the pod itself.
func OwnerOf(pod *v1.Pod) types.UID {
	if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
		return controller.UID
	}
	return pod.UID
}

// ReplicaKeyOf is that of the pods that may take the step's place: of its pod and of the replacements.
func ReplicaKeyOf(step *packingplan.Step) ReplicaKey {
	return ReplicaKey{types.UID(cmp.Or(step.OwnerUID, step.PodUID)), step.Class}
}

// Pair is a class of pods and a node.
type Pair struct{ Class, Node string }

// cordon is the taint of an unschedulable node.
var cordon = v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule}

// Takes says whether the node accepts the pod despite a cordon. Whether the pod fits is for the scheduler's plugins to
// decide.
func (n *Node) Takes(pod *Pod) bool {
	return !n.Cordoned ||
		corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Object.Spec.Tolerations, &cordon, false)
}
