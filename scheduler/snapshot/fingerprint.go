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
	"k8s.io/apimachinery/pkg/util/sets"

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
	for _, line := range slices.Concat(lines, s.nodeLines, budgetLines(s.Pods)) {
		// A hash never fails to be written to.
		_, _ = io.WriteString(digest, line+"\n")
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// budgetLines are all of the budgets that can change an answer: those that cover a pod.
func budgetLines(pods map[types.UID]*Pod) []string {
	lines := sets.New[string]()
	for _, pod := range pods {
		for _, one := range pod.Budgets {
			lines.Insert(fmt.Sprintf("%s/%s allows %d", one.Namespace, one.Name, one.Allowed))
		}
	}
	return sets.List(lines)
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
