package snapshot

import (
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// Cache keeps results that depend on a single pod, node or controller from one snapshot to the next, and on what the book
// reads for it. Each Build drops the objects that it did not see. The zero value is ready for use, also by several
// goroutines.
type Cache struct {
	mu    sync.Mutex
	book  *resources.Book
	pods  map[types.UID]*known
	nodes map[string]*knownNode
	// owners are by the UIDs of controllers.
	owners map[types.UID]*knownOwner
	// order is that of the pods in a message.
	order []*known
	// classes of the last snapshot; others, if they have changed since.
	classes *Classes
	round   uint64
}

// known is what is cached for a pod.
type known struct {
	pod *v1.Pod
	key resources.Key
	// controller is nil if it has none.
	controller *metav1.OwnerReference
	requests   resources.Vector
	spec       string
	reads      []reading
	// class is by these classes.
	class   string
	classes *Classes
	round   uint64
}

// knownNode is what is cached for a node.
type knownNode struct {
	key         resources.Key
	allocatable resources.Vector
	message     *contract.Node
	size        int
	state       string
	// unsent: the node cannot be sent, so the message shows one that takes no pods.
	unsent bool
	round  uint64
}

// knownOwner is what is cached for a controller.
type knownOwner struct {
	from  sources
	owner *owner
	round uint64
}

// begin starts a round and locks the cache; end ends both.
func (c *Cache) begin(book *resources.Book) {
	c.mu.Lock()
	c.book = book
	c.round++
	if c.pods == nil {
		c.pods, c.nodes, c.owners = map[types.UID]*known{}, map[string]*knownNode{}, map[types.UID]*knownOwner{}
	}
}

func (c *Cache) end() {
	maps.DeleteFunc(c.pods, func(_ types.UID, one *known) bool { return one.round != c.round })
	maps.DeleteFunc(c.nodes, func(_ string, one *knownNode) bool { return one.round != c.round })
	maps.DeleteFunc(c.owners, func(_ types.UID, one *knownOwner) bool { return one.round != c.round })
	c.mu.Unlock()
}

// of returns what is cached for the pods, in the order of a message. Most keep their places from the last round.
func (c *Cache) of(pods []*v1.Pod) []*known {
	var added []*known
	for _, pod := range pods {
		found := c.pods[pod.UID]
		if found == nil {
			found = &known{}
			c.pods[pod.UID] = found
			added = append(added, found)
		}
		if key := c.book.PodKey(pod); found.key != key {
			needs := c.book.Needs(pod)
			*found = known{pod: pod, key: key, controller: metav1.GetControllerOfNoCopy(pod), requests: needs,
				spec: specOf(pod, needs), reads: labelsReadBy(pod)}
		}
		found.round = c.round
	}
	compare := func(a, b *known) int { return comparePods(a.pod, b.pod) }
	slices.SortFunc(added, compare)
	rest := slices.DeleteFunc(c.order, func(pod *known) bool { return pod.round != c.round })
	c.order = make([]*known, 0, len(rest)+len(added))
	for _, pod := range added {
		before, _ := slices.BinarySearchFunc(rest, pod, compare)
		c.order = append(append(c.order, rest[:before]...), pod)
		rest = rest[before:]
	}
	c.order = append(c.order, rest...)
	return c.order
}

func (c *Cache) ofNode(node *v1.Node) *knownNode {
	found, key := c.nodes[node.Name], c.book.NodeKey(node)
	if found == nil || found.key != key {
		capacity := c.book.Capacity(node)
		message := nodeMessage(node, capacity)
		_, sent := marshalled(message)
		if !sent {
			// Kubernetes does not validate the names of a node's resources. No pods are sent to such a node.
			message = &contract.Node{Name: node.Name, Allocatable: &contract.Resources{}, Unschedulable: true,
				IrremovableReason: message.IrremovableReason}
		}
		found = &knownNode{key: key, allocatable: capacity, message: message,
			size: proto.Size(message), state: nodeLine(message), unsent: !sent}
		c.nodes[node.Name] = found
	}
	found.round = c.round
	return found
}

// NodeState is the state of a node as it is in snapshots.
func (c *Cache) NodeState(book *resources.Book, node *v1.Node) string {
	c.begin(book)
	defer c.mu.Unlock()
	return c.ofNode(node).state
}

// ownerOf looks each controller up once a round.
func (c *Cache) ownerOf(in Workloads, namespace string, ref *metav1.OwnerReference) *owner {
	if in == nil {
		return nil
	}
	found := c.owners[ref.UID]
	if found != nil && found.round == c.round {
		return found.owner
	}
	from := sourcesOf(in, namespace, ref)
	if found == nil || found.from != from {
		found = &knownOwner{from: from, owner: from.owner()}
		c.owners[ref.UID] = found
	}
	found.round = c.round
	return found.owner
}

// use sets the labels that distinguish classes.
func (c *Cache) use(labels readLabels) Classes {
	if c.classes == nil || !c.classes.labels.equal(labels) {
		c.classes = &Classes{labels, c.book}
	}
	return *c.classes
}

// classOf is the identifier of the pod's class.
func (c *Cache) classOf(pod *known) string {
	if pod.classes != c.classes {
		pod.class, pod.classes = c.classes.id(pod.spec, pod.pod), c.classes
	}
	return pod.class
}
