package gate

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
	"github.com/stowage/stowage/scheduler/waiting"
)

// testGate is a plugin without a cluster.
func testGate(clock *testingclock.FakeClock, pace Pace) *Gate {
	return &Gate{activator: activations{}, Trigger: NewTrigger(clock, pace), Hold: testHold(clock), InFlight: NewInFlight(),
		Waiting: waiting.Table{Clock: clock}, Wake: make(chan struct{}, 1)}
}

// testPod is a pod of a ReplicaSet.
func testPod(name string) *v1.Pod { return testobjects.Pod(name, "", "1G").Obj() }

// activations counts the wake-ups of each pod, as the scheduling queue gets them.
type activations map[string]int

func (a activations) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	for uid := range pods {
		a[uid]++
	}
}

// An activation that comes before the queue has parked the pod is lost. The pod is activated again and again until it
// passes.
func TestLostWakeUpIsRepeatedUntilThePodPasses(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	woken := activations{}
	g := testGate(clock, Pace{})
	g.activator, g.Hold.released = woken, g.Release
	pod := &v1.Pod{}
	pod.UID = types.UID("p")
	g.Hold.Begin(time.Second)
	if g.PreEnqueue(t.Context(), pod).IsSuccess() {
		t.Fatal("the pod was not held")
	}

	g.Hold.End() // the queue does not know the pod yet: this has no effect
	g.Release()
	g.Release()
	repeated := woken["p"]
	passed := g.PreEnqueue(t.Context(), pod).IsSuccess()
	g.Release()

	if repeated != 3 || !passed || woken["p"] != 3 {
		t.Errorf("woken %d times before it passed (%v), %d in the end", repeated, passed, woken["p"])
	}
}

// A steady stream of pods delays a solve, but no pod waits for it longer than a hold may last.
func TestStreamOfPodsDoesNotDelayAPodBeyondTheHold(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, Pace{Type: OnUnschedulable, Settle: time.Second})
	g.Hold.longest = 2 * time.Second
	first, tried := testPod("first"), testPod("tried")
	g.Trigger.Mark(tried.UID, snapshot.SignatureOf(tried, g.book), clock.Now())
	began := clock.Now()
	for i := range 50 {
		g.PreEnqueue(t.Context(), testPod(fmt.Sprintf("p%d", i)))
		if g.PreEnqueue(t.Context(), first).IsSuccess() {
			break
		}
		clock.Step(100 * time.Millisecond)
	}

	if waited := clock.Since(began); waited > g.Hold.longest || waited < g.Hold.longest/2 {
		t.Errorf("waited %s, want nearly %s", waited, g.Hold.longest)
	}
	if !g.PreEnqueue(t.Context(), tried).IsSuccess() {
		t.Error("a pod that was tried before is not tried again")
	}
}

// A replacement for which the plan has an open place with room goes there at once, though a pod like it has just found no
// node.
func TestReplacementWithRoomDoesNotWaitForTheNextSolve(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, Pace{Type: OnUnschedulable, Settle: time.Second})
	pod, other := testPod("planned"), testPod("planned")
	other.UID = "other"
	room := map[string]resources.Vector{"n1": g.book.Needs(pod)}
	placed := &snapshot.Pod{Object: pod, Owner: pod.OwnerReferences[0].UID, Class: (snapshot.Classes{}).ID(pod)}
	execution := executor.New(&plan.Plan{Placements: []plan.Step{{To: "n1", Pod: placed}}}, room, 0)
	execution.Activatable(room, func(types.UID) bool { return false })
	g.Execution.Store(execution)
	g.Trigger.Mark(other.UID, snapshot.SignatureOf(other, g.book), clock.Now())

	if status := g.PreEnqueue(t.Context(), pod); !status.IsSuccess() {
		t.Errorf("PreEnqueue: %s", status.Message())
	}
}

// A pod that another process has bound leaves the batch; otherwise a batch would never end.
func TestABoundPodLeavesTheBatch(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, Pace{Type: Batch, Interval: time.Second, Pods: 9})
	pod := testPod("elsewhere")
	if g.PreEnqueue(t.Context(), pod).IsSuccess() {
		t.Fatal("the pod was not kept for its batch")
	}

	bound := pod.DeepCopy()
	bound.Spec.NodeName = "n1"
	g.podHandler().OnUpdate(pod, bound)

	if g.Waiting.Count(ReasonBatch) != 0 || dueIn(g.Trigger) != -1 {
		t.Errorf("%d pods in the batch, due in %s", g.Waiting.Count(ReasonBatch), dueIn(g.Trigger))
	}
}

