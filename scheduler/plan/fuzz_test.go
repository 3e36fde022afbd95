package plan_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

// Whatever bytes the optimiser sends, the decoder returns a typed refusal or a plan that no
// node is too small for; it never panics.
func FuzzDecode(f *testing.F) {
	for _, message := range []*contract.Plan{
		{SnapshotId: "s1", Placements: placements("three", "n2"), Moves: moves("two", "n2", "n1")},
		{SnapshotId: "s1", Evictions: evictions("one", "n1")},
		{SnapshotId: "s1", Placements: placements("three", "n9")},
		{SnapshotId: "other"},
	} {
		encoded, err := proto.Marshal(message)
		testobjects.Must(f, err)
		f.Add(encoded, true)
	}
	f.Fuzz(func(t *testing.T, encoded []byte, strict bool) {
		var message contract.Plan
		if proto.Unmarshal(encoded, &message) != nil {
			return
		}
		policy := plan.Paper
		if strict {
			policy = plan.Strict
		}
		s := figureOne()

		decoded, err := plan.Decode(&message, s, policy)

		if err != nil {
			var refused *plan.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("untyped refusal: %v", err)
			}
			return
		}
		used := map[string]resources.Vector{}
		after := decoded.NodesAfter()
		for uid, pod := range s.Pods {
			on := pod.Node
			if changed, ok := after[uid]; ok {
				on = changed
			}
			used[on] = used[on].Plus(pod.Requests)
		}
		for name, node := range s.Nodes {
			if !used[name].FitsIn(node.Allocatable) {
				t.Fatalf("node %s is too small for an accepted plan: %v", name, &message)
			}
		}
	})
}
