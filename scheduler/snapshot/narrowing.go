package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// Forbid keeps every pod of the class off the node. Classes and nodes that are not in the snapshot, such as those of a
// cached refusal about pods that are gone, are ignored.
func (s *Snapshot) Forbid(class, node string) {
	if s.classes[class] == nil || s.Nodes[node] == nil || s.forbidden.Has(Pair{class, node}) {
		return
	}
	s.forbidden.Insert(Pair{class, node})
	s.omitted.add(refusedPairs, 1)
	s.Message.ForbiddenPairs = append(s.Message.ForbiddenPairs, &contract.ForbiddenPair{ClassId: class, Node: node})
}

// Forbids says whether pods of the class are kept off the node.
func (s *Snapshot) Forbids(class, node string) bool {
	known := s.Nodes[node]
	return known != nil && (known.Leaving || known.Outside) || s.forbidden.Has(Pair{class, node})
}

// Pin makes a running pod immovable, for the given reason.
func (s *Snapshot) Pin(uid types.UID, reason string) {
	pod := s.Pods[uid]
	if pod == nil || pod.Node == "" || pod.Immovable != "" {
		return
	}
	pod.Immovable = reason
	s.omitted.add(pinnedPods(reason), 1)
	pod.message.Movable, pod.message.ImmovableReason = false, reason
}

// Drop removes a waiting pod.
func (s *Snapshot) Drop(uid types.UID) {
	pod := s.Pods[uid]
	if pod == nil || pod.Node != "" {
		return
	}
	delete(s.Pods, uid)
	if !pod.Unsupported { // it is counted already
		s.omitted.addWaiting(droppedPods, pod.Object)
	}
	s.Message.Pods = slices.DeleteFunc(s.Message.Pods, func(one *contract.Pod) bool { return one == pod.message })
}

// Waiting are the waiting pods that steps of a plan place.
func (s *Snapshot) Waiting(steps []*packingplan.Step) []*Pod {
	var waiting []*Pod
	for _, step := range steps {
		if pod := s.Pods[types.UID(step.PodUID)]; pod != nil && step.From == "" && pod.Node == "" {
			waiting = append(waiting, pod)
		}
	}
	return waiting
}
