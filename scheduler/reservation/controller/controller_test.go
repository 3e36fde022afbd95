package controller_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/klog/v2/ktesting"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/reservation/controller"
	"github.com/stowage/stowage/scheduler/resources"
)

// world is a keeper at work, and a stage that says what the test wants.
type world struct {
	t          *testing.T
	ctx        context.Context
	client     *dynamicfake.FakeDynamicClient
	clock      *testingclock.FakeClock
	ledger     *reservation.Ledger
	stage      *stage
	controller *controller.Controller
}

// stage offers the nodes in free, or refuses.
type stage struct {
	mu      sync.Mutex
	free    map[string]resources.Vector
	refuses bool
	// asked counts how often the room was asked for.
	asked int
}

func (s *stage) Place(_ context.Context, _ *v1.Pod, wanted string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuses {
		return "", &rehearsal.UnplaceableError{Nodes: 1, Reasons: map[string]int{"Insufficient cpu": 1}}
	}
	if wanted != "" {
		return wanted, nil
	}
	return "n1", nil
}

func (s *stage) Free(context.Context) (map[string]resources.Vector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return maps.Clone(s.free), nil
}

func (s *stage) set(change func(*stage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// hasRoom makes n1 the only node, with so much free.
func (s *stage) hasRoom(cpu int64) {
	s.set(func(s *stage) { s.free = map[string]resources.Vector{"n1": {CPUMilli: cpu, Pods: 10}} })
}

func start(t *testing.T) *world {
	t.Helper()
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	w := &world{t: t, ctx: ctx, ledger: reservation.NewLedger(),
		clock: testingclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		stage: &stage{free: map[string]resources.Vector{"n1": {CPUMilli: 4000, Pods: 10}}},
		client: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{reservation.Resource: reservation.Kind + "List"})}
	informer := reservation.NewInformer(w.client)
	w.controller = controller.New(controller.Parts{Clock: w.clock, Store: reservation.NewStore(w.client), Ledger: w.ledger,
		Placer: w.stage, Informer: informer, Retention: time.Hour})
	go informer.RunWithContext(ctx)
	stopped := make(chan struct{})
	go func() { w.controller.Run(ctx); close(stopped) }()
	t.Cleanup(func() { cancel(); <-stopped })
	return w
}

// reserve creates a reservation of 2 CPUs.
func (w *world) reserve(name string, more map[string]any, changes ...func(*unstructured.Unstructured)) {
	w.t.Helper()
	spec := map[string]any{
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c",
			"resources": map[string]any{"requests": map[string]any{"cpu": "2"}}}}}},
		"owners": []any{map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"app": "a"}}}},
	}
	for field, value := range more {
		spec[field] = value
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetAPIVersion(reservation.Resource.GroupVersion().String())
	object.SetKind(reservation.Kind)
	object.SetName(name)
	object.SetUID(types.UID("uid-" + name))
	object.SetCreationTimestamp(metav1.NewTime(w.clock.Now()))
	for _, change := range changes {
		change(object)
	}
	if _, err := w.client.Resource(reservation.Resource).Create(w.ctx, object, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// status is nil once the object is gone.
func (w *world) status(name string) *reservation.Status {
	object, err := w.client.Resource(reservation.Resource).Get(w.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	record, err := reservation.Read(object)
	if err != nil {
		w.t.Fatal(err)
	}
	return &record.Status
}

// reaches lets the fake time flow in small steps.
func (w *world) reaches(name string, holds func(*reservation.Status) bool) *reservation.Status {
	w.t.Helper()
	err := wait.PollUntilContextTimeout(w.ctx, 2*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		w.clock.Step(50 * time.Millisecond)
		return holds(w.status(name)), nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v; its status is %+v", name, err, w.status(name))
	}
	return w.status(name)
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

// A reservation goes to the node its template gets, says how much it holds, and is in the books.
func TestReservationBecomesAvailableOnItsNode(t *testing.T) {
	w := start(t)
	w.reserve("r", nil)

	status := w.reaches("r", in(reservation.Available))

	if status.NodeName != "n1" || status.Allocatable.Cpu().MilliValue() != 2000 || w.ledger.HeldByNode()["n1"].CPUMilli != 2000 {
		t.Errorf("status %+v, standing %v", status, w.ledger.HeldByNode())
	}
	if ready := status.Condition(reservation.ConditionReady); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("conditions %+v", status.Conditions)
	}
}

// While no node takes it, it says why, and is tried again when there is one.
func TestReservationWithoutANodeSaysWhy(t *testing.T) {
	w := start(t)
	w.stage.set(func(s *stage) { s.refuses = true })
	w.reserve("r", nil)

	status := w.reaches("r", because(reservation.ReasonUnschedulable))
	message := status.Condition(reservation.ConditionScheduled).Message
	if status.Phase != reservation.Pending && status.Phase != "" || message != "0/1 nodes are available: 1 Insufficient cpu" {
		t.Errorf("phase %q, %q", status.Phase, message)
	}

	w.stage.set(func(s *stage) { s.refuses = false })
	w.reaches("r", in(reservation.Available))
}

// Two reservations for room that is enough for one: the second waits, whoever looks first.
func TestRoomIsNotReservedTwice(t *testing.T) {
	w := start(t)
	w.stage.hasRoom(3000)
	w.reserve("first", nil)
	w.reaches("first", in(reservation.Available))
	w.reserve("second", nil)
	w.reserve("patient", map[string]any{"preAllocation": true})

	w.reaches("patient", in(reservation.Waiting))
	if second := w.status("second"); second.NodeName != "" {
		t.Errorf("second %+v", second)
	}
	w.stage.hasRoom(9000)
	w.reaches("second", in(reservation.Available))
	w.reaches("patient", in(reservation.Available))
}

// What expires fails with the reason, holds nothing any more, and is deleted after the retention.
func TestReservationExpiresAndIsCollected(t *testing.T) {
	for name, c := range map[string]struct {
		field string
		value string
	}{
		"ttl":     {"ttl", "10s"},
		"expires": {"expires", "2026-01-01T00:00:10Z"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			began := w.clock.Now()
			w.reserve("r", map[string]any{c.field: c.value})
			w.reaches("r", in(reservation.Available))

			status := w.reaches("r", in(reservation.Failed))
			if took := w.clock.Since(began); took < 10*time.Second || took > 15*time.Second {
				t.Errorf("failed after %s", took)
			}
			if len(w.ledger.HeldByNode()) != 0 || !because(reservation.ReasonExpired)(status) {
				t.Errorf("standing %v, conditions %+v", w.ledger.HeldByNode(), status.Conditions)
			}
			w.clock.Step(time.Hour)
			w.reaches("r", func(status *reservation.Status) bool { return status == nil })
		})
	}
}

// The room goes with the node.
func TestReservationFailsWithItsNode(t *testing.T) {
	w := start(t)
	w.reserve("r", nil)
	w.reaches("r", in(reservation.Available))

	w.stage.set(func(s *stage) { s.free = map[string]resources.Vector{"n2": {CPUMilli: 4000, Pods: 10}} })

	w.reaches("r", func(status *reservation.Status) bool {
		return in(reservation.Failed)(status) && because(reservation.ReasonNodeGone)(status)
	})
}

// owner is a pod that took from the reservation, as it is bound.
func owner(name, from string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "a"},
			Annotations: map[string]string{reservation.AllocatedAnnotation: reservation.Taken{Name: from, UID: types.UID("uid-" + from)}.Text()}},
		Spec: v1.PodSpec{NodeName: "n1"},
	}
}

