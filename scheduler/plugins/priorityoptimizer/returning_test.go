package priorityoptimizer

import (
	"errors"
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// isProtected says that the last plan that ended names the rule.
func (c *cluster) isProtected(rule string) bool {
	plans := c.plansOf()
	return len(plans) > 0 && slices.ContainsFunc(plans[len(plans)-1].Status.Protected, func(one packingplan.Protected) bool {
		return one.Reason == rule
	})
}

// With a quota below its use every eviction is one pod less for good. As soon as the quota is raised, the pods that wait
// are asked about again.
func TestNobodyIsEvictedWhomAQuotaKeepsAway(t *testing.T) {
	c := startCluster(t, answers(movesWeb), nil, testobjects.PodQuota("1"), testNode("n1", 4), testNode("n2", 2))
	c.add(runningPod("web", "n1"))
	c.add(testPod("three", 3, 0))

	c.eventually("the rule is named", func() bool { return c.isProtected(snapshot.ResourceQuota) })
	before := len(c.evictions())
	_, err := c.client.CoreV1().ResourceQuotas(metav1.NamespaceDefault).Update(c.ctx, testobjects.PodQuota("2"), metav1.UpdateOptions{})
	c.must(err)
	c.reaches(packingplan.Completed)

	if before != 0 || len(c.evictions()) != 1 || c.nodeOf("three") != "n1" {
		t.Errorf("%d evictions before, then %v; %s", before, c.evictions(), c.state())
	}
}

// runningPod is a pod of 2 GB of the ReplicaSet web, on a node.
func runningPod(name, node string) *v1.Pod {
	pod := runningOn(node, testPod(name, 2, 0))
	pod.OwnerReferences = []metav1.OwnerReference{testobjects.ReplicaSet("web")}
	return pod
}

// movesWeb moves one pod of web that may be moved to the node of 2 GB, if that is empty, so that a pod that waits takes
// its place.
func movesWeb(asked *contract.Snapshot) *contract.Plan {
	plan := &contract.Plan{Optimal: true}
	small := ""
	for _, node := range asked.Nodes {
		if node.Allocatable.MemoryBytes == 2_000_000_000 {
			small = node.Name
		}
	}
	var moved, waiting *contract.Pod
	for _, pod := range asked.Pods {
		switch {
		case pod.Node == small:
			return plan
		case pod.Node == "":
			waiting = pod
		case pod.Movable && moved == nil:
			moved = pod
		}
	}
	if moved != nil && waiting != nil {
		plan.Moves = []*contract.Move{{PodUid: moved.Uid, FromNode: moved.Node, ToNode: small}}
		plan.Placements = []*contract.Placement{{PodUid: waiting.Uid, Node: moved.Node}}
	}
	return plan
}

// Whatever kept one replacement away may keep the next one away: a workload loses no second pod to plans before it has
// all of its pods again, be they tried or not. The plan's object says so to the next process, too, however few plans are kept.
func TestAWorkloadThatHasLostAPodIsLeftAloneUntilItIsWhole(t *testing.T) {
	set := webSet()
	set.Spec.Replicas = ptr.To[int32](2)
	c := startCluster(t, answers(movesWeb), func(c *cluster) {
		manual(c)
		c.args.CoolDownSeconds, c.args.StepTimeoutSeconds, c.args.HistoryLimit, c.withoutControllers = 0, 1, 0, true
	}, set, testNode("n1", 4), testNode("n2", 4), testNode("n3", 2))
	execute := map[string]any{"executionMode": "Execute"}
	c.add(runningPod("web-0", "n1"), runningPod("web-1", "n2"), testPod("three", 3, 0))
	c.createPlan("loses", execute, nil)
	c.planReaches("loses", packingplan.Aborted)
	c.hasNode("three")

	c.restart()
	c.set(func(c *cluster) { c.withoutControllers = false })
	c.add(testPod("four", 3, 0))
	c.createPlan("spares", map[string]any{}, nil)
	spared := false
	c.eventually("the next plan spares the workload", func() bool {
		requests := c.optimizer.received()
		for _, pod := range requests[len(requests)-1].Snapshot.Pods {
			spared = spared || pod.ImmovableReason == snapshot.LostReplacement
		}
		return spared && c.plansHave("loses") && !c.plansHave("spares")
	})
	evicted := len(c.evictions())
	untried := runningPod("web-2", "")
	untried.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "late"}}
	c.add(untried)
	c.createPlan("moves", execute, nil)
	c.hasNode("four")

	if evicted != 1 || len(c.evictions()) != 2 {
		t.Errorf("%d evictions, then %v; %s", evicted, c.evictions(), c.state())
	}
}

