package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
)

// FingerprintAfter is the fingerprint of the state in which the given pods have the given nodes
// ("" is pending) and all others are as they are now. Pods that change nodes count as settled
// there. FingerprintAfter(nil) is the present state's.
func (s *Snapshot) FingerprintAfter(nodes map[types.UID]string) string {
	lines := make([]string, 0, len(s.Pods))
	for uid, pod := range s.Pods {
		node, reason := pod.Node, pod.Immovable
		if changed, ok := nodes[uid]; ok && changed != node {
			node, reason = changed, pod.atRest
		}
		if node == "" {
			reason = ""
		}
		lines = append(lines, fmt.Sprintf("%s %q %q", pod.Class, node, reason))
	}
	sort.Strings(lines)
	digest := sha256.New()
	for _, line := range slices.Concat(lines, s.nodeLines, budgetLines(s.Message.DisruptionBudgets)) {
		// A hash never fails to be written to.
		_, _ = io.WriteString(digest, line+"\n")
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// budgetLines are all of the budgets that can change an answer.
func budgetLines(budgets []*contract.DisruptionBudget) []string {
	lines := make([]string, 0, len(budgets))
	for _, one := range budgets {
		lines = append(lines, fmt.Sprintf("%s/%s allows %d", one.Namespace, one.Name, one.DisruptionsAllowed))
	}
	sort.Strings(lines)
	return lines
}

// NodeState is equal for two looks at a node between which nothing changed that matters.
func NodeState(node *v1.Node) string { return nodeLine(nodeMessage(node)) }

// nodeLine is all of a node that can change an answer.
func nodeLine(node *contract.Node) string {
	encoded, err := json.Marshal([]any{node.Name, node.Allocatable, node.Labels, node.Taints, node.Unschedulable})
	if err != nil {
		return node.Name // plain messages always marshal
	}
	return string(encoded)
}
