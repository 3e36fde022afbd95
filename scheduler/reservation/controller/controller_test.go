package controller_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/reservation/controller"
	"github.com/stowage/stowage/scheduler/resources"
)

// testCluster is a running controller with a fake placer.
type testCluster struct {
	t          *testing.T
	ctx        context.Context
	client     *dynamicfake.FakeDynamicClient
	clock      *testingclock.FakeClock
	ledger     *reservation.Ledger
	placer     *placer
	controller *controller.Controller
}

// placer offers the nodes in free, or returns an error.
type placer struct {
	mu      sync.Mutex
	free    map[string]resources.Vector
	refuses bool
	// asked counts the calls of Free.
	asked int
}

func (p *placer) Place(_ context.Context, _ *v1.Pod, wanted string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuses {
		return "", &framework.FitError{NumAllNodes: 1, Diagnosis: framework.Diagnosis{NodeToStatus: framework.NewNodeToStatus(
			map[string]*fwk.Status{"n1": fwk.NewStatus(fwk.Unschedulable, "Insufficient cpu")}, nil)}}
	}
	if wanted != "" {
		return wanted, nil
	}
	return "n1", nil
}

func (p *placer) Free(context.Context) (map[string]resources.Vector, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return maps.Clone(p.free), nil
}

func (p *placer) set(change func(*placer)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// hasRoom makes a node the only one, with so much CPU free.
func (p *placer) hasRoom(node, cpu string) {
	p.set(func(p *placer) { p.free = roomOn(node, cpu) })
}

func roomOn(node, cpu string) map[string]resources.Vector {
	return map[string]resources.Vector{node: resources.OfList(v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourcePods: resource.MustParse("10")})}
}

func start(t *testing.T) *testCluster {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	c := &testCluster{t: t, ctx: ctx, ledger: reservation.NewLedger(),
		clock:  testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		placer: &placer{free: roomOn("n1", "4")},
		client: testobjects.CustomClient()}
	informer := reservation.NewInformer(c.client)
	c.controller = controller.New(controller.Parts{Clock: c.clock, Store: reservation.NewStore(c.client), Ledger: c.ledger,
		Placer: c.placer, Informer: informer, Retention: time.Hour})
	go informer.RunWithContext(ctx)
	stopped := make(chan struct{})
	go func() { c.controller.Run(ctx); close(stopped) }()
	t.Cleanup(func() { cancel(); <-stopped })
	return c
}

// reserve creates a reservation of 2 CPUs.
func (c *testCluster) reserve(name string, more map[string]any) {
	c.t.Helper()
	object := testobjects.Reservation(name, "", v1.ResourceCPU, "2", "a")
	maps.Copy(object.Object["spec"].(map[string]any), more)
	object.Object["status"] = map[string]any{}
	object.SetCreationTimestamp(metav1.NewTime(c.clock.Now()))
	testobjects.Value(c.client.Resource(reservation.Resource).Create(c.ctx, object, metav1.CreateOptions{}))(c.t)
}

// status is nil once the object is gone.
func (c *testCluster) status(name string) *reservation.Status {
	object, err := c.client.Resource(reservation.Resource).Get(c.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	record, err := reservation.Read(object)
	testobjects.Must(c.t, err)
	return &record.Status
}

// reaches advances the fake clock in small steps until the status is reached.
func (c *testCluster) reaches(name string, holds func(*reservation.Status) bool) *reservation.Status {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(c.ctx, 2*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		c.clock.Step(50 * time.Millisecond)
		return holds(c.status(name)), nil
	})
	if err != nil {
		c.t.Fatalf("%s: %v; its status is %+v", name, err, c.status(name))
	}
	return c.status(name)
}

func in(phase reservation.Phase) func(*reservation.Status) bool {
	return func(status *reservation.Status) bool { return status != nil && status.Phase == phase }
}

func because(reason string) func(*reservation.Status) bool {
	return func(status *reservation.Status) bool {
		for _, condition := range status.Conditions {
			if condition.Reason == reason {
				return true
			}
		}
		return false
	}
}

// A reservation goes to the node that its template gets, says how much it holds, and is in the ledger.
func TestReservationBecomesAvailableOnItsNode(t *testing.T) {
	c := start(t)
	c.reserve("r", nil)

	status := c.reaches("r", in(reservation.Available))

	if status.NodeName != "n1" || status.Allocatable.Cpu().MilliValue() != 2000 || c.ledger.HeldByNode()["n1"].Of(v1.ResourceCPU) != 2000 {
		t.Errorf("status %+v, standing %v", status, c.ledger.HeldByNode())
	}
	if ready := status.Condition(reservation.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("conditions %+v", status.Conditions)
	}
}

// While no node takes it, it says why, and is tried again when there is one.
func TestReservationWithoutANodeSaysWhy(t *testing.T) {
	c := start(t)
	c.placer.set(func(p *placer) { p.refuses = true })
	c.reserve("r", nil)

	status := c.reaches("r", because(reservation.ReasonUnschedulable))
	message := status.Condition(reservation.ConditionScheduled).Message
	if status.Phase != reservation.Pending && status.Phase != "" || message != "0/1 nodes are available: 1 Insufficient cpu." {
		t.Errorf("phase %q, %q", status.Phase, message)
	}

	c.placer.set(func(p *placer) { p.refuses = false })
	c.reaches("r", in(reservation.Available))
}