func (c *cluster) plansHave(name string) bool {
	return slices.ContainsFunc(c.plansOf(), func(record *packingplan.Record) bool { return record.Name() == name })
}

// answersDryRuns lets the test's API server answer dry runs of pods, and says which were asked for.
func (c *cluster) answersDryRuns(answer error) (asked func() []*v1.Pod) {
	var mu sync.Mutex
	var pods []*v1.Pod
	c.client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := action.(clienttesting.CreateActionImpl)
		if !ok || !slices.Contains(create.CreateOptions.DryRun, metav1.DryRunAll) {
			return false, nil, nil
		}
		mu.Lock()
		defer mu.Unlock()
		pod := create.GetObject().(*v1.Pod)
		pods = append(pods, pod)
		return true, pod, answer
	})
	return func() []*v1.Pod {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(pods)
	}
}

// webSet is the ReplicaSet of the pods that runningPod makes, with one pod.
func webSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "web", UID: "rs-web"},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Template: v1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"from": "template"}},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}},
		Status: appsv1.ReplicaSetStatus{Replicas: 1, ReadyReplicas: 1}}
}

// What a webhook says is known from the API server alone. Its refusal keeps the workload, and the plan's object has the
// words. That a full quota lets in nobody beside the pod that is to leave is no refusal, nor is a missing answer.
func TestADryRunOfTheReplacementDecidesBeforeTheFirstEviction(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(v1.Resource("pods"), "", errors.New(why))
	}
	for text, row := range map[string]struct {
		answer error
		kept   bool
	}{
		"let in":                       {nil, false},
		"refused by a webhook":         {forbidden(`admission webhook "policy.example.com" denied the request`), true},
		"refused by its name":          {apierrors.NewBadRequest("no such class"), true},
		"one too many for a quota":     {forbidden("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"), false},
		"the scheduler may not ask":    {forbidden(`User "s" cannot create resource "pods" in API group ""`), false},
		"no answer":                    {apierrors.NewTimeoutError("too slow", 1), false},
		"too many requests":            {apierrors.NewTooManyRequests("later", 1), false},
		"a webhook that cannot answer": {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
	} {
		t.Run(text, func(t *testing.T) {
			var asked func() []*v1.Pod
			c := startCluster(t, answers(movesWeb), func(c *cluster) {
				manual(c)
				c.args.DryRunReplacements = true
				asked = c.answersDryRuns(row.answer)
			}, webSet(), testNode("n1", 4), testNode("n2", 2))
			c.add(runningPod("web", "n1"), testPod("three", 3, 0))
			c.createPlan("asks", map[string]any{"executionMode": "Execute"}, nil)
			c.eventually("the plan has ended", func() bool { return c.phaseOf("asks").Final() })

			pods := asked()
			if len(pods) != 1 || pods[0].Name != "" || pods[0].GenerateName != "web-" || pods[0].Spec.NodeName != "" ||
				pods[0].Labels["from"] != "template" || pods[0].OwnerReferences[0].UID != "rs-web" {
				t.Errorf("asked about %+v", pods)
			}
			objected := slices.ContainsFunc(c.plansOf()[0].Status.Objections, func(one packingplan.Refusal) bool {
				return one.Reason == planning.ReasonReplacementRefused && one.Detail == row.answer.Error()
			})
			if objected != row.kept || (len(c.evictions()) == 0) != row.kept {
				t.Errorf("objected: %t, evicted %v; %s", objected, c.evictions(), c.state())
			}
		})
	}
}

// The right to create pods is given only on request, so nothing is asked without it.
func TestNothingIsAskedWithoutTheRightToCreatePods(t *testing.T) {
	var asked func() []*v1.Pod
	c := startCluster(t, answers(movesWeb), func(c *cluster) { asked = c.answersDryRuns(nil) },
		webSet(), testNode("n1", 4), testNode("n2", 2))
	c.add(runningPod("web", "n1"), testPod("three", 3, 0))

	c.reaches(packingplan.Completed)

	if len(asked()) != 0 {
		t.Errorf("asked about %+v", asked())
	}
}
