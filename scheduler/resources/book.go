package resources

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Book tells what pods need, and what nodes have and have left, as the scheduler counts it. All code that asks this asks
// the book, whatever objects say so beside the pods and the nodes themselves. A nil book knows no other objects.
type Book struct {
	// ServedByDevices says whether some device class serves the extended resource; nil: none does.
	ServedByDevices func(v1.ResourceName) bool
	devices         *Catalogue
	// at is the state of the devices by which all is read; nil: the present one.
	at *state
}

// NewBook returns the book of the cluster that the handle shows. Without a catalogue it counts no devices.
func NewBook(handle fwk.Handle, devices *Catalogue) *Book {
	return &Book{devices: devices, ServedByDevices: func(name v1.ResourceName) bool {
		manager := handle.SharedDRAManager() // nil where the scheduler allocates no devices
		return manager != nil && manager.DeviceClassResolver().GetDeviceClass(name) != nil
	}}
}

// Refresh reads the devices as they are now, and returns a book whose amounts all belong to that state: those of one
// snapshot. Devices that nobody asked for until then are none in it.
func (b *Book) Refresh() *Book {
	if b.state() == nil {
		return b
	}
	b.devices.Refresh()
	return &Book{ServedByDevices: b.ServedByDevices, devices: b.devices, at: b.devices.state.Load()}
}

// Key identifies the objects from which an amount was read: while it is the same, so is the amount. Informers never change
// an object, they replace it, so an object is identified by its address.
type Key struct {
	object any
	// devices are what the pod asks for, and the state of all devices by which it was read.
	devices string
	state   uint64
}

// PodKey is that of what the pod needs.
func (b *Book) PodKey(pod *v1.Pod) Key {
	if !b.AsksForDevices(pod) {
		return Key{object: pod}
	}
	found, now := b.devices.devicesOf(pod, b.at)
	return Key{pod, fmt.Sprint(found.Asks, found.Refused), now.number}
}

// NodeKey is that of the node's capacity.
func (b *Book) NodeKey(node *v1.Node) Key {
	now := b.state()
	if now == nil || now.nodes[node.Name] == nil && now.listedBy(node) == (asksMask{}) {
		return Key{object: node}
	}
	return Key{object: node, state: now.number}
}

// Needs is what a pod asks for: init containers, sidecars, pod-level requests, resizes in progress and overhead. The pod
// itself counts as one. Devices are amounts of a state of the cluster: see DevicePrefix.
func (b *Book) Needs(pod *v1.Pod) Vector {
	needs := OfList(ListOf(pod)).WithPods(1)
	if !b.AsksForDevices(pod) {
		return needs
	}
	found, now := b.devices.devicesOf(pod, b.at)
	for name := range found.counts {
		if ask := now.asks[name]; ask != nil && ask.extended != "" {
			delete(needs.extended, string(ask.extended))
		}
	}
	return now.with(needs, now.wanted(found))
}

// Capacity is what the node has for pods.
func (b *Book) Capacity(node *v1.Node) Vector {
	capacity := OfList(node.Status.Allocatable)
	if now := b.state(); now != nil {
		return now.with(capacity, now.capacity(node))
	}
	return capacity
}

// Free is the room on a node as the scheduler sees it, pods whose binding is under way counted.
func (b *Book) Free(node fwk.NodeInfo) Vector {
	allocatable := ofFramework(node.GetAllocatable()).WithPods(int64(node.GetAllocatable().GetAllowedPodNumber()))
	free := allocatable.Minus(ofFramework(node.GetRequested()).WithPods(int64(len(node.GetPods()))))
	now := b.state()
	if now == nil {
		return free
	}
	for _, one := range now.extended {
		if !lists(node.Node(), one.extended) {
			delete(free.extended, string(one.extended)) // devices give it, and the scheduler counts it as taken
		}
	}
	amounts := now.capacity(node.Node())
	if len(amounts) == 0 {
		return free
	}
	taken := b.devices.taken(now, node.Node().Name, now.listedBy(node.Node()), podsOn(node))
	for i := range amounts {
		amounts[i] -= taken.own[i] + taken.others[i]
	}
	return now.with(free, amounts)
}

func podsOn(node fwk.NodeInfo) []*v1.Pod {
	pods := make([]*v1.Pod, len(node.GetPods()))
	for i, one := range node.GetPods() {
		pods[i] = one.GetPod()
	}
	return pods
}

// FreeOn is the room on the named nodes; a node that is gone is left out.
func (b *Book) FreeOn(known fwk.NodeInfoLister, names []string) map[string]Vector {
	free := make(map[string]Vector, len(names))
	for _, name := range names {
		if node, err := known.Get(name); err == nil {
			free[name] = b.Free(node)
		}
	}
	return free
}

// IsServed says whether some device class serves the extended resource.
func (b *Book) IsServed(name v1.ResourceName) bool {
	return b != nil && b.ServedByDevices != nil && b.ServedByDevices(name)
}

func ofFramework(amount fwk.Resource) Vector {
	vector := Vector{native: [...]int64{cpuMilli: amount.GetMilliCPU(), memoryBytes: amount.GetMemory(),
		ephemeralStorageBytes: amount.GetEphemeralStorage()}}
	for name, value := range amount.GetScalarResources() {
		vector.set(name, value)
	}
	return vector
}
