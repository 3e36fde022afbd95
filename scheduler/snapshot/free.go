package snapshot

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/resources"
)

// Free is the room on every node: allocatable less the pods on it, terminating ones and those
// whose binding is under way among them.
func Free(nodes []*v1.Node, pods []*v1.Pod, reserved map[types.UID]string) map[string]resources.Vector {
	free := make(map[string]resources.Vector, len(nodes))
	for _, node := range nodes {
		free[node.Name] = resources.OfList(node.Status.Allocatable)
	}
	for _, pod := range pods {
		node := nodeOf(pod, reserved)
		room, known := free[node]
		if known && counts(pod, node, Rules{}) {
			free[node] = room.Minus(resources.OfPod(pod))
		}
	}
	return free
}

// Free is the room on every node of the snapshot.
func (s *Snapshot) Free() map[string]resources.Vector {
	free := make(map[string]resources.Vector, len(s.Nodes))
	for name, node := range s.Nodes {
		free[name] = node.Allocatable.Minus(node.Used)
	}
	return free
}
