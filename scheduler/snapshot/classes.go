package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	schedulerutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// class is what the pods of a class have in common.
type class struct {
	message *contract.PodClass
	budgets []*Budget
	// digest is that of the message, size its length.
	digest [sha256.Size]byte
	size   int
	// stripped: the message has not all of it.
	stripped bool
}

// classes collects the classes of one snapshot.
type classes struct {
	by         Classes
	namespaces []*v1.Namespace
	volumes    Volumes
	book       *resources.Book
	budgets    *budgetIndex
	found      map[string]*class
	// requests are those for devices that pods share or that overlap, by their IDs.
	requests map[string]*contract.DeviceRequest
	// groups are the pod groups, by their IDs.
	groups map[string]*group
	rules  *Rules
}

func (c *classes) of(id string, known *known) *class {
	found, done := c.found[id]
	if !done {
		pod := known.pod
		found = &class{message: c.message(id, identityOf(pod, known.requests, c.book), known.requests, c.by.read(pod)),
			budgets: c.budgets.of(pod)}
		c.addGroup(found.message, pod)
		c.addRequests(found.message, pod)
		if c.rules.CountsDevices {
			found.message.Worth = worthOf(c.book.HundredthsOfDevices(pod))
		}
		if !found.seal() {
			found.strip(notText)
		}
		c.found[id] = found
	}
	return found
}

// messages are those of all classes, in order, within the size limits.
func (c *classes) messages() []*contract.PodClass {
	all := slices.SortedFunc(maps.Values(c.found), func(a, b *class) int {
		return cmp.Compare(a.message.Id, b.message.Id)
	})
	fit(converted(all, func(one *class) int { return one.size }), largestClasses, func(i int) int {
		all[i].strip(tooLarge)
		return all[i].size
	})
	return converted(all, func(one *class) *contract.PodClass { return one.message })
}

func (c *class) seal() bool {
	encoded, some := marshalled(c.message)
	c.digest, c.size = sha256.Sum256(encoded), len(encoded)
	return some
}

// strip reduces the message to what is needed about pods that are never moved: the room that they take.
func (c *class) strip(need string) {
	of := c.message
	c.stripped = true
	c.message = &contract.PodClass{
		Id: of.Id, Namespace: of.Namespace, Priority: of.Priority, Requests: of.Requests, Gang: of.Gang,
		Unsupported: append(of.Unsupported, need),
	}
	if owner := of.Owner; owner != nil {
		c.message.Owner = &contract.Owner{Kind: text(owner.Kind), Name: text(owner.Name), Uid: text(owner.Uid)}
	}
	c.seal()
}

// Classes distinguishes pods by everything that decides where they may run. Of their labels only those count that some
// selector of the cluster reads in their namespace: otherwise labels such as the name of a StatefulSet's pod would make a
// class of every pod. So a value of Classes belongs to one snapshot and its plans. The zero value reads no labels.
type Classes struct {
	labels readLabels
	book   *resources.Book
}

// ID is the identifier of the pod's class.
func (c Classes) ID(pod *v1.Pod) string { return c.id(specOf(pod, c.book.Needs(pod), c.book), pod) }

// Book is that of the cluster as it is at any time.
func (c Classes) Book() *resources.Book { return c.book }

// Allocated are the devices that the pod's claims have already although it waits, and their node, or "".
func (c Classes) Allocated(pod *v1.Pod) (node string, devices resources.Vector) {
	return c.book.Allocated(pod)
}

// HoldsDevices says whether claims that were made for the pod have devices. They outlive it by a while.
func (c Classes) HoldsDevices(pod types.UID) bool {
	return slices.ContainsFunc(c.book.ClaimsOf(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod}}),
		func(claim *resourceapi.ResourceClaim) bool { return claim.Status.Allocation != nil })
}

func (c Classes) id(spec string, pod *v1.Pod) string {
	digest := sha256.New()
	// A hash never fails to be written to.
	_, _ = io.WriteString(digest, spec)
	read := c.read(pod)
	for _, key := range slices.Sorted(maps.Keys(read)) {
		_, _ = io.WriteString(digest, key+"\x00"+read[key]+"\x00")
	}
	return hex.EncodeToString(digest.Sum(nil)[:8])
}

// read are the labels that identify a class.
func (c Classes) read(pod *v1.Pod) map[string]string {
	read := map[string]string{}
	for key, value := range pod.Labels {
		if c.labels.has(pod.Namespace, key) {
			read[key] = value
		}
	}
	return read
}

