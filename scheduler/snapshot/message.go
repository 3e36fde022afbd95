package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/apis/core/helper"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

func podMessage(pod *Pod, now time.Time) *contract.Pod {
	// A cost that cannot be read counts as 0, as for the ReplicaSet controller.
	cost, _ := helper.GetDeletionCostFromPodAnnotations(pod.Object.Annotations)
	return &contract.Pod{
		Uid:             string(pod.Object.UID),
		Namespace:       pod.Object.Namespace,
		Name:            pod.Object.Name,
		ClassId:         pod.Class,
		Node:            pod.Node,
		Movable:         pod.Node != "" && pod.Immovable == "",
		ImmovableReason: pod.Immovable,
		DeletionCost:    cost,
		AgeS:            ageSeconds(pod.Object, now),

		ExemptFromBudget: pod.Exempt,
	}
}

// comparePods is the order of pods in a message.
func comparePods(a, b *v1.Pod) int {
	// Not cmp.Or, which evaluates all comparisons: there are many pods, and most differ in their names.
	if order := strings.Compare(a.Namespace, b.Namespace); order != 0 {
		return order
	}
	if order := strings.Compare(a.Name, b.Name); order != 0 {
		return order
	}
	return cmp.Compare(a.UID, b.UID)
}

func (c *classes) message(id string, of identity, requests resources.Vector, labels map[string]string) *contract.PodClass {
	class := &contract.PodClass{
		Id:           id,
		Namespace:    of.Namespace,
		Labels:       labels,
		Priority:     of.Priority,
		Requests:     requests.WithPods(0).Message(),
		NodeSelector: of.NodeSelector,
		Unsupported:  slices.Clone(of.Unsupported),
	}
	if !slices.Contains(of.Unsupported, unreadableNodeAffinity) {
		class.RequiredNodeAffinity = nodeTermMessages(of.NodeAffinity)
		class.PreferredNodeAffinity = converted(of.PreferredNodes, preferredNodeMessage)
	}
	if !slices.Contains(of.Unsupported, unreadablePodSelector) {
		class.RequiredPodAffinity = converted(of.Affinity, c.affinityMessage)
		class.RequiredPodAntiAffinity = converted(of.AntiAffinity, c.affinityMessage)
		class.PreferredPodAffinity = converted(of.PreferredPods, c.preferredPodMessage)
		class.PreferredPodAntiAffinity = converted(of.PreferredApart, c.preferredPodMessage)
		class.TopologySpread = converted(of.Spread, spreadMessage)
	}
	volumes, known := c.volumeAffinity(of.Namespace, of.VolumeClaims)
	class.VolumeNodeAffinity = volumes
	if !known || !c.unlimited(of.Drivers) {
		class.Unsupported = append([]string{openVolumes}, class.Unsupported...)
	}
	class.Unsupported = append(class.Unsupported, c.book.DevicesRefused(of.asks)...)
	class.DeviceRequests = of.deviceRequests
	if of.Owner != nil {
		class.Owner = &contract.Owner{Kind: of.Owner.Kind, Name: of.Owner.Name, Uid: string(of.Owner.UID)}
	}
	class.Tolerations = converted(of.Tolerations, tolerationMessage)
	class.HostPorts = converted(of.HostPorts, func(port v1.ContainerPort) *contract.HostPort {
		return &contract.HostPort{Protocol: string(port.Protocol), HostIp: port.HostIP, Port: port.HostPort}
	})
	return class
}

// converted are the messages of all of some objects.
func converted[From, To any](all []From, message func(From) To) []To {
	messages := make([]To, 0, len(all))
	for _, one := range all {
		messages = append(messages, message(one))
	}
	return messages
}

func tolerationMessage(toleration v1.Toleration) *contract.Toleration {
	return &contract.Toleration{Key: toleration.Key, Operator: string(cmp.Or(toleration.Operator, v1.TolerationOpEqual)),
		Value: toleration.Value, Effect: string(toleration.Effect)}
}