// Two reservations for room that is enough for one: the second waits, whichever is synced first.
func TestRoomIsNotReservedTwice(t *testing.T) {
	c := start(t)
	c.placer.hasRoom("n1", "3")
	c.reserve("first", nil)
	c.reaches("first", in(reservation.Available))
	c.reserve("second", nil)
	c.reserve("preallocating", map[string]any{"preAllocation": true})

	c.reaches("preallocating", in(reservation.Waiting))
	if second := c.status("second"); second.NodeName != "" {
		t.Errorf("second %+v", second)
	}
	c.placer.hasRoom("n1", "9")
	c.reaches("second", in(reservation.Available))
	c.reaches("preallocating", in(reservation.Available))
}

// What expires fails with the reason, holds nothing any more, and is deleted after the retention.
func TestReservationExpiresAndIsCollected(t *testing.T) {
	for field, value := range map[string]string{"ttl": "10s", "expires": "2026-01-01T00:00:10Z"} {
		t.Run(field, func(t *testing.T) {
			c := start(t)
			began := c.clock.Now()
			c.reserve("r", map[string]any{field: value})
			c.reaches("r", in(reservation.Available))

			status := c.reaches("r", in(reservation.Failed))
			if took := c.clock.Since(began); took < 10*time.Second || took > 15*time.Second {
				t.Errorf("failed after %s", took)
			}
			if len(c.ledger.HeldByNode()) != 0 || !because(reservation.ReasonExpired)(status) {
				t.Errorf("held %v, conditions %+v", c.ledger.HeldByNode(), status.Conditions)
			}
			c.clock.Step(time.Hour)
			c.reaches("r", func(status *reservation.Status) bool { return status == nil })
		})
	}
}

// The room goes with the node.
func TestReservationFailsWithItsNode(t *testing.T) {
	c := start(t)
	c.reserve("r", nil)
	c.reaches("r", in(reservation.Available))

	c.placer.hasRoom("n2", "4")

	c.reaches("r", func(status *reservation.Status) bool {
		return in(reservation.Failed)(status) && because(reservation.ReasonNodeGone)(status)
	})
}

// owner is a pod that took from the reservation, as it is bound.
func owner(name, from string) *v1.Pod {
	taken := reservation.Taken{Name: from, UID: types.UID("uid-" + from)}
	return testobjects.Pod("a", "", "").Name(name).UID(name).Node("n1").Annotation(reservation.AllocatedAnnotation, taken.Text()).Obj()
}

// writes counts the statuses that were written.
func (c *testCluster) writes() (count int) {
	for _, action := range c.client.Actions() {
		if action.GetVerb() == "update" {
			count++
		}
	}
	return count
}

// asked counts how often the controller read the free room.
func (c *testCluster) asked() (count int) {
	c.placer.set(func(p *placer) { count = p.asked })
	return count
}

// Filters read what the controller has entered while it continues with the same reservation; run with -race.
func TestControllerDoesNotChangeWhatFiltersRead(t *testing.T) {
	c := start(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		stranger := testobjects.Pod("s", "", "").Obj()
		for {
			select {
			case <-stop:
				return
			default:
				view := c.ledger.For(stranger, false)
				view.IsRestricted()
				view.Held("n1")
				c.ledger.Take(stranger, "n1")
			}
		}
	}()
	for _, name := range []string{"first", "second"} {
		c.reserve(name, nil)
		c.reaches(name, in(reservation.Available))
	}
	close(stop)
	<-done
}

// Pods take from a reservation one after the other: one write for each would use up the client's rate limit.
func TestWhatPodsTookIsWrittenTogether(t *testing.T) {
	c := start(t)
	c.reserve("r", nil)
	c.reaches("r", in(reservation.Available))
	before, began := c.writes(), c.clock.Now()
	for i := range 20 {
		looked := c.asked()
		c.ledger.Observe(owner(fmt.Sprint("owner-", i), "r"))
		c.controller.Wake()
		c.reaches("r", func(*reservation.Status) bool { return c.asked() > looked })
	}

	c.reaches("r", func(status *reservation.Status) bool { return len(status.CurrentOwners) == 20 })

	most := int(c.clock.Since(began)/(500*time.Millisecond)) + 1
	if got := c.writes() - before; got > most {
		t.Errorf("%d statuses written in %s, want %d at most", got, c.clock.Since(began), most)
	}
}

// Hundreds of events cause one sync, and an unchanged reservation is skipped.
func TestControllerDoesNotSyncForEveryEvent(t *testing.T) {
	c := start(t)
	c.reserve("r", nil)
	c.reaches("r", in(reservation.Available))
	before, began := c.asked(), c.clock.Now()

	events := 0
	testobjects.Must(t, wait.PollUntilContextTimeout(c.ctx, time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		c.controller.Wake()
		c.clock.Step(time.Millisecond)
		events++
		return events == 300, nil
	}))

	most := int(c.clock.Since(began)/(100*time.Millisecond)) + 2
	if got := c.asked() - before; got > most {
		t.Errorf("it looked %d times in %s, want %d at most", got, c.clock.Since(began), most)
	}
}
