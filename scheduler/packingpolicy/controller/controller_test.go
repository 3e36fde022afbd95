package controller_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/packingpolicy/controller"
)

var evening = time.Date(2026, 1, 1, 22, 0, 0, 0, time.UTC)

// testCluster has an API server that several controllers follow each other on, and one policy: nightly from two to three.
type testCluster struct {
	t        *testing.T
	client   *dynamicfake.FakeDynamicClient
	clock    *testingclock.FakeClock
	recorder *events.FakeRecorder
	mu       sync.Mutex
	stop     func()
}

func newCluster(t *testing.T, more map[string]any) *testCluster {
	t.Helper()
	c := &testCluster{t: t, clock: testingclock.NewFakeClock(evening), recorder: events.NewFakeRecorder(1000), stop: func() {},
		client: testobjects.CustomClient()}
	spec := map[string]any{"approval": "Automatic", "objective": "Consolidate", "windows": []any{map[string]any{
		"schedule": "0 2 * * *", "durationSeconds": int64(3600)}}}
	maps.Copy(spec, more)
	object := testobjects.Custom(packingpolicy.Kind, "nightly", spec)
	object.SetGeneration(1)
	object.SetCreationTimestamp(metav1.NewTime(evening))
	testobjects.Value(c.client.Resource(packingpolicy.Resource).Create(t.Context(), object, metav1.CreateOptions{}))(t)
	c.client.PrependReactor("update", "*", c.updateOnePart)
	t.Cleanup(func() { c.stop() })
	return c
}

// updateOnePart has a user's change and a status that is written meanwhile not undo each other, as an API server has it:
// an update of the status leaves the rest alone, and any other one the status. The fake client replaces the whole object.
func (c *testCluster) updateOnePart(action clienttesting.Action) (bool, runtime.Object, error) {
	resource, written := action.GetResource(), action.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
	stored, err := c.client.Tracker().Get(resource, "", written.GetName())
	if err != nil {
		return true, nil, err
	}
	taken, kept := written.DeepCopy(), stored.(*unstructured.Unstructured).DeepCopy()
	if action.GetSubresource() == "status" {
		taken, kept = kept, taken
	}
	delete(taken.Object, "status")
	if status, some := kept.Object["status"]; some {
		taken.Object["status"] = status
	}
	return true, taken, c.client.Tracker().Update(resource, taken, "")
}

var errKilled = errors.New("the process was killed")

// start runs a new process, once the one before has ended. A process that was killed does nothing more.
func (c *testCluster) start() {
	c.t.Helper()
	c.stop()
	_, ctx := ktesting.NewTestContext(c.t)
	ctx, cancel := context.WithCancel(ctx)
	policies, plans := packingpolicy.NewInformer(c.client), packingplan.NewInformer(c.client)
	made, err := controller.New(controller.Parts{Clock: c.clock, Policies: packingpolicy.NewStore(c.client),
		Plans: packingplan.NewStore(c.client), Watched: policies, Planned: plans, Recorder: c.recorder,
		Leads: func(context.Context) error { return ctx.Err() }})
	testobjects.Must(c.t, err)
	go policies.RunWithContext(ctx)
	go plans.RunWithContext(ctx)
	stopped := make(chan struct{})
	go func() { made.Run(ctx); close(stopped) }()
	c.mu.Lock()
	c.stop = func() { cancel(); <-stopped }
	c.mu.Unlock()
}

func (c *testCluster) status() packingpolicy.Status {
	c.t.Helper()
	object, err := c.client.Resource(packingpolicy.Resource).Get(context.Background(), "nightly", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return packingpolicy.Status{}
	}
	testobjects.Must(c.t, err)
	record, err := packingpolicy.Read(object)
	testobjects.Must(c.t, err)
	return record.Status
}

func (c *testCluster) plans() []*packingplan.Record {
	c.t.Helper()
	list := testobjects.Value(c.client.Resource(packingplan.Resource).List(context.Background(), metav1.ListOptions{}))(c.t)
	var all []*packingplan.Record
	for i := range list.Items {
		record := testobjects.Value(packingplan.Read(&list.Items[i]))(c.t)
		all = append(all, record)
	}
	return all
}