// writes counts the statuses that were written.
func (w *world) writes() (count int) {
	for _, action := range w.client.Actions() {
		if action.GetVerb() == "update" {
			count++
		}
	}
	return count
}

// asked counts how often the keeper looked.
func (w *world) asked() (count int) {
	w.stage.set(func(s *stage) { count = s.asked })
	return count
}

// Filters read what the keeper has entered while it goes on with the same reservation; run with -race.
func TestKeeperDoesNotChangeWhatFiltersRead(t *testing.T) {
	w := start(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		stranger := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "s"}}
		for {
			select {
			case <-stop:
				return
			default:
				view := w.ledger.For(stranger, false)
				view.IsRestricted()
				view.Held("n1")
				w.ledger.Take(stranger, "n1")
			}
		}
	}()
	for _, name := range []string{"first", "second"} {
		w.reserve(name, nil)
		w.reaches(name, in(reservation.Available))
	}
	close(stop)
	<-done
}

// Pods come to a reservation one after the other: to write each of them down would spend the client's budget.
func TestWhatPodsTookIsWrittenDownTogether(t *testing.T) {
	w := start(t)
	w.reserve("r", nil)
	w.reaches("r", in(reservation.Available))
	before, began := w.writes(), w.clock.Now()
	for i := range 20 {
		looked := w.asked()
		w.ledger.Observe(owner(fmt.Sprint("owner-", i), "r"))
		w.controller.Wake()
		w.reaches("r", func(*reservation.Status) bool { return w.asked() > looked })
	}

	w.reaches("r", func(status *reservation.Status) bool { return len(status.CurrentOwners) == 20 })

	most := int(w.clock.Since(began)/(500*time.Millisecond)) + 1
	if got := w.writes() - before; got > most {
		t.Errorf("%d statuses written in %s, want %d at most", got, w.clock.Since(began), most)
	}
}

// Hundreds of events are one reason to look, and a reservation of which nothing has changed is not looked at.
func TestKeeperDoesNotWorkForEveryEvent(t *testing.T) {
	w := start(t)
	w.reserve("r", nil)
	w.reaches("r", in(reservation.Available))
	before, began := w.asked(), w.clock.Now()

	events := 0
	must(t, wait.PollUntilContextTimeout(w.ctx, time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) {
		w.controller.Wake()
		w.clock.Step(time.Millisecond)
		events++
		return events == 300, nil
	}))

	most := int(w.clock.Since(began)/(100*time.Millisecond)) + 2
	if got := w.asked() - before; got > most {
		t.Errorf("it looked %d times in %s, want %d at most", got, w.clock.Since(began), most)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
