package priorityoptimizer

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
)

func (c *cluster) set(change func(*cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// slowTermination starts figure 1 with evicted pods that take their time to terminate.
func slowTermination(t *testing.T, settings ...func(*cluster)) *cluster {
	t.Helper()
	c := figureOne(t, nil, func(c *cluster) {
		c.slowTermination = true
		for _, setting := range settings {
			setting(c)
		}
	})
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	return c
}

// A terminating pod still takes its room: no pod is bound there, and no other pod gets the room that the plan is making,
// however small and early it is. Holding the room costs no write, however many pods arrive: a client at its stock limits
// could not make plans of hundreds of pods otherwise.
func TestRoomThatAPlanMakesIsNotStolen(t *testing.T) {
	c := slowTermination(t)
	c.eventually("the replacement has its node", func() bool {
		nodes := c.nodesOf("one")
		return len(nodes) == 1 && nodes[0] != ""
	})
	// A pod of a group is in no plan, and PostFilter is not asked about it: nothing else would remember to wake it up.
	c.add(testPod("thief", 2, 0), member("member", 2))

	c.await("both are kept out", func() bool { return c.plugin.Waiting.Count(gate.ReasonNoRoom, gate.ReasonReserved) == 2 }, true)
	waiting, kept := c.nodeOf("three"), c.kept()
	c.endPods()
	c.reaches(packingplan.Completed)

	c.eventually("the room is free again", func() bool { return len(c.kept()) == 0 })
	if len(kept) != 1 || kept["n1"]+kept["n2"] != 3 {
		t.Errorf("kept during the plan: %v, want the 3 GB of the pod that waits", kept)
	}
	if waiting != "" || c.nodeOf("three") == "" || c.nodeOf("thief") != "" || c.nodeOf("member") != "" {
		t.Errorf("three was on %q and is on %q, the thieves are on %q and %q", waiting, c.nodeOf("three"), c.nodeOf("thief"), c.nodeOf("member"))
	}
	for _, action := range c.plans.Actions() {
		if action.GetResource() == reservation.Resource && !slices.Contains([]string{"list", "watch"}, action.GetVerb()) {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	}
}

// A plan that cannot be carried out is aborted in time, and no pods keep waiting for it.
func TestPlanIsAbortedAtItsTimeoutAndLeavesNothingBehind(t *testing.T) {
	c := slowTermination(t, func(c *cluster) { c.args.StepTimeoutSeconds = 600 })
	began := c.clock.Now()
	c.add(testPod("thief", 2, 0))

	c.advanceClock(55 * time.Second)
	early := c.phases()[packingplan.Aborted]
	c.reaches(packingplan.Aborted)
	took := c.clock.Since(began)

	if c.plugin.Execution.Load() != nil || early != 0 || took > 62*time.Second {
		t.Errorf("running %v after %s, %d aborted early", c.plugin.Execution.Load(), took, early)
	}
	c.eventually("the thief is let go", func() bool {
		return c.plugin.Waiting.Count(gate.ReasonNoRoom, gate.ReasonReserved, gate.ReasonHeld) == 0
	})
}

// A disruption budget that allows no disruption for now delays a plan, but does not abort it. An operator sees by the
// metrics why the plan stays open.
func TestRefusedEvictionIsTriedAgain(t *testing.T) {
	metrics.Register()
	refused := metrics.RefusedEvictionsTotal.WithLabelValues("DisruptionBudget")
	before := counted(t, refused)
	c := figureOne(t, nil, func(c *cluster) { c.refuse = true })
	c.reaches(packingplan.Executing)
	c.advanceClock(5 * time.Second)
	if got := counted(t, refused) - before; got < 1 {
		t.Errorf("%g refusals counted", got)
	}

	c.set(func(c *cluster) { c.refuse = false })

	c.reaches(packingplan.Completed)
	if c.nodeOf("three") == "" {
		t.Error("the pod has no node")
	}
}

// solvingFigureOne starts figure 1 and returns while the optimiser is solving; answer lets it answer.
func solvingFigureOne(t *testing.T) (c *cluster, answer func()) {
	t.Helper()
	does, answer := pausing(answers(solveFigureOne))
	c = figureOne(t, does, nil)
	c.eventually("the optimiser thinks", func() bool { return c.optimizer.asked() > 0 })
	return c, answer
}

// busyRehearser binds a pod to a node during each rehearsal, like a scheduler with many pods.
type busyRehearser struct {
	planning.Rehearser
	plugin *Plugin
	node   string
	tried  int
}

func (r *busyRehearser) Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error) {
	r.tried++
	r.plugin.InFlight.Add(types.UID(fmt.Sprintf("stranger-%d", r.tried)), r.node)
	return r.Rehearser.Replay(ctx, of)
}

// On a large cluster some pod is always being bound; because of that, five plans of 500 moves in a row never started.
func TestPlanStartsAlthoughPodsAreBoundElsewhere(t *testing.T) {
	for node, phase := range map[string]packingplan.Phase{"n3": packingplan.Completed, "n1": packingplan.Aborted} {
		t.Run(string(phase), func(t *testing.T) {
			c, goOn := solvingFigureOne(t)
			var busy planning.Rehearser = &busyRehearser{Rehearser: *c.plugin.rehearser.Load(), plugin: c.plugin, node: node}
			c.plugin.rehearser.Store(&busy)
			goOn()

			c.eventually("the plan has ended", func() bool { return c.phases()[phase] > 0 })
		})
	}
}

// Changes during the solve count: a plan for an outdated state is not carried out.
func TestPlanForAStateThatIsGoneIsNotCarriedOut(t *testing.T) {
	changes := map[string]func(c *cluster){
		"a pod is gone": func(c *cluster) {
			c.must(c.client.Tracker().Delete(podsResource, "default", "one"))
		},
		"a node is tainted": func(c *cluster) {
			node := testNode(c.nodeOf("one"), 4)
			node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			c.updateNode(node)
		},
		"a foreign pod takes the room": func(c *cluster) {
			c.add(foreignPod(c.nodeOf("two")))
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c, goOn := solvingFigureOne(t)

			before := c.seen()
			change(c)
			c.await("the change is seen", func() bool { return c.seen() != before }, false)
			goOn()

			c.await("the plan is aborted", func() bool { return c.phases()[packingplan.Aborted]+c.phases()[packingplan.Failed] > 0 }, false)
			if evicted := c.evictions(); len(evicted) != 0 {
				t.Errorf("%v evicted", evicted)
			}
		})
	}
}

// A pod of higher priority goes first, and the evicted pod's replacement does not come back into the room that was made
// for it. An eviction that is not for room, but for a host port, is carried out although there is room.
func TestReplacementOfAnEvictedPodDoesNotStealItsRoomBack(t *testing.T) {
	for text, asks := range map[string]func(owner string, priority int32) *v1.Pod{
		"room":   func(owner string, priority int32) *v1.Pod { return testPod(owner, 3, priority) },
		"a port": func(owner string, priority int32) *v1.Pod { return withPort(testPod(owner, 1, priority)) },
	} {
		t.Run(text, func(t *testing.T) {
			c := startCluster(t, answers(makeWayForHigh), nil, testNode("n1", 4))
			c.addInTurn(asks("low", 1))
			c.add(asks("high", 9))

			c.reaches(packingplan.Completed)

			if c.nodeOf("high") != "n1" || c.nodesOf("low")[0] != "" {
				t.Errorf("high on %q, low on %q", c.nodeOf("high"), c.nodesOf("low"))
			}
			if steps := c.plansOf()[0].Status.Steps; len(steps) != 2 || steps[1].To != "" || steps[1].State != "Gone" {
				t.Errorf("steps = %+v", steps)
			}
		})
	}
}

// makeWayForHigh evicts all running pods for the pod called high.
func makeWayForHigh(s *contract.Snapshot) *contract.Plan {
	plan := &contract.Plan{Optimal: true}
	for _, pod := range s.Pods {
		if pod.Name == "high" && pod.Node == "" {
			plan.Placements = []*contract.Placement{{PodUid: pod.Uid, Node: "n1"}}
		} else if pod.Node != "" {
			plan.Evictions = append(plan.Evictions, &contract.Eviction{PodUid: pod.Uid, Node: pod.Node})
		}
	}
	if len(plan.Placements) == 0 {
		return &contract.Plan{Optimal: true}
	}
	return plan
}

func withPort(pod *v1.Pod) *v1.Pod {
	pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
	return pod
}

// foreignPod takes 2 GB of a node and belongs to another scheduler.
func foreignPod(node string) *v1.Pod {
	return testobjects.Pod("foreign", "", "2G").SchedulerName("other").Node(node).Obj()
}

func runningOn(node string, pod *v1.Pod) *v1.Pod {
	pod.Spec.NodeName, pod.Status.Phase = node, v1.PodRunning
	return pod
}

// A waiting pod that has room, but waits for a port, must not keep a cycle of moves from being broken.
func TestCycleIsBrokenForAPodThatWaitsForAPort(t *testing.T) {
	c := startCluster(t, answers(func(s *contract.Snapshot) *contract.Plan {
		plan := &contract.Plan{Optimal: true}
		for _, pod := range s.Pods {
			switch {
			case pod.Name == "new" && pod.Node == "":
				plan.Placements = []*contract.Placement{{PodUid: pod.Uid, Node: "n1"}}
			case pod.Name == "holder":
				plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: "n1", ToNode: "n2"})
			case pod.Name == "other":
				plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: "n2", ToNode: "n1"})
			}
		}
		return plan
	}), nil, testNode("n1", 4), testNode("n2", 3),
		runningOn("n1", withPort(testPod("holder", 2, 0))), runningOn("n2", testPod("other", 3, 0)))
	c.add(withPort(testPod("new", 1, 0)))

	c.reaches(packingplan.Completed)

	if c.nodeOf("new") != "n1" || c.nodesOf("holder")[0] != "n2" || c.nodesOf("other")[0] != "n1" {
		t.Errorf("new on %q, holder on %v, other on %v", c.nodeOf("new"), c.nodesOf("holder"), c.nodesOf("other"))
	}
}
