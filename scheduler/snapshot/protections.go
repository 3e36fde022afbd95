package snapshot

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/resources"
)

// Protection counts the running pods that one rule keeps where they are.
type Protection struct {
	Reason string
	Pods   int
	// Example is the namespace and name of one of them, the first in the order of names.
	Example string
	// InTheWayOf is how many pods keep waiting although they would fit on some node if it were not for protected pods
	// there, of which this rule protects some. Only room counts, not taints, selectors or affinities.
	InTheWayOf int
}

// Protections are the rules that keep running pods where they are, those first that are in the way of most of the
// waiting pods; waits tells which of those no plan places.
func (s *Snapshot) Protections(waits func(types.UID) bool) []Protection {
	byReason := map[string]*Protection{}
	onNode := map[string]sets.Set[string]{}
	room := map[string]resources.Vector{}
	for _, message := range s.Message.Pods { // in the order of names
		pod := s.Pods[types.UID(message.Uid)]
		if pod == nil || pod.Immovable == "" {
			continue
		}
		if byReason[pod.Immovable] == nil {
			byReason[pod.Immovable] = &Protection{Reason: pod.Immovable, Example: pod.Object.Namespace + "/" + pod.Object.Name}
		}
		byReason[pod.Immovable].Pods++
		if onNode[pod.Node] == nil {
			onNode[pod.Node], room[pod.Node] = sets.New[string](), s.Nodes[pod.Node].Allocatable
		}
		onNode[pod.Node].Insert(pod.Immovable)
		room[pod.Node] = room[pod.Node].Minus(pod.Requests)
	}
	inTheWay := map[string]sets.Set[string]{} // by class
	for uid, pod := range s.Pods {
		if pod.Node != "" || pod.Unsupported || !waits(uid) {
			continue
		}
		if inTheWay[pod.Class] == nil {
			inTheWay[pod.Class] = sets.New[string]()
			for node, left := range room {
				if pod.Requests.FitsIn(s.Nodes[node].Allocatable) && !pod.Requests.FitsIn(left) {
					inTheWay[pod.Class] = inTheWay[pod.Class].Union(onNode[node])
				}
			}
		}
		for reason := range inTheWay[pod.Class] {
			byReason[reason].InTheWayOf++
		}
	}
	protections := make([]Protection, 0, len(byReason))
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		protections = append(protections, *byReason[reason])
	}
	slices.SortStableFunc(protections, func(a, b Protection) int {
		return cmp.Or(cmp.Compare(b.InTheWayOf, a.InTheWayOf), cmp.Compare(b.Pods, a.Pods))
	})
	return protections
}
