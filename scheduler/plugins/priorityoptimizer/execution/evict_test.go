package execution

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// viewOf shows the pods.
func viewOf(t *testing.T, pods ...*v1.Pod) *clusterview.View {
	t.Helper()
	var objects []runtime.Object
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	return viewWith(t, objects...)
}

// viewWith shows the objects.
func viewWith(t *testing.T, objects ...runtime.Object) *clusterview.View {
	t.Helper()
	handle := testobjects.NewHandle(objects...)
	view := testobjects.Value(clusterview.New(handle, snapshot.Rules{}, nil))(t)
	handle.Sync(t)
	return view
}

// evictorOf evicts from a cluster of these pods.
func evictorOf(t *testing.T, client *fake.Clientset, pods ...*v1.Pod) evictor {
	t.Helper()
	return evictor{client, viewOf(t, pods...), func(pod *v1.Pod) string { return pod.Annotations[snapshot.DoNotMove] }}
}

// Exactly the given pod is evicted, through the Eviction API, with its own grace period.
func TestEvictionNamesThePodAndKeepsItsGrace(t *testing.T) {
	pod := testobjects.Pod("p", "", "1G").Obj()
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
	former, guarded := testobjects.Pod("p", "", "1G").Obj(), testobjects.Pod("p", "", "1G").Obj()
	former.UID = "former"
	guarded.Annotations = map[string]string{snapshot.DoNotMove: "true"}
	never := errors.New("never")
	unsure := []string{"the server is busy", "the server does not answer"}
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
		pod := testobjects.Pod("p", "", "1G").Obj()
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
		if errors.Is(err, errUnanswered) != slices.Contains(unsure, text) {
			t.Errorf("%s: %v; may the pod have been evicted?", text, err)
		}
		if asked := len(client.Actions()) > 0; asked != (c.answer != nil) {
			t.Errorf("%s: the API was asked: %t", text, asked)
		}
	}
}

func cpu(amount string) resources.Vector {
	return resources.OfList(v1.ResourceList{v1.ResourceCPU: resource.MustParse(amount)})
}

// sentTo is a plan that sends a pod of 1 CPU to each of the nodes.
func sentTo(nodes ...string) *placing {
	of := &plan.Plan{}
	for _, node := range nodes {
		of.Placements = append(of.Placements, plan.Step{To: node,
			Pod: &snapshot.Pod{Object: testobjects.Pod(node, "", "1G").Obj(), Requests: cpu("1")}})
	}
	return &placing{Execution: executor.New(of, nil, 0)}
}

// The larger a plan, the more likely some node seems to be full for an instant: that is no reason to abort the plan as
// long as it is another node each time. But continuing a plan whose target has been filled by other pods would disrupt
// more pods for nothing.
func TestPlanIsGivenUpOnlyForRoomThatLacksForGood(t *testing.T) {
	active, now := sentTo("a", "b"), time.Now()
	one := cpu("1")

	for i := range 100 {
		active.free = map[string]resources.Vector{[]string{"a", "b"}[i%2]: one}
		now = now.Add(100 * time.Millisecond)
		if why := active.missingRoom(active.Outstanding(), now); why != "" {
			t.Fatalf("aborted in pass %d: %s", i, why)
		}
	}
	active.free = map[string]resources.Vector{"a": one, "b": cpu("0.5")}
	first := active.missingRoom(active.Outstanding(), now.Add(time.Minute))
	last := active.missingRoom(active.Outstanding(), now.Add(time.Minute+minShortage))

	if first != "" || !strings.Contains(last, `"b" has too little cpu`) {
		t.Errorf("first %q, then %q", first, last)
	}
}

