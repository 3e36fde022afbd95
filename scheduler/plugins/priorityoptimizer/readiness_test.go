package priorityoptimizer

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
)

func setReady(pod *v1.Pod, serves bool) {
	status := v1.ConditionFalse
	if serves {
		status = v1.ConditionTrue
	}
	podutil.UpdatePodCondition(&pod.Status, &v1.PodCondition{Type: v1.PodReady, Status: status})
}

// report plays the kubelet of the pods: they are ready from now on, or no longer. It returns once the plugin knows.
func (c *cluster) report(serves bool, which func(*v1.Pod) bool) {
	c.t.Helper()
	for _, pod := range c.pods() {
		if pod.Spec.NodeName == "" || !which(pod) {
			continue
		}
		pod = pod.DeepCopy()
		setReady(pod, serves)
		c.must(c.client.Tracker().Update(podsResource, pod, pod.Namespace))
		c.await(pod.Name+" is seen", func() bool {
			live := c.plugin.view.Live(pod)
			return live != nil && podutil.IsPodReady(live) == serves
		}, false)
	}
}

func named(name string) func(*v1.Pod) bool { return func(pod *v1.Pod) bool { return pod.Name == name } }

// replica is a pod of the owner that runs and is ready.
func replica(owner, name, node string) *v1.Pod {
	pod := runningOn(node, testPod(owner, 2, 0))
	pod.Name, pod.UID = name, types.UID("uid-"+name)
	setReady(pod, true)
	return pod
}

// movingTwo starts a cluster in which both pods of the workload web have to move, to two other nodes, for a pod called big.
func movingTwo(t *testing.T, setting func(*cluster)) *cluster {
	t.Helper()
	c := startCluster(t, answers(func(s *contract.Snapshot) *contract.Plan {
		of := &contract.Plan{Optimal: true}
		for _, pod := range s.Pods {
			switch {
			case pod.Name == "big" && pod.Node == "":
				of.Placements = []*contract.Placement{{PodUid: pod.Uid, Node: "n1"}}
			case pod.Node == "n1":
				to := []string{"n2", "n3"}[len(of.Moves)]
				of.Moves = append(of.Moves, &contract.Move{PodUid: pod.Uid, FromNode: "n1", ToNode: to})
			}
		}
		if len(of.Moves) != 2 || len(of.Placements) != 1 {
			return &contract.Plan{Optimal: true}
		}
		return of
	}), setting, testNode("n1", 4), testNode("n2", 4), testNode("n3", 4),
		replica("web", "web-0", "n1"), replica("web", "web-1", "n1"), replica("b", "b-0", "n2"), replica("c", "c-0", "n3"))
	c.add(testPod("big", 4, 0))
	return c
}

// firstStarts waits until the first of the two has been replaced by a pod that is not ready.
func firstStarts(t *testing.T, setting func(*cluster)) *cluster {
	t.Helper()
	c := movingTwo(t, func(c *cluster) {
		c.slowStart = true
		if setting != nil {
			setting(c)
		}
	})
	c.hasNode("web-again-1")
	return c
}

// A workload of two that may lose one pod at a time serves with the other, so that one must not go before the replacement
// of the first is ready, also if another process carries the plan on.
func TestAWorkloadLosesNoFurtherPodBeforeTheReplacementIsReady(t *testing.T) {
	for text, meanwhile := range map[string]func(*cluster){
		"one process":     func(*cluster) {},
		"another process": (*cluster).restart,
	} {
		t.Run(text, func(t *testing.T) {
			c := firstStarts(t, nil)

			meanwhile(c)
			c.advanceClock(15 * time.Second)
			before := c.evictions()
			c.report(true, named("web-again-1"))
			c.reaches(packingplan.Completed)

			if len(before) != 1 || len(c.evictions()) != 2 || c.nodeOf("big") != "n1" {
				t.Errorf("evicted %v before it was ready, %v in all; %s", before, c.evictions(), c.state())
			}
		})
	}
}

// A replacement that never becomes ready must not keep the plan open for ever, and its user is told which one it is.
func TestPlanWhoseReplacementNeverBecomesReadyIsGivenUp(t *testing.T) {
	c := firstStarts(t, func(c *cluster) { c.args.ReadyTimeoutSeconds = 40 })
	began := c.clock.Now()

	c.reaches(packingplan.Aborted)

	message, took := c.plansOf()[0].Status.Message, c.clock.Since(began)
	if len(c.evictions()) != 1 || took < 38*time.Second || took > 42*time.Second ||
		!strings.Contains(message, `default/web-again-1 on node "n2" not ready`) || !strings.Contains(message, "maxUnavailablePerWorkload") {
		t.Errorf("took %s, evicted %v: %s", took, c.evictions(), message)
	}
}

// The other pod of a workload may fail between the plan's begin and the eviction. The last one that serves stays until
// there is another one again.
func TestTheLastReadyPodIsNotEvicted(t *testing.T) {
	c := movingTwo(t, func(c *cluster) { c.args.EvictSingletons, c.refuse = false, true })
	c.reaches(packingplan.Executing)
	c.report(false, named("web-1"))

	c.set(func(c *cluster) { c.refuse = false })
	c.advanceClock(12 * time.Second)
	before := c.evictions()
	c.report(true, named("web-1"))
	c.reaches(packingplan.Completed)

	if len(before) != 0 || len(c.evictions()) != 2 {
		t.Errorf("evicted %v while one pod served, %v in all", before, c.evictions())
	}
}

// A plan that leaves a whole workload unplaced for pods of higher priority was made so: it must not get stuck at the last pod,
// when the others have gone for nothing.
func TestAWorkloadMayBeLeftUnplacedWhole(t *testing.T) {
	c := startCluster(t, answers(makeWayForHigh), func(c *cluster) { c.args.EvictSingletons, c.args.Limits.EvictionsPerSecond = false, 0.5 },
		testNode("n1", 4), replica("web", "web-0", "n1"), replica("web", "web-1", "n1"))
	c.add(testPod("high", 4, 9))

	c.reaches(packingplan.Completed)

	if c.nodeOf("high") != "n1" || len(c.evictions()) != 2 {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
}