func nodeTermMessages(selector *v1.NodeSelector) []*contract.NodeSelectorTerm {
	return converted(ptr.Deref(selector, v1.NodeSelector{}).NodeSelectorTerms, nodeTermMessage)
}

func nodeTermMessage(term v1.NodeSelectorTerm) *contract.NodeSelectorTerm {
	return &contract.NodeSelectorTerm{
		MatchExpressions: converted(term.MatchExpressions, requirementMessage),
		MatchFields:      converted(term.MatchFields, requirementMessage),
	}
}

func requirementMessage(requirement v1.NodeSelectorRequirement) *contract.Requirement {
	return &contract.Requirement{
		Key: requirement.Key, Operator: string(requirement.Operator), Values: requirement.Values}
}

// affinityMessage resolves namespace selectors: the snapshot has no namespaces to match.
func (c *classes) affinityMessage(term v1.PodAffinityTerm) *contract.PodAffinityTerm {
	return &contract.PodAffinityTerm{
		LabelSelector:     selectorMessage(term.LabelSelector),
		Namespaces:        c.namespacesOf(term),
		TopologyKey:       term.TopologyKey,
		MatchLabelKeys:    term.MatchLabelKeys,
		MismatchLabelKeys: term.MismatchLabelKeys,
	}
}

// noNamespace represents a selector that matches no namespace: an empty list would mean the pod's own.
const noNamespace = "no namespace matches"

func (c *classes) namespacesOf(term v1.PodAffinityTerm) []string {
	if term.NamespaceSelector == nil {
		return term.Namespaces
	}
	names := sets.New(term.Namespaces...)
	if selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector); err == nil {
		names.Insert(selectedNamespaces(selector, c.namespaces)...)
	}
	if names.Len() == 0 {
		names.Insert(noNamespace)
	}
	return sets.List(names)
}

func selectorMessage(selector *metav1.LabelSelector) *contract.LabelSelector {
	if selector == nil {
		return nil
	}
	return &contract.LabelSelector{MatchLabels: selector.MatchLabels,
		MatchExpressions: converted(selector.MatchExpressions, func(requirement metav1.LabelSelectorRequirement) *contract.Requirement {
			return &contract.Requirement{Key: requirement.Key, Operator: string(requirement.Operator),
				Values: slices.Sorted(slices.Values(requirement.Values))}
		})}
}

func spreadMessage(constraint v1.TopologySpreadConstraint) *contract.TopologySpreadConstraint {
	return &contract.TopologySpreadConstraint{
		MaxSkew:            constraint.MaxSkew,
		TopologyKey:        constraint.TopologyKey,
		WhenUnsatisfiable:  string(constraint.WhenUnsatisfiable),
		LabelSelector:      selectorMessage(constraint.LabelSelector),
		NodeAffinityPolicy: string(ptr.Deref(constraint.NodeAffinityPolicy, v1.NodeInclusionPolicyHonor)),
		NodeTaintsPolicy:   string(ptr.Deref(constraint.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore)),
		MatchLabelKeys:     constraint.MatchLabelKeys,
		MinDomains:         ptr.Deref(constraint.MinDomains, 0),
	}
}

func preferredNodeMessage(term v1.PreferredSchedulingTerm) *contract.PreferredNodeTerm {
	return &contract.PreferredNodeTerm{Weight: term.Weight, Term: nodeTermMessage(term.Preference)}
}

func (c *classes) preferredPodMessage(term v1.WeightedPodAffinityTerm) *contract.PreferredPodTerm {
	return &contract.PreferredPodTerm{Weight: term.Weight, Term: c.affinityMessage(term.PodAffinityTerm)}
}

// ageSeconds is how long ago the pod started; it is never negative, although clocks of different machines may disagree.
func ageSeconds(pod *v1.Pod, now time.Time) int64 {
	if pod.Status.StartTime == nil || now.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(pod.Status.StartTime.Time).Seconds()))
}
