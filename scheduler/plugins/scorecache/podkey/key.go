// Package podkey says which pods are equal for all plugins that filter and score nodes.
package podkey

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/resources"
)

// Key is the paper's ScoreKey (4.2.1): pods with equal keys are equal for all plugins that filter and score nodes. It is
// a digest of a canonical text of a content.
type Key [sha256.Size]byte

// ClusterContext is what a pod's key depends on beside the pod. It decides which of the pod's labels matter, so that pods
// that differ only in labels that no selector reads, such as those of a StatefulSet or an indexed Job, share a ranking.
type ClusterContext struct {
	// Affinity: some pod on some node has terms of inter-pod affinity, which read labels and namespaces.
	Affinity bool
	// Siblings selects the pods that the default constraints spread this one among; empty without constraints.
	Siblings labels.Selector
	// Features are those that the pod needs its node to declare.
	Features string
}

// content is all that the plugins read. The order of a list has no meaning, and a set is a list without duplicates.
type content struct {
	scheduler    string
	priority     int32
	runtimeClass *string
	// filtered are the requests as filters count them, scored as scoring does. Pod-level requests and the overhead are
	// beside those of the containers, since a feature gate decides which count.
	filtered, scored, overhead resources.Vector
	podLevel                   *resources.Vector
	nodeSelector               map[string]string
	required                   *v1.NodeSelector // none matches every node, an empty one none
	preferred                  []v1.PreferredSchedulingTerm
	tolerations                sets.Set[v1.Toleration]
	ports                      sets.Set[v1.ContainerPort]
	images                     []string // of each container: two of one image count twice
	spread                     []v1.TopologySpreadConstraint

	features, siblings, namespace string
	affinity                      bool
	labels                        map[string]string // those that a selector or a constraint's matchLabelKeys may read
}

// Of is the pod's key.
func Of(pod *v1.Pod, cluster ClusterContext) Key {
	c := content{
		scheduler: pod.Spec.SchedulerName, priority: corev1helpers.PodPriority(pod), runtimeClass: pod.Spec.RuntimeClassName,
		filtered: requests(pod, nil), scored: requests(pod, assumed), overhead: resources.OfList(pod.Spec.Overhead),
		nodeSelector: pod.Spec.NodeSelector, tolerations: sets.New[v1.Toleration](), ports: sets.New[v1.ContainerPort](),
		spread: pod.Spec.TopologySpreadConstraints, features: cluster.Features, affinity: cluster.Affinity,
		labels: map[string]string{},
	}
	if pod.Spec.Resources != nil {
		c.podLevel = ptr.To(resources.OfList(pod.Spec.Resources.Requests))
	}
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil {
		c.required = pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		c.preferred = pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	}
	for _, toleration := range pod.Spec.Tolerations {
		toleration.TolerationSeconds = nil // how long a pod may stay, not where it may go
		if toleration.Operator == "" {
			toleration.Operator = v1.TolerationOpEqual
		}
		c.tolerations.Insert(toleration)
	}
	for _, port := range schedutil.GetHostPorts(pod) {
		c.ports.Insert(v1.ContainerPort{HostIP: port.HostIP, Protocol: port.Protocol, HostPort: port.HostPort})
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c.images = append(c.images, containers[i].Image)
		}
	}
	for _, constraint := range c.spread {
		for _, key := range constraint.MatchLabelKeys {
			if value, labelled := pod.Labels[key]; labelled {
				c.labels[key] = value
			}
		}
	}
	if len(c.spread) == 0 && !cluster.Siblings.Empty() {
		c.siblings = cluster.Siblings.String()
	}
	if c.affinity {
		c.labels = pod.Labels
	}
	if c.affinity || len(c.spread) > 0 || c.siblings != "" {
		c.namespace = pod.Namespace
	}
	return sha256.Sum256(appendCanonical(make([]byte, 0, 1024), reflect.ValueOf(&c).Elem()))
}

// assumed is what scoring assumes for a container without requests.
var assumed = v1.ResourceList{
	v1.ResourceCPU:    *resource.NewMilliQuantity(schedutil.DefaultMilliCPURequest, resource.DecimalSI),
	v1.ResourceMemory: *resource.NewQuantity(schedutil.DefaultMemoryRequest, resource.BinarySI),
}

// requests are the pod's effective requests: containers, init containers, sidecars and overhead.
func requests(pod *v1.Pod, missing v1.ResourceList) resources.Vector {
	list := resources.RequestsOf(pod, resourcehelper.PodResourcesOptions{
		SkipPodLevelResources: true, NonMissingContainerRequests: missing})
	maps.DeleteFunc(list, func(_ v1.ResourceName, amount resource.Quantity) bool { return amount.IsZero() })
	return resources.OfList(list)
}

// appendCanonical appends a value as text. Each string is preceded by its length, so that texts which run together do not
// look like others, and the elements of a slice are sorted.
func appendCanonical(text []byte, value reflect.Value) []byte {
	var elements []string
	switch value.Kind() {
	case reflect.Struct:
		for i := range value.NumField() {
			text = appendCanonical(text, value.Field(i))
		}
		return text
	case reflect.Array:
		for i := range value.Len() {
			text = appendCanonical(text, value.Index(i))
		}
		return text
	case reflect.String:
		return append(binary.AppendVarint(text, int64(value.Len())), value.String()...)
	case reflect.Bool:
		return strconv.AppendBool(text, value.Bool())
	case reflect.Int32, reflect.Int64:
		return binary.AppendVarint(text, value.Int())
	case reflect.Pointer:
		if value.IsNil() {
			return append(text, 0)
		}
		return appendCanonical(append(text, 1), value.Elem())
	case reflect.Slice:
		elements = make([]string, value.Len())
		for i := range elements {
			elements[i] = string(appendCanonical(nil, value.Index(i)))
		}
	case reflect.Map:
		elements = make([]string, 0, value.Len())
		for pair := value.MapRange(); pair.Next(); {
			elements = append(elements, string(appendCanonical(appendCanonical(nil, pair.Key()), pair.Value())))
		}
	default:
		panic(fmt.Sprintf("a pod's key cannot contain a %s", value.Type()))
	}
	slices.Sort(elements)
	text = binary.AppendVarint(text, int64(len(elements)))
	for _, element := range elements {
		text = append(binary.AppendVarint(text, int64(len(element))), element...)
	}
	return text
}
