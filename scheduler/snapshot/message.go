package snapshot

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/apis/core/helper"

	"github.com/stowage/stowage/scheduler/contract"
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

func compareMessages(a, b *contract.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Uid, b.Uid))
}

func namespaceMessages(namespaces []*v1.Namespace) []*contract.Namespace {
	messages := make([]*contract.Namespace, 0, len(namespaces))
	all := make([]namespace, 0, len(namespaces))
	for _, one := range namespaces {
		message := &contract.Namespace{Name: one.Name, Labels: one.Labels}
		messages, all = append(messages, message), append(all, namespace{message})
	}
	fit(all, largestNamespaces)
	slices.SortFunc(messages, func(a, b *contract.Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return messages
}

func (c *classes) message(id string, of identity, labels map[string]string) *contract.PodClass {
	requests := of.Requests.Message()
	requests.Pods = 0 // the contract: every pod counts as one
	class := &contract.PodClass{
		Id:           id,
		Namespace:    of.Namespace,
		Labels:       labels,
		Priority:     of.Priority,
		Requests:     requests,
		NodeSelector: of.NodeSelector,
		Unsupported:  slices.Clone(of.Unsupported),
	}
	if !slices.Contains(of.Unsupported, unreadableNodeAffinity) {
		class.RequiredNodeAffinity = nodeTermMessages(of.NodeAffinity)
		class.PreferredNodeAffinity = preferredNodeMessages(of.PreferredNodes)
	}
	if !slices.Contains(of.Unsupported, unreadablePodSelector) {
		c.addPodTerms(class, of)
	}
	volumes, known := c.volumeAffinity(of.Namespace, of.Claims)
	class.VolumeNodeAffinity = volumes
	if !known {
		class.Unsupported = append([]string{openVolumes}, class.Unsupported...)
	}
	if of.Owner != nil {
		class.Owner = &contract.Owner{Kind: of.Owner.Kind, Name: of.Owner.Name, Uid: string(of.Owner.UID)}
	}
	for _, toleration := range of.Tolerations {
		class.Tolerations = append(class.Tolerations, tolerationMessage(toleration))
	}
	for _, port := range of.HostPorts {
		class.HostPorts = append(class.HostPorts, &contract.HostPort{
			Protocol: string(port.Protocol), HostIp: port.HostIP, Port: port.HostPort})
	}
	return class
}

func (c *classes) addPodTerms(class *contract.PodClass, of identity) {
	class.RequiredPodAffinity = c.affinityMessages(of.Affinity)
	class.RequiredPodAntiAffinity = c.affinityMessages(of.AntiAffinity)
	class.PreferredPodAffinity = c.preferredPodMessages(of.PreferredPods)
	class.PreferredPodAntiAffinity = c.preferredPodMessages(of.PreferredApart)
	for _, constraint := range of.Spread {
		class.TopologySpread = append(class.TopologySpread, spreadMessage(constraint))
	}
}

func tolerationMessage(toleration v1.Toleration) *contract.Toleration {
	operator := string(toleration.Operator)
	if operator == "" {
		operator = string(v1.TolerationOpEqual)
	}
	return &contract.Toleration{
		Key: toleration.Key, Operator: operator, Value: toleration.Value, Effect: string(toleration.Effect)}
}

func nodeTermMessages(selector *v1.NodeSelector) []*contract.NodeSelectorTerm {
	if selector == nil {
		return nil
	}
	var terms []*contract.NodeSelectorTerm
	for _, term := range selector.NodeSelectorTerms {
		terms = append(terms, &contract.NodeSelectorTerm{
			MatchExpressions: nodeRequirements(term.MatchExpressions),
			MatchFields:      nodeRequirements(term.MatchFields),
		})
	}
	return terms
}

func nodeRequirements(requirements []v1.NodeSelectorRequirement) []*contract.Requirement {
	var messages []*contract.Requirement
	for _, requirement := range requirements {
		messages = append(messages, &contract.Requirement{
			Key: requirement.Key, Operator: string(requirement.Operator), Values: requirement.Values})
	}
	return messages
}

// affinityMessages resolves namespace selectors: the snapshot has no namespaces to match.
func (c *classes) affinityMessages(terms []v1.PodAffinityTerm) []*contract.PodAffinityTerm {
	var messages []*contract.PodAffinityTerm
	for _, term := range terms {
		messages = append(messages, &contract.PodAffinityTerm{
			LabelSelector:     selectorMessage(term.LabelSelector),
			Namespaces:        c.namespacesOf(term),
			TopologyKey:       term.TopologyKey,
			MatchLabelKeys:    term.MatchLabelKeys,
			MismatchLabelKeys: term.MismatchLabelKeys,
		})
	}
	return messages
}

// noNamespace represents a selector that matches no namespace: an empty list would mean the pod's own.
const noNamespace = "no namespace matches"

func (c *classes) namespacesOf(term v1.PodAffinityTerm) []string {
	if term.NamespaceSelector == nil {
		return term.Namespaces
	}
	names := sets.New(term.Namespaces...)
	if selector, err := metav1.LabelSelectorAsSelector(term.NamespaceSelector); err == nil {
		for _, namespace := range c.namespaces {
			if selector.Matches(labels.Set(namespace.Labels)) {
				names.Insert(namespace.Name)
			}
		}
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
	message := &contract.LabelSelector{MatchLabels: selector.MatchLabels}
	for _, requirement := range selector.MatchExpressions {
		values := append([]string(nil), requirement.Values...)
		sort.Strings(values)
		message.MatchExpressions = append(message.MatchExpressions, &contract.Requirement{
			Key: requirement.Key, Operator: string(requirement.Operator), Values: values})
	}
	return message
}

func spreadMessage(constraint v1.TopologySpreadConstraint) *contract.TopologySpreadConstraint {
	message := &contract.TopologySpreadConstraint{
		MaxSkew:            constraint.MaxSkew,
		TopologyKey:        constraint.TopologyKey,
		WhenUnsatisfiable:  string(constraint.WhenUnsatisfiable),
		LabelSelector:      selectorMessage(constraint.LabelSelector),
		NodeAffinityPolicy: string(v1.NodeInclusionPolicyHonor),
		NodeTaintsPolicy:   string(v1.NodeInclusionPolicyIgnore),
		MatchLabelKeys:     constraint.MatchLabelKeys,
	}
	if constraint.MinDomains != nil {
		message.MinDomains = *constraint.MinDomains
	}
	if constraint.NodeAffinityPolicy != nil {
		message.NodeAffinityPolicy = string(*constraint.NodeAffinityPolicy)
	}
	if constraint.NodeTaintsPolicy != nil {
		message.NodeTaintsPolicy = string(*constraint.NodeTaintsPolicy)
	}
	return message
}

func preferredNodeMessages(terms []v1.PreferredSchedulingTerm) []*contract.PreferredNodeTerm {
	var messages []*contract.PreferredNodeTerm
	for _, term := range terms {
		messages = append(messages, &contract.PreferredNodeTerm{
			Weight: term.Weight,
			Term: &contract.NodeSelectorTerm{
				MatchExpressions: nodeRequirements(term.Preference.MatchExpressions),
				MatchFields:      nodeRequirements(term.Preference.MatchFields),
			},
		})
	}
	return messages
}

func (c *classes) preferredPodMessages(terms []v1.WeightedPodAffinityTerm) []*contract.PreferredPodTerm {
	var messages []*contract.PreferredPodTerm
	for _, term := range terms {
		messages = append(messages, &contract.PreferredPodTerm{
			Weight: term.Weight,
			Term:   c.affinityMessages([]v1.PodAffinityTerm{term.PodAffinityTerm})[0],
		})
	}
	return messages
}

// ageSeconds is how long ago the pod started; it is never negative, although clocks of different machines may disagree.
func ageSeconds(pod *v1.Pod, now time.Time) int64 {
	if pod.Status.StartTime == nil || now.IsZero() {
		return 0
	}
	return max(0, int64(now.Sub(pod.Status.StartTime.Time).Seconds()))
}
