package priorityoptimizer

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
)

// Pods that are already in the active queue when a solve begins cannot be held before their cycle. Each costs a cycle,
// but no write: the scheduler would take no other pod until that is done.
func TestRejectedPodGoesBackIntoTheQueueWithoutAWrite(t *testing.T) {
	for text, rejected := range map[string]bool{"rejected by the plugin": true, "tried in vain": false} {
		t.Run(text, func(t *testing.T) {
			c := fullNode(t, nothing, manual)
			c.await("it is tried", func() bool { return len(c.tried()) == 1 }, false)
			// A scheduler that runs would take the pod out of the queue again at once (SchedulerPopFromBackoffQ).
			c.stop()
			c.standby = true
			c.begin()
			queued := func() bool { pending, _ := c.scheduler.SchedulingQueue.PendingPods(); return len(pending) == 1 }
			c.await("the next scheduler has it in its queue", queued, false)
			waiting := c.pods()[slices.IndexFunc(c.pods(), func(pod *v1.Pod) bool { return pod.Name == "waiting" })]
			info := testobjects.Value(framework.NewPodInfo(waiting))(c.t)
			minor.Delete(c.scheduler.SchedulingQueue, klog.Background(), waiting)
			if rejected {
				c.plugin.Waiting.Put(waiting, gate.ReasonHeld, nil)
			}

			c.scheduler.FailureHandler(c.ctx, c.scheduler.Profiles[v1.DefaultSchedulerName], &framework.QueuedPodInfo{PodInfo: info},
				fwk.AsStatus(&framework.FitError{Pod: waiting, NumAllNodes: 1,
					Diagnosis: framework.Diagnosis{UnschedulablePlugins: sets.New(Name), PreFilterMsg: string(gate.ReasonHeld)}}), nil, time.Now())

			if !queued() {
				t.Error("it is not in the queue")
			}
			if wrote := len(c.tried()) - 1; (wrote == 0) != rejected {
				t.Errorf("%d writes", wrote)
			}
		})
	}
}

// selectiveFilter is a Filter plugin that only the scheduler knows: it keeps pods with a certain label off one node.
type selectiveFilter struct{ cluster *cluster }

func (f *selectiveFilter) Name() string { return "SelectiveFilter" }

func (f *selectiveFilter) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if f.cluster.keepsOff(pod.Labels["app"], node.Node().Name) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not here")
	}
	return nil
}

// Reserve tells the test that the other plugins have reserved what a pod needs that is about to be bound.
func (f *selectiveFilter) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	if f.cluster.reserved != nil && !state.IsPodGroupSchedulingCycle() {
		f.cluster.reserved(pod)
	}
	return nil
}

func (f *selectiveFilter) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// keepsOff is about app one only.
func (c *cluster) keepsOff(app, node string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return app == "one" && c.refusingNode == node
}

// solveAvoidingPairs moves pod one or pod two, whichever is not forbidden.
func solveAvoidingPairs(request *contract.SolveRequest, stream *call) error {
	pods := map[string]*contract.Pod{}
	for _, pod := range request.Snapshot.Pods {
		pods[pod.Name] = pod
	}
	forbidden := func(pod *contract.Pod, node string) bool {
		return slices.ContainsFunc(request.Snapshot.ForbiddenPairs, func(pair *contract.ForbiddenPair) bool {
			return pair.ClassId == pod.ClassId && pair.Node == node
		})
	}
	one, two, three := pods["one"], pods["two"], pods["three"]
	mover, target := one, two.Node
	if forbidden(mover, target) {
		mover, target = two, one.Node
	}
	plan := &contract.Plan{SnapshotId: request.Snapshot.Id, Optimal: true,
		Placements: []*contract.Placement{{PodUid: three.Uid, Node: mover.Node}},
		Moves:      []*contract.Move{{PodUid: mover.Uid, FromNode: mover.Node, ToNode: target}}}
	return stream.Send(&contract.SolveUpdate{Plan: plan, Last: true, EndReason: contract.EndReason_END_REASON_OPTIMAL})
}

// The optimiser cannot know every Filter plugin. What the profile refuses is added to the snapshot, and only a plan that
// every plugin accepts is carried out.
func TestPlanHonoursAFilterThatTheOptimizerDoesNotKnow(t *testing.T) {
	c, home, away := refusingOne(t, solveAvoidingPairs)

	c.reaches(packingplan.Completed)

	if got := c.evictions(); len(got) != 1 || got[0] != "two" || c.nodeOf("three") != away || c.nodeOf("one") != home {
		t.Errorf("evicted %v, three on %q", got, c.nodeOf("three"))
	}
	objections := c.plansOf()[0].Status.Objections
	if len(objections) != 1 || objections[0].Subject != "default/one" || objections[0].Reason != planning.ReasonNodeRefused ||
		objections[0].Detail != `SelectiveFilter does not let pod default/one onto node "`+away+`": not here` {
		t.Errorf("objections = %+v", objections)
	}
	if c.optimizer.asked() != 2 || len(c.optimizer.received()[1].Snapshot.ForbiddenPairs) != 1 || c.optimizer.received()[1].Options.TimeLimitS > 1 {
		t.Errorf("asked %d times", c.optimizer.asked())
	}
}

// If the optimiser ignores the forbidden pairs, no plan is carried out, however often it is asked.
func TestPlanThatAFilterRefusesIsNeverCarriedOut(t *testing.T) {
	c, _, _ := refusingOne(t, answers(solveFigureOne))

	c.reaches(packingplan.Failed)

	if len(c.evictions()) != 0 || c.optimizer.asked() != 2 {
		t.Errorf("evicted %v, asked %d times", c.evictions(), c.optimizer.asked())
	}
}

// refusingOne starts figure 1 with a Filter plugin that keeps pod one off the other node.
func refusingOne(t *testing.T, does script) (c *cluster, home, away string) {
	t.Helper()
	c = startCluster(t, does, nil, testNode("n1", 4), testNode("n2", 4))
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	home, away = c.nodeOf("one"), c.nodeOf("two")
	c.set(func(c *cluster) { c.refusingNode = away })
	c.add(testPod("three", 3, 0))
	return c, home, away
}
