package rehearsal_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/plan"
)

// BenchmarkReplay is of plans that empty every other node of those they touch, for a pod that fills it.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []struct{ nodes, moves int }{{500, 250}, {1000, 500}, {5000, 500}} {
		b.Run(fmt.Sprintf("nodes=%d/moves=%d", size.nodes, size.moves), func(b *testing.B) {
			var names []string
			var pods []*v1.Pod
			for i := range size.nodes {
				name := fmt.Sprintf("n%d", i)
				names = append(names, name)
				pods = append(pods, pod("on-"+name, name, "2G"))
			}
			for i := range size.moves {
				pods = append(pods, pod(fmt.Sprintf("new-%d", i), "", "4G"))
			}
			at := newCluster(b, &refusing{}, nodes(names...), pods...)
			of := &plan.Plan{}
			for i := range size.moves {
				of.Moves = append(of.Moves, at.move("on-"+names[2*i], names[2*i+1]))
				of.Placements = append(of.Placements, at.place(fmt.Sprintf("new-%d", i), names[2*i]))
			}
			_, ctx := ktesting.NewTestContext(b)
			for b.Loop() {
				outcome, err := at.rehearser.Replay(ctx, of)
				if err != nil || len(outcome.Refusals) > 0 {
					b.Fatalf("%v, %v", outcome, err)
				}
			}
		})
	}
}
