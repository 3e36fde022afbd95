package priorityoptimizer

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
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
	if move := status.Moves()[0]; move.State != "Bound" {
		t.Errorf("move %+v", move)
	}
}

// To continue a plan that no longer fits the cluster would only disrupt more pods: it is closed at once, or within ten
// seconds of the restart of its process, and its pods are scheduled like any others.
func TestPlanThatNoLongerFitsIsClosed(t *testing.T) {
	changing := func(change func(*v1.Node)) func(*cluster, string) {
		return func(c *cluster, target string) {
			node := testNode(target, 4)
			change(node)
			c.updateNode(node)
		}
	}
	for text, row := range map[string]struct {
		restarts bool
		change   func(c *cluster, target string)
	}{
		"cordoned": {false, changing(func(node *v1.Node) { node.Spec.Unschedulable = true })},
		"tainted":  {false, changing(func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} })},
		"shrunk":   {false, changing(func(node *v1.Node) { node.Status.Allocatable[v1.ResourceMemory] = resource.MustParse("1G") })},
		"restarted, and the pod does not go away":     {true, func(*cluster, string) {}},
		"restarted, and a foreign pod takes the room": {true, func(c *cluster, target string) { c.endPods(); c.add(foreignPod(target)) }},
		"restarted, and the target is gone": {true, func(c *cluster, target string) {
			c.endPods()
			c.must(c.client.CoreV1().Nodes().Delete(c.ctx, target, metav1.DeleteOptions{}))
		}},
	} {
		t.Run(text, func(t *testing.T) {
			c, most := slowTermination(t), 2*time.Second
			began, target := c.clock.Now(), c.plansOf()[0].Status.Placements()[0].To
			if row.restarts {
				c.stop()
				most = 10 * time.Second
			}
			row.change(c, target)
			if row.restarts {
				c.begin()
				began = c.clock.Now()
			}

			c.reaches(packingplan.Aborted)

			if took := c.clock.Since(began); took > most || len(c.evictions()) != 1 {
				t.Errorf("took %s, evicted %v", took, c.evictions())
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

// A replacement that runs already is the arrival of its move, and waited for as long as it has not been ready.
func TestRemainderFindsTheReplacementsThatRun(t *testing.T) {
	pod := func(name, node string, serves bool) *snapshot.Pod {
		object := testPod("web", 1, 0)
		object.Name = name
		setReady(object, serves)
		return &snapshot.Pod{Object: object, Class: "c", Owner: "rs-web", Node: node}
	}
	leaving := pod("leaving", "n3", true)
	leaving.Immovable = snapshot.Terminating
	now := &snapshot.Snapshot{Pods: map[types.UID]*snapshot.Pod{"a": pod("serves", "n1", true), "b": pod("starts", "n2", false), "c": leaving}}
	status := &packingplan.Status{}
	for _, node := range []string{"n1", "n2", "n3"} {
		status.Steps = append(status.Steps, &packingplan.Step{PodUID: "gone-" + node, OwnerUID: "rs-web", Class: "c",
			From: "x", To: node, State: "Evicted"})
	}
	status.Steps = append(status.Steps, &packingplan.Step{PodUID: "d", OwnerUID: "rs-web", Class: "c", From: "x", To: "n2", State: "Bound"})

	left := remainderOf(status, now)

	states := ""
	for _, move := range status.Steps {
		states += string(move.State) + " "
	}
	if states != "Bound Bound Gone Bound " {
		t.Errorf("states %s", states)
	}
	if len(left.starting) == 0 || slices.ContainsFunc(left.starting, func(pod *v1.Pod) bool { return pod.Name != "starts" }) {
		t.Errorf("waits for %v", left.starting)
	}
}
