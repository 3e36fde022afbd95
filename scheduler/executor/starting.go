package executor

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// noteStart follows a replacement until it has been ready. One that goes before that is waited for all the same: its
// controller creates another one. A pod that has ended, as those of Jobs do, has done what it was for.
func (e *Execution) noteStart(pod *v1.Pod, waits bool) {
	owner := snapshot.OwnerOf(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		e.noteLost(pod)
	case podutil.IsPodReady(pod) || podutil.IsPodTerminal(pod):
		delete(e.starting, pod.UID)
		// A kubelet may be quicker than the scheduler's report that the pod is bound.
		if held := e.holders[pod.UID]; held != nil {
			held.ready = true
		}
	case waits && e.vanished[owner] > 0:
		if _, known := e.waiting[pod.UID]; !known {
			e.starting[pod.UID] = pod // in place of one that has vanished
			e.vanished[owner]--
		}
	}
	if _, awaited := e.starting[pod.UID]; awaited {
		e.starting[pod.UID] = pod
	}
}

// noteLost: the pod goes, or is gone. If it was waited for, another one of its owner will be.
func (e *Execution) noteLost(pod *v1.Pod) {
	if _, awaited := e.starting[pod.UID]; awaited {
		delete(e.starting, pod.UID)
		e.vanished[snapshot.OwnerOf(pod)]++
	}
}

// notReady are the replacements that have a node and have not been ready yet, or were gone before they were, by owner.
func (e *Execution) notReady() map[types.UID]int {
	count := maps.Clone(e.vanished)
	for _, pod := range e.starting {
		count[snapshot.OwnerOf(pod)]++
	}
	return count
}

// AwaitReady counts pods as replacements that have not been ready yet: those of a plan that another process began.
func (e *Execution) AwaitReady(pods ...*v1.Pod) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, pod := range pods {
		e.starting[pod.UID] = pod
	}
}

// Starting are the pods that the plan waits for, in the order of names: replacements that have not been ready yet.
func (e *Execution) Starting() []*v1.Pod {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.starting), func(a, b *v1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
}