// reaches lets time go by until the condition holds: in small steps around the windows, and only once the process has done
// what was due. Plans that are to be aborted are.
func (c *testCluster) reaches(what string, holds func() bool) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		if holds() {
			return true, nil
		}
		for _, plan := range c.plans() {
			if plan.Spec.Abort && !plan.Status.Phase.Final() {
				c.end(plan.Name(), packingplan.Aborted, len(plan.Status.Moves()))
			}
		}
		if c.clock.HasWaiters() {
			c.clock.Step(c.step())
		}
		return false, nil
	})
	if err != nil {
		c.t.Fatalf("%s: %v at %v; the status is %+v", what, err, c.clock.Now(), c.status())
	}
}

// step is how far time may go: a little where a window is open or about to.
func (c *testCluster) step() time.Duration {
	const little = 20 * time.Second
	status := c.status()
	if status.NextWindow == nil ||
		slices.ContainsFunc(status.Windows, func(one packingpolicy.Window) bool { return one.Phase == packingpolicy.Open }) {
		return little
	}
	return max(little, min(20*time.Minute, status.NextWindow.Sub(c.clock.Now())-time.Minute))
}

// end lets a plan end, with so many moves done, and nodes emptied of the given prices.
func (c *testCluster) end(name string, phase packingplan.Phase, moves int, prices ...string) {
	c.t.Helper()
	plans := c.client.Resource(packingplan.Resource)
	object := testobjects.Value(plans.Get(context.Background(), name, metav1.GetOptions{}))(c.t)
	var done, nodes []any
	for i := range moves {
		done = append(done, map[string]any{"pod": fmt.Sprintf("shop/web-%d", i), "podUID": "u", "fromNode": "a", "toNode": "b", "state": "Bound"})
	}
	for i, price := range prices {
		nodes = append(nodes, map[string]any{"name": fmt.Sprintf("node-%d", i), "hourlyPrice": price, "state": "Emptied"})
	}
	nodes = append(nodes, map[string]any{"name": "node-x", "state": "GivenUp", "message": "new pods came"})
	object.Object["status"] = map[string]any{"phase": string(phase), "completionTime": c.clock.Now().UTC().Format(time.RFC3339),
		"moves": done, "consolidation": map[string]any{"nodes": nodes},
		"protected": []any{map[string]any{"reason": "singleton", "pods": int64(3), "example": "shop/db-0"}}}
	testobjects.Value(plans.UpdateStatus(context.Background(), object, metav1.UpdateOptions{}))(c.t)
}

// closes waits until the first window is closed.
func (c *testCluster) closes() {
	c.t.Helper()
	c.reaches("the window to close", func() bool { return c.window(0).Phase == packingpolicy.Closed })
}

func (c *testCluster) window(index int) *packingpolicy.Window {
	windows := c.status().Windows
	if len(windows) <= index {
		return nil
	}
	return &windows[index]
}

// planned holds when so many plans have been made, and the policy's status, which is written after them, lists them.
func (c *testCluster) planned(count int) func() bool {
	return func() bool {
		listed := 0
		for _, window := range c.status().Windows {
			listed += len(window.Plans)
		}
		return len(c.plans()) == count && listed == count
	}
}

// withPlan starts a process and returns once it has made its first plan.
func withPlan(t *testing.T, more map[string]any) *testCluster {
	t.Helper()
	c := newCluster(t, more)
	c.start()
	c.reaches("the first plan", c.planned(1))
	return c
}

