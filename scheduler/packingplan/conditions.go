package packingplan

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Types of conditions.
const (
	// Solved: the optimiser answered.
	Solved = "Solved"
	// Verified: the profile's own plugins agree with every placement.
	Verified = "Verified"
	// Executed: everything has been carried out.
	Executed = "Executed"
)

// maxText is the longest free text, in bytes.
const maxText = 1024

// Shortened is the text, cut off where it is too long for an object.
func Shortened(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " ..."
}

// Set notes that a condition holds, or does not, for a reason in one word.
func (s *Status) Set(condition string, holds bool, reason, message string, now time.Time) {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason,
		Message: Shortened(message), LastTransitionTime: metav1.NewTime(now)})
}
