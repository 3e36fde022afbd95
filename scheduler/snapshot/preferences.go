package snapshot

import (
	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/contract"
)

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
