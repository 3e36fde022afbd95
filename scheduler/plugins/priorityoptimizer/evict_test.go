package priorityoptimizer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// evictorOf evicts from a cluster of these pods.
func evictorOf(t *testing.T, client *fake.Clientset, pods ...*v1.Pod) evictor {
	t.Helper()
	return evictor{client, viewOf(t, pods...).pods, func(pod *v1.Pod) string { return pod.Annotations[snapshot.DoNotMove] }}
}

// Exactly the given pod is evicted, through the Eviction API, with its own grace period.
func TestEvictionNamesThePodAndKeepsItsGrace(t *testing.T) {
	pod := testPod("p", 1, 0)
	client := fake.NewClientset(pod)
	var sent *policyv1.Eviction
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent, _ = action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction)
		return true, sent, nil
	})

	if err := evictorOf(t, client, pod).evict(t.Context(), pod); err != nil {
		t.Fatal(err)
	}

	if options := sent.DeleteOptions; *options.Preconditions.UID != pod.UID || options.GracePeriodSeconds != nil {
		t.Errorf("options = %+v, want the UID and no grace period", options)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "delete" {
			t.Error("a pod was deleted")
		}
	}
}

// A pod of the same name is another pod; its eviction is not even tried.
func TestAnotherPodOfTheSameNameIsNotEvicted(t *testing.T) {
	client := fake.NewClientset(testPod("p", 1, 0))
	meant := testPod("p", 1, 0)
	meant.UID = "former"

	err := evictorOf(t, client, testPod("p", 1, 0)).evict(t.Context(), meant)

	if !errors.Is(err, errGone) || len(client.Actions()) != 0 {
		t.Errorf("err = %v after %v", err, client.Actions())
	}
}

// The API's answers mean: gone, not now, or never.
func TestAnswersOfTheEvictionAPIAreDistinguished(t *testing.T) {
	gone := apierrors.NewNotFound(policyv1.Resource("pods"), "p")
	later := apierrors.NewTooManyRequests("spent", 1)
	never := apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget"))
	slow := apierrors.NewTimeoutError("the server is busy", 1)
	for answer, want := range map[error]error{gone: errGone, later: errLater, never: nil, slow: errLater, context.DeadlineExceeded: errLater} {
		client := fake.NewClientset(testPod("p", 1, 0))
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, answer
		})

		err := evictorOf(t, client, testPod("p", 1, 0)).evict(t.Context(), testPod("p", 1, 0))

		if errors.Is(err, errGone) != errors.Is(want, errGone) || errors.Is(err, errLater) != errors.Is(want, errLater) {
			t.Errorf("%v became %v", answer, err)
		}
	}
}

// A user may protect a pod while a plan that moves it is being carried out.
func TestPodThatHasBecomeProtectedIsNotEvicted(t *testing.T) {
	pod := testPod("p", 1, 0)
	client := fake.NewClientset(pod)
	guarded := pod.DeepCopy()
	guarded.Annotations = map[string]string{snapshot.DoNotMove: "true"}

	err := evictorOf(t, client, guarded).evict(t.Context(), pod)

	if err == nil || errors.Is(err, errGone) || errors.Is(err, errLater) || len(client.Actions()) != 0 {
		t.Errorf("err = %v after %v", err, client.Actions())
	}
}

func leaseOf(holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "stowage"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
}

// underLease makes the plan's process one of two.
func underLease(t *testing.T) *cluster {
	t.Helper()
	o := startOptimizer(t, answers(solveFigureOne))
	c := startCluster(t, o.socket, nil, testNode("n1", 4), testNode("n2", 4), leaseOf("me"))
	c.stop()
	c.lease = &leadership.Lease{Client: c.client.CoordinationV1(), Namespace: "system", Name: "stowage", Identity: "me"}
	c.begin()
	return c
}

// A leader that was stopped continues after another process has taken over its plan. It must not write anything about
// that plan.
func TestProcessThatHasLostTheLeaseTouchesNothing(t *testing.T) {
	c := underLease(t)
	c.set(func(c *cluster) { c.slowTermination = true })
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, leaseOf("another"), metav1.UpdateOptions{})
	c.must(err)
	before := c.phases()

	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.execution.Load() == nil })
	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)

	if after := c.phases(); len(c.evictions()) != 1 || c.ledger.Empty() || after[packingplan.Executing] != 1 || len(after) != len(before) {
		t.Errorf("before %v, after %v, evicted %v, reserved %v", before, after, c.evictions(), c.kept())
	}
}

// The lease may be back before the scheduler has noticed that it was lost: then its plans go on.
func TestProcessThatGetsTheLeaseBackGoesOn(t *testing.T) {
	c := underLease(t)
	lead := func(holder string) {
		_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, leaseOf(holder), metav1.UpdateOptions{})
		c.must(err)
	}
	c.set(func(c *cluster) { c.slowTermination = true })
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 3, 0))
	c.eventually("the pod is terminating", func() bool { return len(c.evictions()) == 1 })
	lead("another")
	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.execution.Load() == nil })

	lead("me")

	c.eventually("the plan is over", func() bool { return c.phases()[packingplan.Executing] == 0 && c.ledger.Empty() })
	if c.nodeOf("three") == "" || len(c.evictions()) != 1 {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
}

// sentTo is a plan that sends a pod of 1 CPU to each of the nodes.
func sentTo(nodes ...string) *planExecution {
	of := &plan.Plan{}
	for _, node := range nodes {
		of.Placements = append(of.Placements, plan.Step{To: node,
			Pod: &snapshot.Pod{Object: testPod(node, 1, 0), Requests: resources.Vector{CPUMilli: 1000}}})
	}
	return &planExecution{Execution: executor.New(of, nil, 0)}
}

// The larger a plan, the more likely some node seems to be full for an instant: that is no reason to abort the plan as
// long as it is another node each time.
func TestPlanIsNotGivenUpForRoomThatLacksForAnInstant(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	free := map[string]resources.Vector{"a": {CPUMilli: 1000}, "b": {CPUMilli: 1000}}

	for i := range 100 {
		full := map[string]resources.Vector{"a": free["a"], "b": free["b"]}
		delete(full, []string{"a", "b"}[i%2])
		if why := active.missingRoom(active.Outstanding(), full, now.Add(time.Duration(i)*100*time.Millisecond)); why != "" {
			t.Fatalf("aborted in pass %d: %s", i, why)
		}
	}
}

// Continuing a plan whose target has been filled by other pods would disrupt more pods for nothing.
func TestPlanIsGivenUpForRoomThatLacksForGood(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	free := map[string]resources.Vector{"a": {CPUMilli: 1000}, "b": {CPUMilli: 500}}

	first := active.missingRoom(active.Outstanding(), free, now)
	last := active.missingRoom(active.Outstanding(), free, now.Add(minShortage))

	if first != "" || !strings.Contains(last, `"b" has too little cpu`) {
		t.Errorf("first %q, then %q", first, last)
	}
}
