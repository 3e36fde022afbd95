package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sort"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// identity is all of a pod that matters to where it may run, in a form that marshals the same
// way each time. Names and UIDs of pods are not in it: a replacement must hash to the same class.
type identity struct {
	Namespace     string
	Labels        map[string]string
	Owner         *metav1.OwnerReference
	Priority      int32
	SchedulerName string
	Requests      resources.Vector
	NodeSelector  map[string]string
	NodeAffinity  *v1.NodeSelector
	Affinity      []v1.PodAffinityTerm
	AntiAffinity  []v1.PodAffinityTerm
	Tolerations   []v1.Toleration
	Spread        []v1.TopologySpreadConstraint
	HostPorts     []hostPort
	Claims        []string
	Unsupported   []string
	// Soft terms.
	PreferredNodes []v1.PreferredSchedulingTerm
	PreferredPods  []v1.WeightedPodAffinityTerm
	PreferredApart []v1.WeightedPodAffinityTerm
}

type hostPort struct {
	Protocol, IP string
	Port         int32
}

// ClassID is the identifier of the pod's class.
func ClassID(pod *v1.Pod) string {
	encoded, err := json.Marshal(identityOf(pod))
	if err != nil {
		// Plain structs of strings and numbers always marshal; a class of its own is safe.
		return "pod-" + string(pod.UID)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// ControllerUID is the UID of the pod's controller, or empty.
func ControllerUID(pod *v1.Pod) types.UID {
	if owner := metav1.GetControllerOf(pod); owner != nil {
		return owner.UID
	}
	return ""
}

func identityOf(pod *v1.Pod) identity {
	id := identity{
		Namespace:     pod.Namespace,
		Labels:        pod.Labels,
		Owner:         metav1.GetControllerOf(pod),
		Priority:      corev1helpers.PodPriority(pod),
		SchedulerName: pod.Spec.SchedulerName,
		Requests:      resources.OfPod(pod),
		NodeSelector:  pod.Spec.NodeSelector,
		Tolerations:   pod.Spec.Tolerations,
		Spread:        pod.Spec.TopologySpreadConstraints,
		HostPorts:     hostPorts(pod),
		Claims:        claimNames(pod),
		Unsupported:   unsupported(pod),
	}
	if affinity := pod.Spec.Affinity; affinity != nil {
		id.addAffinity(affinity)
	}
	return id
}

func (id *identity) addAffinity(affinity *v1.Affinity) {
	if nodes := affinity.NodeAffinity; nodes != nil {
		id.NodeAffinity = nodes.RequiredDuringSchedulingIgnoredDuringExecution
		id.PreferredNodes = nodes.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if pods := affinity.PodAffinity; pods != nil {
		id.Affinity = pods.RequiredDuringSchedulingIgnoredDuringExecution
		id.PreferredPods = pods.PreferredDuringSchedulingIgnoredDuringExecution
	}
	if pods := affinity.PodAntiAffinity; pods != nil {
		id.AntiAffinity = pods.RequiredDuringSchedulingIgnoredDuringExecution
		id.PreferredApart = pods.PreferredDuringSchedulingIgnoredDuringExecution
	}
}

func hostPorts(pod *v1.Pod) []hostPort {
	var ports []hostPort
	add := func(container *v1.Container) {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				ports = append(ports, hostPort{string(port.Protocol), port.HostIP, port.HostPort})
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		init := &pod.Spec.InitContainers[i]
		if init.RestartPolicy != nil && *init.RestartPolicy == v1.ContainerRestartPolicyAlways {
			add(init)
		}
	}
	return ports
}

// classes collects the classes of one snapshot.
type classes struct {
	namespaces []*v1.Namespace
	volumes    Volumes
	byID       map[string]*contract.PodClass
}

func newClasses(namespaces []*v1.Namespace, volumes Volumes) *classes {
	return &classes{namespaces: namespaces, volumes: volumes, byID: map[string]*contract.PodClass{}}
}

func (c *classes) of(pod *v1.Pod) *contract.PodClass {
	id := ClassID(pod)
	class, known := c.byID[id]
	if !known {
		class = c.message(id, identityOf(pod))
		c.byID[id] = class
	}
	return class
}

func (c *classes) messages() []*contract.PodClass {
	messages := make([]*contract.PodClass, 0, len(c.byID))
	for _, class := range c.byID {
		messages = append(messages, class)
	}
	sort.Slice(messages, func(i, j int) bool { return messages[i].Id < messages[j].Id })
	return messages
}
