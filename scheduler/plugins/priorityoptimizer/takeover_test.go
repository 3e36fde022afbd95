package priorityoptimizer

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/packingplan"
)

// A process may die at any moment. The next one finishes its plan, and no pod is evicted a second time.
func TestPlanOfAProcessThatDiedIsResumed(t *testing.T) {
	c := slowTermination(t)

	c.restart()
	c.advanceClock(time.Second)
	c.endPods()
	c.reaches(packingplan.Completed)

	status := c.plansOf()[0].Status
	if len(c.evictions()) != 1 || c.nodeOf("three") == "" || c.nodesOf("one")[0] != c.nodeOf("two") {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
	if status.Moves[0].State != "Bound" {
		t.Errorf("moves %+v", status.Moves)
	}
}

// A plan that no longer fits the cluster is closed within ten seconds of the restart, and its pods are scheduled like any
// others.
func TestPlanOfAProcessThatDiedIsClosedIfItNoLongerFits(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"the pod does not go away": func(*cluster) {},
		"a foreign pod takes the room": func(c *cluster) {
			c.endPods()
			c.add(foreignPod(c.plansOf()[0].Status.Placements[0].Node))
		},
		"the target is gone": func(c *cluster) {
			c.endPods()
			c.must(c.client.CoreV1().Nodes().Delete(c.ctx, c.plansOf()[0].Status.Placements[0].Node, metav1.DeleteOptions{}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := slowTermination(t)
			c.stop()
			change(c)
			c.begin()
			began := c.clock.Now()

			c.reaches(packingplan.Aborted)

			if took := c.clock.Since(began); took > 10*time.Second || len(c.evictions()) != 1 {
				t.Errorf("took %s, evicted %v", took, c.evictions())
			}
		})
	}
}

// The target of an active plan is changed: to continue would only disrupt more pods.
func TestPlanWhoseTargetChangesIsGivenUpAtOnce(t *testing.T) {
	changes := map[string]func(*v1.Node){
		"cordoned": func(node *v1.Node) { node.Spec.Unschedulable = true },
		"tainted":  func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} },
		"shrunk":   func(node *v1.Node) { node.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("1G") },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c := slowTermination(t)
			began := c.clock.Now()
			node := testNode(c.plansOf()[0].Status.Placements[0].Node, 4)
			change(node)
			_, err := c.client.CoreV1().Nodes().Update(c.ctx, node, metav1.UpdateOptions{})
			c.must(err)

			c.reaches(packingplan.Aborted)

			if took := c.clock.Since(began); took > 2*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// If a replacement never comes, because its owner was scaled down or a quota is used up, its room must not be held for
// long.
func TestPlanWhoseReplacementNeverComesIsGivenUp(t *testing.T) {
	c := figureOne(t, nil, func(c *cluster) { c.args.StepTimeoutSeconds, c.withoutControllers = 10, true })
	c.eventually("the pod is gone", func() bool { return len(c.evictions()) == 1 })
	began := c.clock.Now()

	c.reaches(packingplan.Aborted)

	if took := c.clock.Since(began); took > 12*time.Second || c.nodeOf("three") == "" {
		t.Errorf("took %s, three on %q", took, c.nodeOf("three"))
	}
}
