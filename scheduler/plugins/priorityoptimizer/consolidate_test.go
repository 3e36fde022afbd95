package priorityoptimizer

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// emptyFirst sends all movable pods of n1 to n3.
func emptyFirst(of *contract.Snapshot) *contract.Plan {
	plan := &contract.Plan{}
	used := map[string]bool{}
	for _, pod := range of.Pods {
		used[pod.Node] = used[pod.Node] || pod.Node != ""
		if pod.Node == "n1" && pod.Movable {
			plan.Moves = append(plan.Moves, &contract.Move{PodUid: pod.Uid, FromNode: "n1", ToNode: "n3"})
		}
	}
	delete(used, "")
	plan.NodesInUse = &contract.NodesInUse{Before: int32(len(used)), After: int32(len(used)), LowerBound: int32(len(used))}
	if len(plan.Moves) > 0 {
		plan.NodesInUse.After--
		plan.NodesInUse.LowerBound--
		plan.NodesInUse.MovesLowerBound = int32(len(plan.Moves))
	}
	return plan
}

// pricedNode has 4 GB and costs that much an hour.
func pricedNode(name, price string) *v1.Node {
	node := testNode(name, 4)
	node.Labels[snapshot.HourlyPrice] = price
	return node
}

// podOn is a ready pod of another scheduler, or of this one.
func podOn(node, owner, scheduler string) *v1.Pod {
	pod := runningOn(node, testobjects.Pod(owner, "", "1G").SchedulerName(scheduler).Obj())
	setReady(pod, true)
	return pod
}

// threeNodes has a pod of each of the workloads one and b on n1, and of c on n3; n2 is not in use and cordoned. Their
// scheduler is the profile's own or another one.
func threeNodes(t *testing.T, scheduler string, setting func(*cluster), more ...runtime.Object) *cluster {
	t.Helper()
	idle := pricedNode("n2", "1")
	idle.Spec.Unschedulable = true
	objects := []runtime.Object{pricedNode("n1", "0.384"), idle, pricedNode("n3", "0.5"),
		podOn("n1", "one", scheduler), podOn("n1", "b", scheduler), podOn("n3", "c", scheduler)}
	return startCluster(t, answers(emptyFirst), func(c *cluster) {
		manual(c)
		if setting != nil {
			setting(c)
		}
	}, append(objects, more...)...)
}

// consolidate asks for a plan, for pods of the other scheduler.
func (c *cluster) consolidate(mode string, more map[string]any) {
	c.t.Helper()
	spec := map[string]any{"objective": "Consolidate", "executionMode": mode, "schedulerNames": []any{"other"}}
	maps.Copy(spec, more)
	c.createPlan("fewer", spec, nil)
}

func (c *cluster) about() packingplan.Consolidation {
	c.t.Helper()
	for _, record := range c.plansOf() {
		if record.Status.Consolidation != nil {
			return *record.Status.Consolidation
		}
	}
	return packingplan.Consolidation{}
}

func (c *cluster) node(name string) *v1.Node {
	c.t.Helper()
	node := testobjects.Value(c.client.CoreV1().Nodes().Get(c.ctx, name, metav1.GetOptions{}))(c.t)
	return node
}

// keepsOff says whether the node has the taint of a plan.
func keepsOff(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint v1.Taint) bool {
		return taint.Key == packingplan.EmptyingTaint && taint.Value == "fewer" && taint.Effect == v1.TaintEffectNoSchedule
	})
}

// holds says whether room is held on the node.
func holds(view *reservation.View, node string) bool {
	held, some := view.Held(node)
	return some && !held.IsZero()
}

// otherScheduler places the waiting pods of the other scheduler.
func (c *cluster) otherScheduler(node string) {
	for _, pod := range c.pods() {
		if pod.Spec.SchedulerName == "other" && pod.Spec.NodeName == "" {
			placed := runningOn(node, pod.DeepCopy())
			setReady(placed, true)
			c.must(c.client.Tracker().Update(podsResource, placed, placed.Namespace))
		}
	}
}

