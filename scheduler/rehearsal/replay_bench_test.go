package rehearsal_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/plan"
)

// BenchmarkReplay is of plans that empty every other node of those they touch, for a pod that fills it: of pods without
// constraints, and of pods that are spread over zones, for which PreFilter counts all nodes.
func BenchmarkReplay(b *testing.B) {
	for text, change := range map[string]func(*v1.Pod){"plain": func(*v1.Pod) {}, "spread": loosely} {
		for _, size := range []struct{ nodes, moves int }{{500, 250}, {1000, 250}, {1000, 500}, {5000, 500}} {
			b.Run(fmt.Sprintf("%s/nodes=%d/moves=%d", text, size.nodes, size.moves), func(b *testing.B) {
				var names []string
				var pods []*v1.Pod
				for i := range size.nodes {
					name := fmt.Sprintf("%c%d", 'a'+i%3, i)
					names = append(names, name)
					pods = append(pods, pod("on-"+name, name, "2G", change))
				}
				for i := range size.moves {
					pods = append(pods, pod(fmt.Sprintf("new-%d", i), "", "4G", change))
				}
				at := newCluster(b, &refusing{}, nodes(names...), pods...)
				of := &plan.Plan{}
				for i := range size.moves {
					of.Moves = append(of.Moves, at.move("on-"+names[2*i], names[2*i+1]))
					of.Placements = append(of.Placements, at.place(fmt.Sprintf("new-%d", i), names[2*i]))
				}
				measure(b, at, of)
			})
		}
	}
}

// BenchmarkReplayOfCycles is of plans in which pairs of full nodes swap their pods, while a pod waits that fits but may not
// come.
func BenchmarkReplayOfCycles(b *testing.B) {
	for _, cycles := range []int{125, 250, 500} {
		b.Run(fmt.Sprint(cycles), func(b *testing.B) {
			at, of := swapping(b, &refusing{}, cycles)
			measure(b, at, of)
		})
	}
}

func measure(b *testing.B, at *testCluster, of *plan.Plan) {
	b.Helper()
	of.Classes = at.seen.Classes
	_, ctx := ktesting.NewTestContext(b)
	for b.Loop() {
		outcome, err := at.rehearser.Replay(ctx, of)
		if err != nil || len(outcome.Refusals) > 0 {
			b.Fatalf("%v, %v", outcome, err)
		}
	}
}

// loosely spreads the pod over the zones, but not evenly.
func loosely(pod *v1.Pod) {
	evenly(pod)
	pod.Spec.TopologySpreadConstraints[0].MaxSkew = 5000
}
