package snapshot

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/contract"
)

// class is what the pods of a class have in common.
type class struct {
	message *contract.PodClass
	budgets []*Budget
	// digest is that of the message, size its length.
	digest [sha256.Size]byte
	size   int
}

// classes collects the classes of one snapshot.
type classes struct {
	by         Classes
	namespaces []*v1.Namespace
	volumes    Volumes
	budgets    *budgetIndex
	found      map[string]*class
}

func (c *classes) of(id string, pod *v1.Pod) *class {
	found, known := c.found[id]
	if !known {
		found = &class{message: c.message(id, identityOf(pod), c.by.read(pod.Labels)), budgets: c.budgets.of(pod)}
		if !found.seal() {
			found.strip(notText)
		}
		c.found[id] = found
	}
	return found
}

// messages are those of all classes, in order, within the size limits.
func (c *classes) messages() []*contract.PodClass {
	all := slices.SortedFunc(maps.Values(c.found), func(a, b *class) int {
		return cmp.Compare(a.message.Id, b.message.Id)
	})
	fit(all, largestClasses)
	messages := make([]*contract.PodClass, 0, len(all))
	for _, one := range all {
		messages = append(messages, one.message)
	}
	return messages
}

func (c *class) seal() bool {
	encoded, some := marshalled(c.message)
	c.digest, c.size = sha256.Sum256(encoded), len(encoded)
	return some
}

func (c *class) weight() int { return c.size }
func (c *class) shrink()     { c.strip(tooLarge) }

// strip reduces the message to what is needed about pods that are never moved: the room that they take.
func (c *class) strip(need string) {
	of := c.message
	c.message = &contract.PodClass{
		Id: of.Id, Namespace: of.Namespace, Priority: of.Priority, Requests: of.Requests,
		Unsupported: append(of.Unsupported, need),
	}
	if owner := of.Owner; owner != nil {
		c.message.Owner = &contract.Owner{Kind: text(owner.Kind), Name: text(owner.Name), Uid: text(owner.Uid)}
	}
	c.seal()
}