// completes waits until the plan is completed, while the other scheduler places pods on n3.
func (c *cluster) completes() {
	c.t.Helper()
	c.eventually("fewer is completed", func() bool {
		c.otherScheduler("n3")
		return c.phaseOf("fewer") == packingplan.Completed
	})
}

// emptyingN1 starts with the pods of n1 terminating for a plan.
func emptyingN1(t *testing.T, more ...runtime.Object) *cluster {
	t.Helper()
	c := threeNodes(t, "other", func(c *cluster) { c.slowTermination = true }, more...)
	c.consolidate("Execute", nil)
	c.eventually("pods are terminating", func() bool { return len(c.evictions()) == 2 })
	return c
}

// The release's own pods go into room that is held for them. The node keeps new pods off before the first of them leaves.
func TestANodeIsEmptiedIntoHeldRoom(t *testing.T) {
	c := threeNodes(t, v1.DefaultSchedulerName, func(c *cluster) { c.slowTermination = true })

	c.consolidate("Execute", map[string]any{"schedulerNames": []any{v1.DefaultSchedulerName}})
	c.eventually("a pod is terminating", func() bool { return len(c.evictions()) > 0 })
	if !keepsOff(c.node("n1")) {
		t.Errorf("taints %v", c.node("n1").Spec.Taints)
	}
	c.eventually("pods are terminating", func() bool {
		return len(c.evictions()) == 2 && c.about().Nodes[0].State == packingplan.NodeEmptying
	})
	c.endPods()
	c.planReaches("fewer", packingplan.Completed)

	if a, b := c.nodesOf("one"), c.nodesOf("b"); a[0] != "n3" || b[0] != "n3" {
		t.Errorf("one on %v, b on %v", a, b)
	}
	want := packingplan.Consolidation{NodesBefore: 2, NodesAfter: 1, NodesLowerBound: 1, MovesLowerBound: 2,
		HourlyPriceBefore: "0.884", HourlyPriceAfter: "0.5", HourlyPriceLowerBound: "0", HourlySaving: "0.384", Certainty: packingplan.Reserved}
	got := c.about()
	nodes := got.Nodes
	if got.Nodes = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("consolidation %+v, want %+v", got, want)
	}
	if len(nodes) != 1 || nodes[0].State != packingplan.NodeEmptied || nodes[0].HourlyPrice != "0.384" || nodes[0].Moves != 2 {
		t.Errorf("nodes %+v", nodes)
	}
	status := c.plansOf()[0].Status
	if !status.Optimal || status.Moves()[0].State != "Bound" {
		t.Errorf("status %+v", status)
	}
	if node := c.node("n1"); !keepsOff(node) || node.Labels[packingplan.EmptiedLabel] != "fewer" || node.Annotations[packingplan.EmptiedAtAnnotation] == "" {
		t.Errorf("node %+v", node.ObjectMeta)
	}
}

// Where another scheduler places the pods, nothing is held and nothing is bound: the node keeps new pods off, and its pods
// leave it.
func TestANodeIsEmptiedOfPodsOfAnotherScheduler(t *testing.T) {
	c := threeNodes(t, "other", nil)
	bound := 0
	c.consolidate("DryRun", nil)
	c.planReaches("fewer", packingplan.Proposed)
	if about := c.about(); about.Certainty != packingplan.Rehearsed || about.HourlySaving != "0.384" || len(c.evictions()) != 0 || keepsOff(c.node("n1")) {
		t.Fatalf("%+v, evicted %v", about, c.evictions())
	}

	c.patchPlan("fewer", `{"spec":{"executionMode":"Execute"}}`)
	c.eventually("a pod has left", func() bool { return len(c.evictions()) > 0 })
	if view := c.ledger.For(testPod("stranger", 1, 0), false); !keepsOff(c.node("n1")) || holds(view, "n3") {
		t.Errorf("taints %v, room is held: %t", c.node("n1").Spec.Taints, holds(view, "n3"))
	}
	c.completes()

	for _, action := range c.client.Actions() {
		if action.GetSubresource() == "binding" {
			bound++
		}
	}
	if about := c.about(); bound != 0 || len(c.evictions()) != 2 || about.Nodes[0].State != packingplan.NodeEmptied || about.HourlySaving != "0.384" {
		t.Errorf("%d bindings, evicted %v, %+v", bound, c.evictions(), about)
	}
	if node := c.node("n1"); !keepsOff(node) || node.Labels[packingplan.EmptiedLabel] != "fewer" {
		t.Errorf("node %+v, taints %v", node.ObjectMeta, node.Spec.Taints)
	}
}

