// Package waiting remembers the pods that a plugin has rejected, why, and since when.
//
// Activating a pod once is not enough: the activation may come just before the scheduling queue parks the pod, and is
// then lost. So a pod stays in the table until the queue has let it through or it is gone, and is activated again and
// again.
package waiting

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

// Reason is why a pod waits, as its status shows it; empty for a pod that need not wait.
type Reason string

// Entry is a pod that waits.
type Entry struct {
	Pod    *v1.Pod
	Reason Reason
	// Since is when it began to wait for this reason.
	Since time.Time
	// Nodes are those that were refused to it; nil for any.
	Nodes sets.Set[string]
}

// MaxNodes is how many refused nodes are remembered of a pod: one that was refused more is activated by any node.
const MaxNodes = 16

// Table holds the pods of one plugin.
type Table struct {
	Clock clock.PassiveClock
	// Waits says whether a pod exists and has no node; nil for always.
	Waits func(*v1.Pod) bool
	// Left is told how long a pod has waited for a reason; nil for nobody.
	Left func(Reason, time.Duration)

	mu   sync.Mutex
	pods map[types.UID]Entry
}

// Put remembers a pod, or forgets it if there is no reason to wait. One that is deleted during its cycle may come here
// after its deletion event, so it is looked up once it is in the table.
func (t *Table) Put(pod *v1.Pod, reason Reason, nodes sets.Set[string]) {
	if reason == "" {
		t.Remove(pod.UID)
		return
	}
	if len(nodes) > MaxNodes {
		nodes = nil
	}
	now := t.Clock.Now()
	t.mu.Lock()
	before, here := t.pods[pod.UID]
	since := now
	if before.Reason == reason {
		since = before.Since
	}
	if t.pods == nil {
		t.pods = map[types.UID]Entry{}
	}
	t.pods[pod.UID] = Entry{pod, reason, since, nodes}
	t.mu.Unlock()
	if here && before.Reason != reason {
		t.left(before)
	}
	if t.Waits != nil && !t.Waits(pod) {
		t.Remove(pod.UID)
	}
}

// Remove forgets a pod that has passed, has a node or is gone.
func (t *Table) Remove(uid types.UID) {
	t.mu.Lock()
	one, here := t.pods[uid]
	delete(t.pods, uid)
	t.mu.Unlock()
	if here {
		t.left(one)
	}
}

func (t *Table) left(one Entry) {
	if t.Left != nil {
		t.Left(one.Reason, t.Clock.Since(one.Since))
	}
}

// Reason is why the pod waits.
func (t *Table) Reason(uid types.UID) Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pods[uid].Reason
}

// Count counts the pods that wait for one of the reasons.
func (t *Table) Count(reasons ...Reason) int {
	return len(t.Pods(func(one Entry) bool { return slices.Contains(reasons, one.Reason) }))
}

// Pods are those that the function selects, in the form that the scheduling queue activates.
func (t *Table) Pods(which func(Entry) bool) map[string]*v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[string]*v1.Pod{}
	for uid, one := range t.pods {
		if which(one) {
			found[string(uid)] = one.Pod
		}
	}
	return found
}

// Refused are the pods to which one of the nodes was refused.
func (t *Table) Refused(nodes sets.Set[string]) map[string]*v1.Pod {
	names := nodes.UnsortedList() // once, for thousands of pods
	return t.Pods(func(one Entry) bool { return one.Nodes == nil || one.Nodes.HasAny(names...) })
}
