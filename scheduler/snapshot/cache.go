package snapshot

import (
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
	mu sync.Mutex
	// book is that of the round, live the present one.
	book, live *resources.Book

	pods  memo[types.UID, resources.Key, *known]
	nodes memo[string, resources.Key, *knownNode]
	// owners are by the UIDs of controllers.
	owners memo[types.UID, sources, owner]
	// order is that of the pods in a message.
	order []*known
	// classes of the last snapshot; others, if they have changed since.
	classes *Classes
}

// memo keeps what was made for a key from the last round to the next one, until it would be made from something else.
type memo[K, From comparable, To any] struct{ last, now map[K]made[From, To] }

type made[From, To any] struct {
	from From
	to   To
}

func (m *memo[K, From, To]) begin() { m.last, m.now = m.now, make(map[K]made[From, To], len(m.now)) }

func (m *memo[K, From, To]) of(key K, from From, build func() To) To {
	found, known := m.now[key]
	if !known {
		found, known = m.last[key]
	}
	if !known || found.from != from {
		found = made[From, To]{from, build()}
	}
	m.now[key] = found
	return found.to
}

// known is what is cached for a pod.
type known struct {
	pod *v1.Pod
	// controller is nil if it has none.
	controller *metav1.OwnerReference
	requests   resources.Vector
	spec       string
	reads      []reading
	// class is by these classes.
	class   string
	classes *Classes
}

// knownNode is what is cached for a node.
type knownNode struct {
	allocatable resources.Vector
	message     *contract.Node
	size        int
	state       string
	// unsent: the node cannot be sent, so the message shows one that takes no pods.
	unsent bool
	// layout is that of the devices that pods share or that overlap; nil if there are none.
	layout *contract.DeviceLayout
}

// begin starts a round and locks the cache; end ends both.
func (c *Cache) begin(book *resources.Book) {
	c.mu.Lock()
	c.live, c.book = book, book.Refresh()
	c.pods.begin()
	c.nodes.begin()
	c.owners.begin()
}

func (c *Cache) end() {
	c.pods.last, c.nodes.last, c.owners.last = nil, nil, nil
	c.mu.Unlock()
}

// of returns what is cached for the pods, in the order of a message. Pods that have not changed keep their places from the
// last round: to sort all pods takes longer than to look them up.
func (c *Cache) of(pods []*v1.Pod) []*known {
	var added []*known
	for _, pod := range pods {
		c.pods.of(pod.UID, c.book.PodKey(pod), func() *known {
			needs := c.book.Needs(pod)
			added = append(added, &known{pod: pod, controller: metav1.GetControllerOfNoCopy(pod), requests: needs,
				spec: specOf(pod, needs, c.book), reads: labelsReadBy(pod)})
			return added[len(added)-1]
		})
	}
	compare := func(a, b *known) int { return comparePods(a.pod, b.pod) }
	slices.SortFunc(added, compare)
	rest := slices.DeleteFunc(c.order, func(one *known) bool { return c.pods.now[one.pod.UID].to != one })
	c.order = make([]*known, 0, len(rest)+len(added))
	for _, one := range added {
		before, _ := slices.BinarySearchFunc(rest, one, compare)
		c.order = append(append(c.order, rest[:before]...), one)
		rest = rest[before:]
	}
	c.order = append(c.order, rest...)
	return c.order
}

func (c *Cache) ofNode(node *v1.Node) *knownNode {
	return c.nodes.of(node.Name, c.book.NodeKey(node), func() *knownNode {
		capacity, layout := c.book.Capacity(node), c.book.Layout(node.Name).Message
		message := nodeMessage(node, capacity)
		message.DeviceLayout = layout.GetId()
		_, sent := marshalled(message)
		if !sent {
			// Kubernetes does not validate the names of a node's resources. No pods are sent to such a node.
			message = &contract.Node{Name: node.Name, Allocatable: &contract.Resources{}, Unschedulable: true,
				IrremovableReason: message.IrremovableReason}
			layout = nil
		}
		return &knownNode{allocatable: capacity, message: message, size: proto.Size(message), unsent: !sent, layout: layout,
			state: nodeLine(message, capacity, c.book.DevicesOn(node.Name))}
	})
}

// NodeState is the state of a node as it is in snapshots.
func (c *Cache) NodeState(book *resources.Book, node *v1.Node) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.book = book
	if c.nodes.now == nil {
		c.nodes.begin()
	}
	return c.ofNode(node).state
}

// ownerOf looks each controller up once a round.
func (c *Cache) ownerOf(in Workloads, namespace string, ref *metav1.OwnerReference) owner {
	if found, before := c.owners.now[ref.UID]; before {
		return found.to
	}
	from := sourcesOf(in, namespace, ref)
	return c.owners.of(ref.UID, from, from.owner)
}

// use sets the labels that distinguish classes.
func (c *Cache) use(labels readLabels) Classes {
	if c.classes == nil || !c.classes.labels.equal(labels) {
		c.classes = &Classes{labels, c.live}
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