// Another scheduler would put replacements on idle nodes, and nothing would be saved. Whoever waits is more important.
func TestIdleNodesAreClosedWhileOthersAreEmptiedUnlessSomebodyWaits(t *testing.T) {
	for text, waits := range map[string]bool{"nobody waits": false, "a pod waits": true} {
		t.Run(text, func(t *testing.T) {
			c := emptyingN1(t, pricedNode("n4", "1"))
			if !keepsOff(c.node("n4")) {
				t.Errorf("taints %v", c.node("n4").Spec.Taints)
			}
			if waits {
				pod := testobjects.Pod("stranger", "", "1G").SchedulerName("other").Obj()
				pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse,
					Reason: v1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(c.clock.Now())}}
				c.add(pod)
				c.eventually("the idle node is open", func() bool { return !keepsOff(c.node("n4")) })
			}
			c.endPods()
			c.completes()

			c.eventually("the idle node is open", func() bool { return !keepsOff(c.node("n4")) })
			if node := c.node("n4"); len(node.Labels[packingplan.EmptiedLabel]) > 0 || !keepsOff(c.node("n1")) {
				t.Errorf("n4: %v, n1: %v", node.Labels, c.node("n1").Spec.Taints)
			}
		})
	}
}

// A process may die at any moment. The next one goes on with the nodes, and evicts no pod too many.
func TestANodeIsEmptiedByTheNextProcess(t *testing.T) {
	c := emptyingN1(t)

	c.restart()
	c.advanceClock(time.Second)
	c.endPods()
	c.completes()

	if len(c.evictions()) != 2 || !keepsOff(c.node("n1")) || c.about().Nodes[0].State != packingplan.NodeEmptied {
		t.Errorf("evicted %v, %+v", c.evictions(), c.about())
	}
	if moves := c.plansOf()[0].Status.Moves(); moves[0].State != "Bound" || moves[1].State != "Bound" {
		t.Errorf("moves %+v", moves)
	}
}

// A plan may have ended a moment ago: what a former process left is told by the node, not by what a watch has shown yet.
func TestAnEmptiedNodeIsNotGivenBackByOneThatHasNotSeenItYet(t *testing.T) {
	for text, emptiedBy := range map[string]string{"emptied": "fewer", "emptied by another plan": "before", "left": ""} {
		t.Run(text, func(t *testing.T) {
			node := pricedNode("n1", "1")
			node.Spec.Taints = []v1.Taint{{Key: packingplan.EmptyingTaint, Value: "fewer", Effect: v1.TaintEffectNoSchedule}}
			if emptiedBy != "" {
				node.Labels = map[string]string{packingplan.EmptiedLabel: emptiedBy}
			}
			client, emptied := fake.NewClientset(node), emptiedBy == "fewer"

			released, err := execution.NodeMarks{Client: client, Clock: clock.RealClock{}}.ReleaseUnlessEmptied(t.Context(), "fewer", "n1")

			after, _ := client.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
			if err != nil || released == emptied || keepsOff(after) != emptied {
				t.Errorf("released %t, %v, taints %v", released, err, after.Spec.Taints)
			}
		})
	}
}

