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
	largestLayouts = 8 << 20
)

// fit shrinks the objects that are too large, and then the largest ones until their total is within the limit: shrink
// leaves out of the object with that index what is not needed to plan for other pods, and returns its size then.
func fit(sizes []int, limit int, shrink func(index int) int) {
	total, largestFirst := 0, make([]int, len(sizes))
	for i, size := range sizes {
		total, largestFirst[i] = total+size, i
	}
	slices.SortStableFunc(largestFirst, func(a, b int) int { return cmp.Compare(sizes[b], sizes[a]) })
	for _, i := range largestFirst {
		if sizes[i] <= largestObject && total <= limit {
			return
		}
		total += shrink(i) - sizes[i]
	}
}

// marshalled is the message in bytes; some is false if it has strings that are not UTF-8, which Kubernetes accepts in
// fields that it does not validate.
func marshalled(message proto.Message) (encoded []byte, some bool) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return encoded, err == nil
}

func text(of string) string { return strings.ToValidUTF8(of, "?") }
