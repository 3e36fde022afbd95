package priorityoptimizer

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"google.golang.org/grpc"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// change gives the node a label, and returns once the scheduler has seen it.
func (c *cluster) change(node string) error {
	before, err := c.plugin.view.snapshot("")
	if err != nil {
		return err
	}
	found, err := c.client.CoreV1().Nodes().Get(c.ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	found.Labels = map[string]string{"changed": "yes"}
	if _, err := c.client.CoreV1().Nodes().Update(c.ctx, found, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(c.ctx, time.Millisecond, testTimeout, true, func(context.Context) (bool, error) {
		now, err := c.plugin.view.snapshot("")
		return err == nil && now.Nodes[node].State != before.Nodes[node].State, err
	})
}

// A proof is about the snapshot that the optimiser got. A change during the solve may be what a pod that still waits has
// been waiting for.
func TestWhatChangedDuringASolveIsNotInItsProof(t *testing.T) {
	for text, changes := range map[string]bool{"a node changes": true, "nothing changes": false} {
		t.Run(text, func(t *testing.T) {
			var c *cluster
			first := true
			o := startOptimizer(t, func(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
				if first && changes {
					if err := c.change("n3"); err != nil {
						return err
					}
				}
				first = false
				return answers(solveFigureOne)(request, stream)
			})
			c = startCluster(t, o.socket, nil, testNode("n1", 4), testNode("n2", 4), testNode("n3", 1))
			c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
			c.add(testPod("three", 3, 0), testPod("large", 5, 0))

			c.eventually("the plan is completed", func() bool { return c.phases()[packingplan.Completed] == 1 })
			if changes {
				c.eventually("the optimiser is asked again", func() bool { return o.asked() == 2 })
				return
			}
			until := c.clock.Now().Add(10 * time.Second)
			c.eventually("ten seconds have passed", func() bool { return c.clock.Now().After(until) })
			if o.asked() != 1 {
				t.Errorf("asked %d times about what is proved", o.asked())
			}
		})
	}
}