// Whatever ends a plan, its nodes take pods again unless they are empty.
func TestANodeThatIsNotEmptiedTakesPodsAgain(t *testing.T) {
	for text, row := range map[string]struct {
		happens func(c *cluster)
		phase   packingplan.Phase
		says    string
	}{
		"the user aborts":              {func(c *cluster) { c.patchPlan("fewer", `{"spec":{"abort":true}}`) }, packingplan.Aborted, records.MessageAborted},
		"a pod comes to the node":      {func(c *cluster) { c.add(podOn("n1", "stranger", "other")) }, packingplan.Aborted, "default/stranger"},
		"a replacement finds no place": {func(*cluster) {}, packingplan.Aborted, "waited for a node"},
		"the process dies and the plan is deleted": {func(c *cluster) {
			c.stop()
			c.must(c.plans.Resource(packingplan.Resource).Delete(c.ctx, "fewer", metav1.DeleteOptions{}))
			c.begin()
		}, "", ""},
	} {
		t.Run(text, func(t *testing.T) {
			c := threeNodes(t, "other", func(c *cluster) { c.args.StepTimeoutSeconds = 5 })
			c.set(func(c *cluster) { c.slowTermination = true })
			c.consolidate("Execute", nil)
			c.eventually("a pod is terminating", func() bool { return len(c.evictions()) > 0 && keepsOff(c.node("n1")) })

			row.happens(c)

			c.planReaches("fewer", row.phase)
			c.eventually("the node takes pods", func() bool { return !keepsOff(c.node("n1")) })
			if _, emptied := c.node("n1").Labels[packingplan.EmptiedLabel]; emptied {
				t.Error("the node is said to be empty")
			}
			for _, record := range c.plansOf() {
				if !strings.Contains(record.Status.Message, row.says) || record.Status.Consolidation.Nodes[0].State != packingplan.NodeGivenUp {
					t.Errorf("%q, %+v", record.Status.Message, record.Status.Consolidation)
				}
			}
		})
	}
}

// A node is not emptied for less than the plan asks for, nor where the rehearsal finds no place for its pods; a better
// plan may exist then.
func TestANodeThatGainsTooLittleOrIsStuckKeepsItsPods(t *testing.T) {
	for text, row := range map[string]struct {
		spec    map[string]any
		setting func(*cluster)
		state   packingplan.NodeState
	}{
		// It has 43 % of the price and 67 % of the pods.
		"too little":       {map[string]any{"leastGain": "0.7"}, nil, packingplan.NodeNotWorthIt},
		"no place for one": {nil, func(c *cluster) { c.refusingNode = "n3" }, packingplan.NodeGivenUp},
	} {
		t.Run(text, func(t *testing.T) {
			c := threeNodes(t, "other", row.setting)

			c.consolidate("Execute", row.spec)
			c.planReaches("fewer", packingplan.NoImprovement)

			status := c.plansOf()[0].Status
			if len(c.evictions()) != 0 || status.Optimal || len(status.Moves()) != 0 || status.Consolidation.Nodes[0].State != row.state {
				t.Errorf("evicted %v, status %+v, %+v", c.evictions(), status, status.Consolidation)
			}
			if keepsOff(c.node("n1")) || status.Consolidation.NodesAfter != 2 {
				t.Errorf("taints %v, %+v", c.node("n1").Spec.Taints, status.Consolidation)
			}
		})
	}
}

// The optimiser is told the objective, the limits and the scope; what lies outside stays where it is.
func TestTheOptimiserIsAskedAboutTheScope(t *testing.T) {
	c := threeNodes(t, "other", nil)

	c.consolidate("DryRun", map[string]any{"maxMoves": int64(7), "nodeSelector": map[string]any{
		"matchLabels": map[string]any{v1.LabelHostname: "n3"}}})
	c.planReaches("fewer", packingplan.NoImprovement)

	asked := c.optimizer.received()[0]
	if asked.Options.Objective != contract.Objective_OBJECTIVE_CONSOLIDATE || asked.Options.GetMaxMoves() != 7 {
		t.Errorf("options %v", asked.Options)
	}
	for _, pod := range asked.Snapshot.Pods {
		if want := pod.Node == "n3"; pod.Movable != want || !want && pod.ImmovableReason != snapshot.OutOfScope {
			t.Errorf("pod on %s: movable %t, %q", pod.Node, pod.Movable, pod.ImmovableReason)
		}
	}
	if about := c.about(); about.NodesBefore != 1 || about.NodesLowerBound != 1 {
		t.Errorf("%+v, want the nodes of the scope alone", about)
	}
	if !c.plansOf()[0].Status.Optimal {
		t.Errorf("conditions %+v", c.plansOf()[0].Status.Conditions)
	}
}

