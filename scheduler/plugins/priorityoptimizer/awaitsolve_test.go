package priorityoptimizer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	clienttesting "k8s.io/client-go/testing"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// tried are the pods for which the scheduler has recorded that it found no node.
func (c *cluster) tried() (names []string) {
	for _, action := range c.client.Actions() {
		if patch, ok := action.(clienttesting.PatchAction); ok && action.GetSubresource() == "status" {
			names = append(names, patch.GetName())
		}
	}
	return names
}

// Five hundred pods of a burst that fit nowhere are not tried one by one before a solve starts: at the stock limits the
// scheduler would do nothing else for eight seconds.
func TestBurstIsSolvedForAfterOneOfItsPodsWasTried(t *testing.T) {
	thinking, goOn := make(chan struct{}, 8), make(chan struct{})
	c, o := fullNode(t, func(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
		thinking <- struct{}{}
		<-goOn
		return nothing(request, stream)
	}, nil)
	c.await("the first one is tried", c.plugin.trigger.hasFailedSignatures, false)

	for i := range 5 {
		c.add(testPod(fmt.Sprintf("like-%d", i), 3, 0))
	}
	c.await("the others wait", func() bool { return c.plugin.awaitingSolve.size() == 5 }, false)
	c.eventually("the optimiser is asked", func() bool { return len(thinking) > 0 })
	if names := c.tried(); slices.ContainsFunc(names, func(name string) bool { return name != "waiting" }) {
		t.Errorf("tried before the solve: %v", names)
	}
	close(goOn)
	o.mu.Lock()
	pending := slices.DeleteFunc(slices.Clone(o.requests[0].Snapshot.Pods), func(pod *contract.Pod) bool { return pod.Node != "" })
	o.mu.Unlock()
	if len(pending) != 6 {
		t.Errorf("asked about %d pods, want all six", len(pending))
	}
	c.eventually("those that the plan leaves out have a reason", func() bool {
		explained := 0
		for _, pod := range c.pods() {
			if _, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled); condition != nil {
				explained++
			}
		}
		return explained == 6
	})
}

// A pod with another signature than those that found no node may find one: it is tried at once.
func TestPodWithAnotherSignatureIsTriedAtOnce(t *testing.T) {
	c, _ := fullNode(t, nothing, nil)
	c.await("the first one is tried", c.plugin.trigger.hasFailedSignatures, false)

	c.add(testPod("small", 1, 0))

	c.await("it has a node", func() bool { return c.nodeOf("small") != "" }, false)
}

// Where the next solve is far off, or its time has come and gone, a pod is tried like any other.
func TestPodWaitsForTheSolveNoLongerThanForAHold(t *testing.T) {
	c, _ := fullNode(t, nothing, func(args *PriorityOptimizerArgs) { settle := 30.0; args.SettleSeconds = &settle })
	c.await("the first one is tried", c.plugin.trigger.hasFailedSignatures, false)

	c.add(testPod("like", 3, 0))

	c.await("it is tried too", func() bool { return slices.Contains(c.tried(), "like") }, false)
}

// A steady stream of pods delays a solve, but no pod waits for it longer than a hold may last.
func TestStreamOfPodsDoesNotDelayAPodBeyondTheHold(t *testing.T) {
	clock := testingclock.NewFakeClock(time.Now())
	p := &Plugin{trigger: newTrigger(clock, pace{mode: ModeOnUnschedulable, settle: time.Second}), wake: make(chan struct{}, 1),
		awaitingSolve: newHeldSet(clock, func(time.Duration) {}), hold: testHold(clock), activator: activations{}}
	p.hold.longest = 2 * time.Second
	first, tried := testPod("first", 1, 0), testPod("tried", 1, 0)
	p.trigger.mark(tried.UID, snapshot.SignatureOf(tried), clock.Now())
	began := clock.Now()
	for i := range 50 {
		p.joinsNextSolve(testPod(fmt.Sprintf("p%d", i), 1, 0))
		if !p.joinsNextSolve(first) {
			break
		}
		clock.Step(100 * time.Millisecond)
	}

	if waited := clock.Since(began); waited > p.hold.longest || waited < p.hold.longest/2 {
		t.Errorf("waited %s, want nearly %s", waited, p.hold.longest)
	}
	if p.joinsNextSolve(tried) {
		t.Error("a pod that was tried before is not tried again")
	}
}

// A solve on a large cluster takes longer than a hold may last. Its pods found no node before: trying hundreds of them
// meanwhile would take CPU time from the solver.
func TestPodsOfASolveWaitForItsEnd(t *testing.T) {
	goOn := make(chan struct{})
	c, o := fullNode(t, func(request *contract.SolveRequest, stream grpc.ServerStreamingServer[contract.SolveUpdate]) error {
		<-goOn
		return nothing(request, stream)
	}, func(args *PriorityOptimizerArgs) { longest := 0.2; args.MaxHoldSeconds = &longest })
	c.eventually("the optimiser is asked", func() bool { return o.asked() == 1 })
	before := len(c.tried())

	c.advanceClock(500 * time.Millisecond)
	waiting := c.pods()[slices.IndexFunc(c.pods(), func(pod *v1.Pod) bool { return pod.Name == "waiting" })]
	kept := c.plugin.PreEnqueue(c.ctx, waiting)
	c.add(testPod("small", 1, 0))

	c.await("another pod is placed", func() bool { return c.nodeOf("small") != "" }, false)
	if kept.IsSuccess() || len(c.tried()) != before {
		t.Errorf("the pod is let in: %v; tried meanwhile: %v", kept, c.tried()[before:])
	}
	close(goOn)
	c.eventually("it is let in afterwards", func() bool { return c.plugin.PreEnqueue(c.ctx, waiting).IsSuccess() })
}
