package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// Fingerprint is equal for equal states, whatever the names of the pods are. It covers everything that the optimiser
// gets, with what was forbidden, pinned and dropped since the snapshot was taken.
func (s *Snapshot) Fingerprint() string { return s.FingerprintAfter(nil) }

// FingerprintAfter is the fingerprint of the state in which the given pods have the given nodes
// ("" is pending) and all others are as they are now. Pods that change nodes count as settled
// there. FingerprintAfter(nil) is the present state's.
func (s *Snapshot) FingerprintAfter(nodes map[types.UID]string) string {
	lines := make([]string, 0, len(s.Pods)+len(s.forbidden))
	for uid, pod := range s.Pods {
		node, reason, exempt := pod.Node, pod.Immovable, pod.Exempt
		if changed, ok := nodes[uid]; ok && changed != node {
			node, reason, exempt = changed, pod.atRest, false
		}
		if node == "" {
			reason = ""
		}
		line := pod.Class + " " + node + " " + reason + " " + strconv.Itoa(int(pod.message.DeletionCost))
		if exempt {
			line += " exempt"
		}
		lines = append(lines, line)
	}
	for pair := range s.forbidden {
		lines = append(lines, "not "+pair.Class+" "+pair.Node)
	}
	slices.Sort(lines)
	digest := sha256.New()
	for _, part := range [][]string{lines, s.heldLines, s.nodeLines(), s.classLines()} {
		for _, line := range part {
			// A hash never fails to be written to.
			_, _ = io.WriteString(digest, line+"\n")
		}
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

func (s *Snapshot) nodeLines() []string {
	lines := make([]string, 0, len(s.Nodes))
	for _, node := range s.Nodes {
		lines = append(lines, node.State)
	}
	slices.Sort(lines)
	return lines
}

// classLines are what the optimiser gets about the classes, with the budgets that cover them: other budgets cannot change
// an answer.
func (s *Snapshot) classLines() []string {
	lines := make([]string, 0, len(s.classes))
	for _, id := range slices.Sorted(maps.Keys(s.classes)) {
		class := s.classes[id]
		line := id + " " + string(class.digest[:])
		budgets := slices.SortedFunc(slices.Values(class.budgets), func(a, b *Budget) int { return cmp.Compare(a.Name, b.Name) })
		for _, one := range budgets {
			line += " " + one.Name + " allows " + strconv.Itoa(int(one.Allowed))
		}
		lines = append(lines, line)
	}
	return lines
}
