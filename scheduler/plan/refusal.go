package plan

import "fmt"

// Reason is why a plan is not carried out.
type Reason string

// Reasons of refusal.
const (
	WrongSnapshot     Reason = "wrong-snapshot"
	TooLarge          Reason = "too-large"
	UnknownPod        Reason = "unknown-pod"
	UnknownNode       Reason = "unknown-node"
	NodeUnschedulable Reason = "node-unschedulable"
	NodeChanged       Reason = "node-changed"
	DuplicatePod      Reason = "duplicate-pod"
	NotPending        Reason = "not-pending"
	NotRunning        Reason = "not-running"
	WrongNode         Reason = "wrong-node"
	SameNode          Reason = "same-node"
	Immovable         Reason = "immovable"
	UnsupportedPod    Reason = "unsupported-pod"
	ForbiddenPair     Reason = "forbidden-pair"
	OverCapacity      Reason = "over-capacity"
	OverBudget        Reason = "over-budget"
	NotBetter         Reason = "not-better"
	UnjustEviction    Reason = "unjust-eviction"
)

// RefusedError is the refusal of a plan, with a typed reason.
type RefusedError struct {
	Reason Reason
	Detail string
}

// Error names the reason and what is wrong.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("plan refused (%s): %s", e.Reason, e.Detail)
}

func refuse(reason Reason, format string, args ...any) error {
	return &RefusedError{Reason: reason, Detail: fmt.Sprintf(format, args...)}
}