// The scheduler reserves room for the pods of a group, takes it back, and reserves it again when it has decided. What was
// only tried must not look like a pod that is about to be bound, nor wake anybody.
func TestATrialOfAPodGroupReservesNothing(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := &Gate{InFlight: NewInFlight(), Wake: make(chan struct{}, 1), Hold: testHold(clock)}
	pod, state := testPod("member"), framework.NewCycleState()
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To("group")}

	state.SetPodGroupSchedulingCycle(framework.NewCycleState())
	tried := g.Reserve(t.Context(), state, pod, "n1")
	counted := len(g.InFlight.All())
	state.SetPodGroupSchedulingCycle(nil)
	reserved := g.Reserve(t.Context(), state, pod, "n1")
	state.SetPodGroupSchedulingCycle(framework.NewCycleState())
	g.Unreserve(t.Context(), state, pod, "n1")

	if !tried.IsSuccess() || !reserved.IsSuccess() || counted != 0 || len(g.InFlight.All()) != 1 || len(g.Wake) != 0 {
		t.Errorf("tried %v, %d in flight; reserved %v, %d in flight after another trial", tried, counted, reserved,
			len(g.InFlight.All()))
	}
}

// A scheduling cycle that began before it was known that a plan may be resumed has not looked at the plan's room, and the
// result for one pod says nothing about the next, which the room may not be enough for.
func TestCyclesThatHaveNotSeenTheRoomOfAPlanThatMayBeResumedBindNobody(t *testing.T) {
	g := testGate(testingclock.NewFakeClock(time.Now()), Pace{})
	pod, before, after := testPod("p"), framework.NewCycleState(), framework.NewCycleState()
	g.PreFilter(t.Context(), before, pod, nil)
	over := g.HoldBack(func(*v1.Pod) bool { return false }, ReasonUndecided, func() map[string]resources.Vector { return nil })
	g.PreFilter(t.Context(), after, pod, nil)

	early, late := g.Reserve(t.Context(), before, pod, "n1"), g.Reserve(t.Context(), after, pod, "n1")
	_, signed := g.SignPod(t.Context(), pod)
	over()

	if _, free := g.SignPod(t.Context(), pod); early.IsSuccess() || !late.IsSuccess() || signed.IsSuccess() || !free.IsSuccess() {
		t.Errorf("reserved before it was known: %v, after: %v; results are used again: %v, then %v", early, late, signed, free)
	}
}

// A hundred pods a second come and go. Only those of the plan wake up the loop.
func TestOnlyThePlansPodsWakeItUp(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, Pace{})
	ours := testPod("ours")
	g.Execution.Store(executor.New(&plan.Plan{Moves: []plan.Step{{From: "a", To: "b", Pod: &snapshot.Pod{Object: ours, Owner: "rs-ours"}}}}, nil, 1))
	woken := func() bool {
		select {
		case <-g.Wake:
			return true
		default:
			return false
		}
	}
	for name, want := range map[string]bool{"ours": true, "theirs": false} {
		pod := testPod(name)
		handler := g.podHandler()
		for what, happens := range map[string]func(){
			"created": func() { handler.OnAdd(pod, false) },
			"changed": func() { handler.OnUpdate(pod, pod) },
			"deleted": func() { handler.OnDelete(pod) },
		} {
			happens()
			if got := woken(); got != want {
				t.Errorf("%s %s: woken %t", name, what, got)
			}
		}
	}
}

// Devices come free some time after their pod has gone. A plan that waits for them must not wait for its next look at the
// clock; without one, the scheduling queue looks after the pods.
func TestDevicesThatComeFreeWakeUpThePlan(t *testing.T) {
	claim := func(devices bool) *resourceapi.ResourceClaim {
		made := &resourceapi.ResourceClaim{}
		if devices {
			made.Status.Allocation = &resourceapi.AllocationResult{}
		}
		return made
	}
	for name, c := range map[string]struct {
		change func(cache.ResourceEventHandler)
		frees  bool
	}{
		"deallocated":                 {func(h cache.ResourceEventHandler) { h.OnUpdate(claim(true), claim(false)) }, true},
		"gone":                        {func(h cache.ResourceEventHandler) { h.OnDelete(claim(true)) }, true},
		"gone, and the watch was cut": {func(h cache.ResourceEventHandler) { h.OnDelete(cache.DeletedFinalStateUnknown{Obj: claim(true)}) }, true},
		"allocated":                   {func(h cache.ResourceEventHandler) { h.OnUpdate(claim(false), claim(true)) }, false},
		"gone without devices":        {func(h cache.ResourceEventHandler) { h.OnDelete(claim(false)) }, false},
		"new":                         {func(h cache.ResourceEventHandler) { h.OnAdd(claim(true), false) }, false},
	} {
		for _, planned := range []bool{true, false} {
			g := testGate(testingclock.NewFakeClock(time.Now()), Pace{})
			if planned {
				g.Execution.Store(executor.New(&plan.Plan{}, nil, 1))
			}
			c.change(g.claimHandler())
			if woken := len(g.Wake) > 0; woken != (planned && c.frees) {
				t.Errorf("%s, with a plan %t: woken %t", name, planned, woken)
			}
		}
	}
}

