package packingplan

import (
	"encoding/hex"
	"hash/fnv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// NameOnNodes is the plan's name as the value of a taint and of a label, which have less room than a name.
func NameOnNodes(plan string) string {
	if len(plan) <= validation.LabelValueMaxLength {
		return plan
	}
	digest := fnv.New64a()
	_, _ = digest.Write([]byte(plan)) // it never fails
	suffix := hex.EncodeToString(digest.Sum(nil))
	return plan[:validation.LabelValueMaxLength-len(suffix)-1] + "-" + suffix
}

// Taint keeps new pods off the nodes that the plan empties.
func (r *Record) Taint() v1.Taint {
	return v1.Taint{Key: EmptyingTaint, Value: NameOnNodes(r.Name()), Effect: v1.TaintEffectNoSchedule}
}
