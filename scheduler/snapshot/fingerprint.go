package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
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
	lines = slices.Concat(lines, converted(s.Message.Reservations, func(one *contract.Reservation) string {
		encoded, _ := marshalled(one)
		return string(encoded)
	}), converted(s.Message.Gangs, func(one *contract.Gang) string {
		encoded, _ := marshalled(one)
		return string(encoded)
	}), converted(s.Message.Nodes, func(one *contract.Node) string { return s.Nodes[one.Name].State }),
		converted(s.Message.PodClasses, func(one *contract.PodClass) string { return s.classes[one.Id].line() }), s.holdingLines(nodes))
	digest := sha256.New()
	for _, line := range lines {
		// A hash never fails to be written to.
		_, _ = io.WriteString(digest, line+"\n")
	}
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// line is what the optimiser gets about the class, with the budgets that cover it: other budgets cannot change an answer.
func (c *class) line() string {
	line := c.message.Id + " " + string(c.digest[:])
	for _, one := range c.budgets {
		line += " " + one.Name + " allows " + strconv.Itoa(int(one.Allowed))
	}
	return line
}
