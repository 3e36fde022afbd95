package snapshot

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
)

// Forbid keeps every pod of the class off the node from now on.
func (s *Snapshot) Forbid(class, node string) {
	if s.Forbids(class, node) {
		return
	}
	s.forbidden.Insert(Pair{class, node})
	s.Message.ForbiddenPairs = append(s.Message.ForbiddenPairs, &contract.ForbiddenPair{ClassId: class, Node: node})
}

// Forbids says whether pods of the class are kept off the node.
func (s *Snapshot) Forbids(class, node string) bool { return s.forbidden.Has(Pair{class, node}) }

// Pin keeps a running pod where it is, for the reason given.
func (s *Snapshot) Pin(uid types.UID, reason string) {
	pod := s.Pods[uid]
	if pod == nil || pod.Node == "" || pod.Immovable != "" {
		return
	}
	pod.Immovable = reason
	message := s.message(uid)
	message.Movable, message.ImmovableReason = false, reason
}

// Drop leaves a waiting pod out.
func (s *Snapshot) Drop(uid types.UID) {
	if pod := s.Pods[uid]; pod == nil || pod.Node != "" {
		return
	}
	delete(s.Pods, uid)
	s.Message.Pods = slices.DeleteFunc(s.Message.Pods, func(pod *contract.Pod) bool { return pod.Uid == string(uid) })
}

// Waiting are the waiting pods that the plan places.
func (s *Snapshot) Waiting(placed *contract.Plan) []*Pod {
	var waiting []*Pod
	for _, placement := range placed.GetPlacements() {
		if pod := s.Pods[types.UID(placement.GetPodUid())]; pod != nil && pod.Node == "" {
			waiting = append(waiting, pod)
		}
	}
	return waiting
}

func (s *Snapshot) message(uid types.UID) *contract.Pod {
	index := slices.IndexFunc(s.Message.Pods, func(pod *contract.Pod) bool { return pod.Uid == string(uid) })
	return s.Message.Pods[index]
}