// sharedClaims are the claims of a cluster: all there are have a UID, and the pending one is being allocated.
type sharedClaims struct {
	fwk.SharedDRAManager
	fwk.ResourceClaimTracker
	pending types.UID
}

func (s sharedClaims) ResourceClaims() fwk.ResourceClaimTracker { return s }
func (s sharedClaims) GetPendingAllocation(uid types.UID) *resourceapi.AllocationResult {
	if uid != s.pending {
		return nil
	}
	return &resourceapi.AllocationResult{}
}

func (s sharedClaims) Get(_, name string) (*resourceapi.ResourceClaim, error) {
	claim := &resourceapi.ResourceClaim{}
	claim.UID = types.UID(name)
	return claim, nil
}

type handleOfClaims struct {
	fwk.Handle
	of sharedClaims
}

func (h handleOfClaims) SharedDRAManager() fwk.SharedDRAManager { return h.of }

// A claim that several pods share is allocated for the first of them. A solve for the others would find them bound, and new
// pods like them would wait for it.
func TestAPodWhoseClaimIsBeingAllocatedAsksForNoSolve(t *testing.T) {
	pod := testPod("p")
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "a", ResourceClaimName: ptr.To("shared")}}
	for pending, asks := range map[types.UID]bool{"shared": false, "other": true} {
		g := testGate(testingclock.NewFakeClock(time.Now()), Pace{Type: OnUnschedulable})
		g.handle = handleOfClaims{of: sharedClaims{pending: pending}}
		g.PostFilter(t.Context(), framework.NewCycleState(), pod, nil)
		if marked := g.Trigger.All().Has(pod.UID); marked != asks || g.Trigger.hasFailedSignatures() != asks {
			t.Errorf("while claim %q is being allocated, the pod asks for a solve: %t", pending, marked)
		}
	}
}

// Pods that wait because of a budget are not tried by any other plugin when it allows more disruptions.
func TestBudgetThatAllowsMoreAsksForAnotherSolve(t *testing.T) {
	allows := func(count int32) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: count}}
	}
	for text, c := range map[string]struct {
		change func(cache.ResourceEventHandler)
		want   bool
	}{
		"more":    {func(h cache.ResourceEventHandler) { h.OnUpdate(allows(0), allows(1)) }, true},
		"gone":    {func(h cache.ResourceEventHandler) { h.OnDelete(allows(0)) }, true},
		"as many": {func(h cache.ResourceEventHandler) { h.OnUpdate(allows(1), allows(1)) }, false},
		"fewer":   {func(h cache.ResourceEventHandler) { h.OnUpdate(allows(1), allows(0)) }, false},
	} {
		trigger := NewTrigger(testingclock.NewFakeClock(time.Now()), Pace{Type: OnUnschedulable, Settle: time.Second, Interval: time.Minute})
		trigger.marked = sets.New[types.UID]("waiting")

		c.change(retryWhen(&Gate{Trigger: trigger, Wake: make(chan struct{}, 1)}, snapshot.LetsMoreGo))

		if _, due := trigger.Due(); due != c.want {
			t.Errorf("%s: due %t", text, due)
		}
	}
}

// A pod that came while a solve was going on is in no batch yet: it waits for the plan of the next one, whatever becomes of
// this one.
func TestAPodOfNoBatchYetIsNotScheduledWithoutAPlan(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	g := testGate(clock, Pace{Type: Batch, Interval: time.Minute, Pods: 9})
	g.Hold.longest, g.Hold.budget = time.Second, time.Second
	collected, late := testPod("collected"), testPod("late")
	g.PreEnqueue(t.Context(), collected)
	g.Hold.Begin(time.Second)
	g.PreEnqueue(t.Context(), collected)
	g.PreEnqueue(t.Context(), late)

	g.ReleaseWithoutPlan("the optimiser failed", func(*v1.Pod) bool { return true })
	g.Hold.End()

	if status := g.PreEnqueue(t.Context(), collected); !status.IsSuccess() {
		t.Errorf("the pod of the batch %s", status.Message())
	}
	if status := g.PreEnqueue(t.Context(), late); status.Message() != string(ReasonBatch) {
		t.Errorf("the other pod: %v", status)
	}
}
