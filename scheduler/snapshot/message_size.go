package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
)

// The largest size of objects in a message, in bytes: of one object, and of all objects of a kind. The optimiser accepts
// requests of 64 MiB, and Kubernetes accepts selectors and labels up to the size of an object, so a few dozen of them
// would make every request fail. Real objects are about a hundredth of this.
const (
	largestObject  = 64 << 10
	largestClasses = 16 << 20
	largestNodes   = 24 << 20
	largestBudgets = 4 << 20
)

// weighed is a part of the message that can be reduced.
type weighed interface {
	weight() int
	// shrink leaves out what is not needed to plan for other pods. It is called once at most.
	shrink()
}

// fit shrinks the parts that are too large, and then the largest ones until their total is within the limit.
func fit[T weighed](all []T, limit int) {
	byWeight := slices.SortedFunc(slices.Values(all), func(a, b T) int { return cmp.Compare(b.weight(), a.weight()) })
	total := 0
	for _, one := range byWeight {
		total += one.weight()
	}
	for _, one := range byWeight {
		weight := one.weight()
		if weight <= largestObject && total <= limit {
			return
		}
		one.shrink()
		total += one.weight() - weight
	}
}

// marshalled is the message in bytes; some is false if it has strings that are not UTF-8, which Kubernetes accepts in
// fields that it does not validate.
func marshalled(message proto.Message) (encoded []byte, some bool) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return encoded, err == nil
}

func text(of string) string { return strings.ToValidUTF8(of, "?") }