// A policy is read by whoever pays the bill: what a window saved stands there, exactly.
func TestWindowTellsWhatItsPlansSavedAndWhatTheyLeftAlone(t *testing.T) {
	c := withPlan(t, nil)
	first := c.plans()[0]
	c.end(first.Name(), packingplan.Completed, 3, "0.1", "0.2")
	c.reaches("the second plan", c.planned(2))
	c.closes()

	status, window := c.status(), c.window(0)

	if opened := window.Start.UTC(); !opened.Equal(evening.Add(4*time.Hour)) || !window.End.Time.Equal(opened.Add(time.Hour)) {
		t.Errorf("from %v until %v", opened, window.End)
	}
	if window.Moves != 3 || window.NodesEmptied != 2 || window.HourlySaving != "0.3" {
		t.Errorf("the window: %+v", window)
	}
	if status.Moves != 3 || status.NodesEmptied != 2 || status.HourlySaving != "0.3" || !status.NextWindow.Time.Equal(window.Start.Add(24*time.Hour)) {
		t.Errorf("the status: %+v", status)
	}
	want := []packingpolicy.Refused{{Reason: "singleton", Count: 3, Example: "shop/db-0"}, {Reason: "GivenUp", Count: 1, Example: "node-x"}}
	if !slices.Equal(window.Refused, want) {
		t.Errorf("refused %+v", window.Refused)
	}
	if first.Spec.ExecutionMode != packingplan.Execute || first.Spec.Objective != packingplan.Consolidate || first.Spec.Trigger != "Policy" {
		t.Errorf("the plan was asked for as %+v", first.Spec)
	}
}

// Whoever runs the cluster looks at each plan first, unless told otherwise.
func TestPlansOfAPolicyWaitForTheirApprovalUntilTheWindowCloses(t *testing.T) {
	c := withPlan(t, map[string]any{"approval": "Manual"})
	plan := c.plans()[0]
	c.end(plan.Name(), packingplan.Proposed, 0)
	c.reaches("the message", func() bool { return strings.Contains(c.window(0).Message, "waits for its approval") })

	c.reaches("the plan to be aborted", func() bool { return c.plans()[0].Spec.Abort })
	closing := c.clock.Now()
	c.closes()

	if plan.Spec.ExecutionMode != packingplan.DryRun || len(c.plans()) != 1 {
		t.Errorf("%d plans, the first %+v", len(c.plans()), plan.Spec)
	}
	if closing.Before(c.window(0).Start.Add(time.Hour)) {
		t.Errorf("aborted at %v, in the window", closing)
	}
}

// However many plans it takes.
func TestWindowHasNoMoreMovesThanItMay(t *testing.T) {
	c := withPlan(t, map[string]any{"maxMovesPerWindow": int64(5)})
	c.end(c.plans()[0].Name(), packingplan.Completed, 3)
	c.reaches("the second plan", c.planned(2))
	second := c.plans()[1]
	c.end(second.Name(), packingplan.Completed, 2)

	c.closes()

	if len(c.plans()) != 2 || *second.Spec.MaxMoves != 2 || c.window(0).Moves != 5 {
		t.Errorf("%d plans, the second may move %d; %d moves", len(c.plans()), *second.Spec.MaxMoves, c.window(0).Moves)
	}
}

// A plan that is stopped by hand is not made again behind that hand's back.
func TestNoOtherPlanIsMadeInAWindowOnceAUserHasAbortedOne(t *testing.T) {
	c := withPlan(t, nil)
	name := c.plans()[0].Name()
	testobjects.Must(t, packingplan.NewStore(c.client).Abort(context.Background(), name))
	c.end(name, packingplan.Aborted, 1)
	c.closes()

	c.reaches("the next night's plan", c.planned(2))

	if window := c.window(1); len(window.Plans) != 1 || !strings.Contains(window.Message, "aborted at a user's request") {
		t.Errorf("%+v", window)
	}
}

// Suspending is how one stops it at once.
func TestSuspendedPolicyAbortsItsPlanAndOpensNoWindow(t *testing.T) {
	c := withPlan(t, nil)
	c.change("spec", "suspend", true)
	c.closes()

	at := c.clock.Now()
	c.reaches("two more days", func() bool { return c.clock.Since(at) > 48*time.Hour })

	if len(c.plans()) != 1 || len(c.status().Windows) != 1 || c.status().NextWindow != nil {
		t.Errorf("%d plans, status %+v", len(c.plans()), c.status())
	}
}