// A workload that lacks a ready pod must not lose one more: its node would be waited for in vain.
func TestAWorkloadThatIsNotWholeIsLeftAlone(t *testing.T) {
	var sets []runtime.Object
	for name, wanted := range map[string]int32{"one": 2, "b": 1, "c": 1} {
		sets = append(sets, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("rs-" + name)},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &wanted}})
	}
	c := threeNodes(t, "other", nil, sets...)

	c.consolidate("DryRun", nil)
	c.planReaches("fewer", packingplan.NoImprovement)

	reasons := map[string]int{}
	for _, pod := range c.optimizer.received()[0].Snapshot.Pods {
		reasons[pod.ImmovableReason]++
	}
	if reasons[snapshot.NotWhole] != 1 || reasons[""] != 2 {
		t.Errorf("reasons %v", reasons)
	}
}

// Pods that wait are not what such a plan is about: they get a plan of their own.
func TestPodsThatWaitAreNotForgottenForEmptyNodes(t *testing.T) {
	c := figureOne(t, func(request *contract.SolveRequest, stream *call) error {
		if request.Options.Objective == contract.Objective_OBJECTIVE_CONSOLIDATE {
			return nothing(request, stream)
		}
		return answers(solveFigureOne)(request, stream)
	}, nil)

	c.createPlan("fewer", map[string]any{"objective": "Consolidate", "executionMode": "Execute"}, nil)
	c.planReaches("fewer", packingplan.NoImprovement)
	c.reaches(packingplan.Completed)

	if c.nodeOf("three") == "" {
		t.Error(c.state())
	}
}

// Emptying nodes may take long. Other plans go on meanwhile, but not another one that empties nodes.
func TestOtherPlansAreMadeWhileNodesAreEmptied(t *testing.T) {
	c := emptyingN1(t)

	c.createPlan("later", map[string]any{"objective": "Consolidate"}, nil)
	c.createPlan("what-if", map[string]any{"executionMode": "DryRun"}, nil)
	c.planReaches("what-if", packingplan.NoImprovement)
	if phase := c.phaseOf("later"); phase != "" || c.phaseOf("fewer") != packingplan.Executing {
		t.Errorf("the later plan is %q; %s", phase, c.state())
	}

	c.endPods()
	c.completes()
	c.planReaches("later", packingplan.NoImprovement)
}

// A user may want the emptied nodes cordoned, or as they were. A node that somebody else has cordoned stays so.
func TestWhatBecomesOfEmptiedNodes(t *testing.T) {
	for mode, want := range map[string]struct{ cordoned, tainted bool }{"Taint": {false, true}, "Cordon": {true, false}, "Keep": {false, false}} {
		t.Run(mode, func(t *testing.T) {
			c := threeNodes(t, "other", nil)

			c.consolidate("Execute", map[string]any{"emptiedNodes": mode})
			c.completes()

			node := c.node("n1")
			if node.Spec.Unschedulable != want.cordoned || keepsOff(node) != want.tainted || node.Labels[packingplan.EmptiedLabel] != "fewer" {
				t.Errorf("unschedulable %t, taints %v, labels %v", node.Spec.Unschedulable, node.Spec.Taints, node.Labels)
			}
			if !c.node("n2").Spec.Unschedulable {
				t.Error("another's cordon is gone")
			}
		})
	}
}
