package priorityoptimizer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
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

	testobjects.Must(t, evictorOf(t, client, pod).evict(t.Context(), pod))

	if options := sent.DeleteOptions; *options.Preconditions.UID != pod.UID || options.GracePeriodSeconds != nil {
		t.Errorf("options = %+v, want the UID and no grace period", options)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "delete" {
			t.Error("a pod was deleted")
		}
	}
}

// A pod that is gone, must stay or must wait is told apart: by what the informers show, without a request, since even a
// failed one may use up a disruption of the budget; else by the API's answer.
func TestEvictionsThatCannotBeAreDistinguished(t *testing.T) {
	former, guarded := testPod("p", 1, 0), testPod("p", 1, 0)
	former.UID = "former"
	guarded.Annotations = map[string]string{snapshot.DoNotMove: "true"}
	never := errors.New("never")
	for text, c := range map[string]struct {
		live   *v1.Pod
		answer error
		want   error
	}{
		"another pod has its name":      {former, nil, errGone},
		"a user has protected it":       {guarded, nil, never},
		"the server does not know it":   {nil, apierrors.NewNotFound(policyv1.Resource("pods"), "p"), errGone},
		"its budget is spent":           {nil, apierrors.NewTooManyRequests("spent", 1), errLater},
		"it has two disruption budgets": {nil, apierrors.NewInternalError(errors.New("more than one PodDisruptionBudget")), never},
		"the server is busy":            {nil, apierrors.NewTimeoutError("the server is busy", 1), errLater},
		"the server does not answer":    {nil, context.DeadlineExceeded, errLater},
	} {
		pod := testPod("p", 1, 0)
		client := fake.NewClientset(pod)
		client.PrependReactor("create", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, c.answer
		})
		live := pod
		if c.live != nil {
			live = c.live
		}

		err := evictorOf(t, client, live).evict(t.Context(), pod)

		if err == nil || errors.Is(err, errGone) != errors.Is(c.want, errGone) || errors.Is(err, errLater) != errors.Is(c.want, errLater) {
			t.Errorf("%s: %v, want %v", text, err, c.want)
		}
		if asked := len(client.Actions()) > 0; asked != (c.answer != nil) {
			t.Errorf("%s: the API was asked: %t", text, asked)
		}
	}
}

// A leader that was stopped continues after another process has taken over its plan. It must not write anything about
// that plan. The lease may be back before the scheduler has noticed that it was lost: then its plans go on.
func TestProcessThatHasLostTheLeaseTouchesNothingUntilItHasItBack(t *testing.T) {
	c := slowTermination(t, func(c *cluster) {
		c.lease = &leadership.Lease{Client: c.client.CoordinationV1(), Namespace: "system", Name: "stowage", Identity: "me"}
	})
	lead := func(holder string) {
		_, err := c.client.CoordinationV1().Leases("system").Update(c.ctx, testobjects.Lease("system", "stowage", holder), metav1.UpdateOptions{})
		c.must(err)
	}
	lead("another")
	c.endPods()
	c.eventually("it has noticed", func() bool { return c.plugin.Execution.Load() == nil })

	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)
	if after := c.phases(); len(c.evictions()) != 1 || c.ledger.Empty() || after[packingplan.Executing] != 1 || len(after) != 1 {
		t.Errorf("plans %v, evicted %v, reserved %v", after, c.evictions(), c.kept())
	}
	lead("me")

	c.eventually("the plan is over", func() bool { return c.phases()[packingplan.Executing] == 0 && c.ledger.Empty() })
	if c.nodeOf("three") == "" || len(c.evictions()) != 1 {
		t.Errorf("evicted %v; %s", c.evictions(), c.state())
	}
}

func cpu(amount string) resources.Vector {
	return resources.OfList(v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)})
}

// sentTo is a plan that sends a pod of 1 CPU to each of the nodes.
func sentTo(nodes ...string) *planExecution {
	of := &plan.Plan{}
	for _, node := range nodes {
		of.Placements = append(of.Placements, plan.Step{To: node,
			Pod: &snapshot.Pod{Object: testPod(node, 1, 0), Requests: cpu("1")}})
	}
	return &planExecution{Execution: executor.New(of, nil, 0)}
}

// The larger a plan, the more likely some node seems to be full for an instant: that is no reason to abort the plan as
// long as it is another node each time. But continuing a plan whose target has been filled by other pods would disrupt
// more pods for nothing.
func TestPlanIsGivenUpOnlyForRoomThatLacksForGood(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	one := cpu("1")

	for i := range 100 {
		free := map[string]resources.Vector{[]string{"a", "b"}[i%2]: one}
		now = now.Add(100 * time.Millisecond)
		if why := active.missingRoom(active.Outstanding(), free, now); why != "" {
			t.Fatalf("aborted in pass %d: %s", i, why)
		}
	}
	short := map[string]resources.Vector{"a": one, "b": cpu("0.5")}
	first := active.missingRoom(active.Outstanding(), short, now.Add(time.Minute))
	last := active.missingRoom(active.Outstanding(), short, now.Add(time.Minute+minShortage))

	if first != "" || !strings.Contains(last, `"b" has too little cpu`) {
		t.Errorf("first %q, then %q", first, last)
	}
}