// identity is everything of a pod, except its labels, that decides where it may run, in a form that marshals
// deterministically. It has no names and UIDs of pods: a replacement must hash to the same class.
type identity struct {
	Namespace     string
	Owner         *metav1.OwnerReference
	Priority      int32
	SchedulerName string
	Requests      *contract.Resources
	NodeSelector  map[string]string
	NodeAffinity  *v1.NodeSelector
	Affinity      []v1.PodAffinityTerm
	AntiAffinity  []v1.PodAffinityTerm
	Tolerations   []v1.Toleration
	Spread        []v1.TopologySpreadConstraint
	HostPorts     []v1.ContainerPort
	VolumeClaims  []string `json:"Claims"` // part of the IDs of classes in plans of earlier versions
	Drivers       []string `json:",omitempty"`
	// Group is the ID of the pod group.
	Group string `json:",omitempty"`
	// Devices are what claims ask for. Amounts of devices depend on what others ask for, so they are not in Requests.
	Devices     []string `json:",omitempty"`
	Unsupported []string
	// asks are the same and those of extended resources; these are in Requests.
	asks []string
	// deviceRequests are those of them for devices that pods share or that overlap.
	deviceRequests []string
	// Soft terms.
	PreferredNodes []v1.PreferredSchedulingTerm
	PreferredPods  []v1.WeightedPodAffinityTerm
	PreferredApart []v1.WeightedPodAffinityTerm
}

// specOf is a digest of the pod's identity.
func specOf(pod *v1.Pod, needs resources.Vector, book *resources.Book) string {
	return digestOf(pod, identityOf(pod, needs, book))
}

// SignatureOf is the pod's scheduling signature: where one pod is unschedulable, so is another with the same signature,
// apart from rules that read labels or owners.
func SignatureOf(pod *v1.Pod, book *resources.Book) string {
	id := identityOf(pod, book.Needs(pod), book)
	id.Owner = nil
	return digestOf(pod, id)
}

func digestOf(pod *v1.Pod, id identity) string {
	encoded, err := json.Marshal(id)
	if err != nil {
		// Plain structs of strings and numbers always marshal; a class of its own is safe.
		return "pod " + string(pod.UID)
	}
	sum := sha256.Sum256(encoded)
	return string(sum[:])
}

func identityOf(pod *v1.Pod, needs resources.Vector, book *resources.Book) identity {
	nodes, near, apart := affinitiesOf(pod)
	devices, requests := book.Devices(pod), needs.WithoutDevices()
	if devices.Extended {
		requests = resources.OfList(resources.ListOf(pod)) // whatever serves its extended resources
	}
	return identity{
		Namespace:     pod.Namespace,
		Owner:         metav1.GetControllerOfNoCopy(pod),
		Priority:      corev1helpers.PodPriority(pod),
		SchedulerName: pod.Spec.SchedulerName,
		Requests:      requests.WithPods(0).Message(), // the contract: every pod counts as one
		NodeSelector:  pod.Spec.NodeSelector,
		Tolerations:   pod.Spec.Tolerations,
		Spread:        pod.Spec.TopologySpreadConstraints,
		HostPorts:     schedulerutil.GetHostPorts(pod),
		VolumeClaims:  volumeClaimNames(pod),
		Drivers:       driverNames(pod),
		Group:         GroupOf(pod),
		Devices:       devices.Claimed,
		Unsupported:   append(unsupportedBySpec(pod, book.CountsDevices()), devices.Refused...),
		asks:          devices.Asks,

		deviceRequests: devices.Requests,
		NodeAffinity:   nodes.RequiredDuringSchedulingIgnoredDuringExecution,
		PreferredNodes: nodes.PreferredDuringSchedulingIgnoredDuringExecution,
		Affinity:       near.RequiredDuringSchedulingIgnoredDuringExecution,
		PreferredPods:  near.PreferredDuringSchedulingIgnoredDuringExecution,
		AntiAffinity:   apart.RequiredDuringSchedulingIgnoredDuringExecution,
		PreferredApart: apart.PreferredDuringSchedulingIgnoredDuringExecution,
	}
}

// affinitiesOf are the pod's affinity to nodes, and to and against other pods; without terms where it has none.
func affinitiesOf(pod *v1.Pod) (nodes v1.NodeAffinity, near v1.PodAffinity, apart v1.PodAntiAffinity) {
	if affinity := pod.Spec.Affinity; affinity != nil {
		nodes, near, apart = ptr.Deref(affinity.NodeAffinity, nodes), ptr.Deref(affinity.PodAffinity, near),
			ptr.Deref(affinity.PodAntiAffinity, apart)
	}
	return nodes, near, apart
}
