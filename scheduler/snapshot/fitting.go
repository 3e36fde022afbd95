package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/stowage/stowage/scheduler/contract"
)

// What the objects of a kind may weigh in a message, in bytes: one of them, and all together. The optimiser
// takes requests of 64 MiB, and Kubernetes takes selectors and labels up to the size of an object, so that a
// few dozens would keep it from everybody. People write a hundredth of this.
const (
	largestObject     = 64 << 10
	largestClasses    = 16 << 20
	largestNodes      = 24 << 20
	largestBudgets    = 4 << 20
	largestNamespaces = 4 << 20
)

// weighed is a part of the message that can do with less.
type weighed interface {
	weight() int
	// shrink leaves out what is not needed to plan for others, and is called once at most.
	shrink()
}

// fit shrinks what is too large by itself, and then the largest until all of them weigh no more than the limit.
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

// marshalled is the message in bytes; some is false if it has strings that are no text. Kubernetes takes such
// bytes where it looks for no text.
func marshalled(message proto.Message) (encoded []byte, some bool) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	return encoded, err == nil
}

func text(of string) string { return strings.ToValidUTF8(of, "?") }

// namespace is one whose labels can be left out: namespace selectors are resolved when the snapshot is taken.
type namespace struct{ message *contract.Namespace }

func (n namespace) weight() int { return proto.Size(n.message) }
func (n namespace) shrink()     { n.message.Labels = nil }