// For a budget without a status yet, the server answers: try again in ten seconds. The client must not sleep for that
// long, which is more than the call may take; the plan backs off by itself.
func TestAdviceToRetryIsLeftToThePlan(t *testing.T) {
	calls := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", "10")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,
			"message":"Cannot evict pod as it would violate the pod's disruption budget.","details":{"retryAfterSeconds":10}}`)
	}))
	defer server.Close()
	client, err := NewEvictionClient(&rest.Config{Host: server.URL, QPS: 50, Burst: 100})
	testobjects.Must(t, err)
	pod := testobjects.Pod("p", "", "1G").Obj()

	err = evictor{client, viewOf(t, pod), func(*v1.Pod) string { return "" }}.evict(t.Context(), pod)

	if !errors.Is(err, errBudget) || calls != 1 {
		t.Errorf("err = %v after %d calls", err, calls)
	}
}

// A quota may be lowered between a plan and its evictions. The eviction is tried again, since the quota may only be full for
// as long as another pod of the plan takes to leave.
func TestAnEvictionThatWouldBeALossIsPutOff(t *testing.T) {
	pod := testobjects.Pod("web", "", "1G").Node("n1").Phase(v1.PodRunning).Obj()
	for hard, want := range map[string]error{"2": nil, "1": errLater} {
		client := fake.NewClientset(pod)
		runner := &Runner{Client: client, Gate: &gate.Gate{}, View: viewWith(t, pod, testobjects.PodQuota(hard))}

		err := runner.evictorFor(snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}).evict(t.Context(), pod)

		if !errors.Is(err, want) || len(client.Actions()) > 0 != (want == nil) {
			t.Errorf("with a quota of %s: %v, asked %v", hard, err, client.Actions())
		}
	}
}

// The server's answer to an eviction may be lost. The pod itself shows whether it leaves, so that its replacement need not
// wait for another try.
func TestUnansweredEvictionIsSeenByThePod(t *testing.T) {
	pod := testobjects.Pod("web", "", "1G").Node("n1").Phase(v1.PodRunning).Obj()
	terminating := pod.DeepCopy()
	terminating.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	for want, live := range map[packingplan.State][]*v1.Pod{
		packingplan.Waiting: {pod}, packingplan.Evicted: {terminating}, packingplan.Gone: nil,
	} {
		of := &plan.Plan{Moves: []plan.Step{{Pod: &snapshot.Pod{Object: pod, Node: "n1"}, From: "n1", To: "n2"}}}
		p := &placing{Execution: executor.New(of, nil, 0), in: &ActivePlan{Runner: &Runner{View: viewOf(t, live...)}}}
		one := departure{pod: pod, from: "n1", to: "n2"}
		p.opened(one)
		testobjects.Must(t, p.putOff(one, errUnanswered))

		p.noteGone()

		if got := p.States()[pod.UID]; got != want || p.dirty != (want != packingplan.Waiting) {
			t.Errorf("the pod is %s, want %s; replacements are to be activated: %t", got, want, p.dirty)
		}
	}
}

// A plan of thousands of moves takes long: because of the eviction rate, and because of the workload whose pods are replaced
// one after the other.
func TestTimeoutGrowsWithThePlan(t *testing.T) {
	of := func(owners, each int) *plan.Plan {
		large := &plan.Plan{}
		for i := range owners * each {
			pod := testobjects.Pod("p", "", "1G").Obj()
			grace := int64(10)
			pod.Spec.TerminationGracePeriodSeconds = &grace
			pod.ObjectMeta = metav1.ObjectMeta{Name: fmt.Sprint(i), UID: types.UID(fmt.Sprint(i))}
			large.Moves = append(large.Moves, plan.Step{Pod: &snapshot.Pod{Object: pod, Owner: types.UID(fmt.Sprint(i % owners))}})
		}
		return large
	}

	usual := config.Default()
	one, many, chain := timeoutFor(of(1, 1), usual), timeoutFor(of(2000, 1), usual), timeoutFor(of(1, 11), usual)

	step := config.Seconds(usual.StepTimeoutSeconds+usual.ReadyTimeoutSeconds) + 10*time.Second
	if one != config.Seconds(usual.PlanTimeoutSeconds+1/usual.Limits.EvictionsPerSecond) ||
		many != config.Seconds(usual.PlanTimeoutSeconds+2000/usual.Limits.EvictionsPerSecond) ||
		chain != config.Seconds(usual.PlanTimeoutSeconds+11/usual.Limits.EvictionsPerSecond)+10*step {
		t.Errorf("timeout for one move %s, for 2,000 workloads %s, for a chain of eleven %s", one, many, chain)
	}
}