// change sets a field of the policy as a user does.
func (c *testCluster) change(path ...any) {
	c.t.Helper()
	policies := c.client.Resource(packingpolicy.Resource)
	object := testobjects.Value(policies.Get(context.Background(), "nightly", metav1.GetOptions{}))(c.t)
	value := path[len(path)-1]
	testobjects.Must(c.t, unstructured.SetNestedField(object.Object, value, path[0].(string), path[1].(string)))
	object.SetGeneration(object.GetGeneration() + 1)
	testobjects.Value(policies.Update(context.Background(), object, metav1.UpdateOptions{}))(c.t)
}

// A policy that is deleted is not carried on by its last plan.
func TestPlanOfAPolicyThatIsGoneIsAborted(t *testing.T) {
	c := withPlan(t, nil)

	testobjects.Must(t, c.client.Resource(packingpolicy.Resource).Delete(context.Background(), "nightly", metav1.DeleteOptions{}))

	c.reaches("the plan to be aborted", func() bool { return c.plans()[0].Spec.Abort })
}

// While no process led, nothing was done; that has to be seen.
func TestWindowsThatNobodyLedInAreToldAsMissed(t *testing.T) {
	c := newCluster(t, nil)
	c.start()
	c.reaches("the policy to be seen", func() bool { return c.status().NextWindow != nil })
	c.stop()
	c.clock.Step(30 * time.Hour)

	c.start()
	c.reaches("the missed ones", func() bool { return len(c.status().Windows) == 2 })

	for _, window := range c.status().Windows {
		if window.Phase != packingpolicy.Missed || len(window.Plans) != 0 {
			t.Errorf("%+v", window)
		}
	}
}

// Wherever a process is killed, before a write or right after it, the next one goes on: each window has its one plan.
func TestNoWindowIsLostOrRunTwiceWhereverTheProcessIsKilled(t *testing.T) {
	whole := nights(t, -1, false)
	if whole < 6 {
		t.Fatalf("only %d writes in two nights", whole)
	}
	for kill := range whole {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("at write %d, written %v", kill, written), func(t *testing.T) {
				nights(t, kill, written)
			})
		}
	}
}

// nights lets two nights pass, and kills the process at the given write. It returns how many writes there were.
func nights(t *testing.T, kill int, written bool) int {
	t.Helper()
	c := newCluster(t, map[string]any{"windows": []any{map[string]any{"schedule": "0 2 * * *", "durationSeconds": int64(400)}}})
	count, killed := 0, make(chan struct{}, 1)
	var mu sync.Mutex
	die := false
	react := func(action clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if action.GetSubresource() == "status" && action.GetResource() == packingplan.Resource {
			return false, nil, nil // the plan's own scheduler
		}
		if die && !written {
			return true, nil, errKilled
		}
		count++
		if count-1 != kill {
			return false, nil, nil
		}
		die = true
		killed <- struct{}{}
		if written {
			die = false
			return false, nil, nil
		}
		return true, nil, errKilled
	}
	for _, verb := range []string{"create", "update", "patch"} {
		c.client.PrependReactor(verb, "*", react)
	}
	c.start()
	restart := func() {
		select {
		case <-killed:
			c.start()
			mu.Lock()
			die = false
			mu.Unlock()
		default:
		}
	}
	ended := map[string]bool{}
	c.reaches("two nights to pass", func() bool {
		restart()
		for _, plan := range c.plans() {
			if !ended[plan.Name()] {
				ended[plan.Name()] = true
				c.end(plan.Name(), packingplan.NoImprovement, 0)
			}
		}
		return c.clock.Since(evening) > 30*time.Hour
	})
	status := c.status()
	if len(status.Windows) != 2 {
		t.Fatalf("windows %+v", status.Windows)
	}
	for _, window := range status.Windows {
		firsts := 0
		for _, plan := range window.Plans {
			if strings.HasSuffix(plan.Name, "-1") {
				firsts++
			}
		}
		if window.Phase != packingpolicy.Closed || firsts != 1 {
			t.Errorf("%+v", window)
		}
	}
	names := map[string]int{}
	for _, plan := range c.plans() {
		names[plan.Annotations()[packingpolicy.WindowAnnotation]]++
	}
	if len(names) != 2 {
		t.Errorf("plans by window: %v", names)
	}
	mu.Lock()
	defer mu.Unlock()
	return count
}
