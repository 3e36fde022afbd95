package executor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/plan"
)

// oneAway is a plan that moves three pods of one workload, of which one may be away at a time. The first is gone.
func oneAway(t *testing.T) (*fakeCluster, *executor.Execution) {
	t.Helper()
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 4, size(100, 100))
	of := &plan.Plan{}
	for i := range 3 {
		from := fmt.Sprintf("n%d", i)
		of.Moves = append(of.Moves, plan.Step{Pod: c.add("web", from, size(30, 30), 0), From: from, To: "n3"})
	}
	e := executor.New(of, c.free(), 1)
	for _, departure := range e.Next(c.free()) {
		e.Opened(departure.Pod.Object.UID)
		e.Evicted(departure.Pod.Object.UID)
		e.Gone(departure.Pod.Object.UID)
	}
	return c, e
}

// arrive binds a replacement.
func arrive(e *executor.Execution, pod *v1.Pod) {
	e.Note(pod)
	e.Reserve(pod, "n3", true)
	e.Bound(pod.UID)
}

func terminating(pod *v1.Pod) *v1.Pod {
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{}
	return pod
}

// A pod that has a node does not serve yet. Were the next one evicted then, a workload of two would serve nobody.
func TestNextPodOfAWorkloadLeavesOnceTheLastReplacementHasBeenReady(t *testing.T) {
	c, e := oneAway(t)
	replacement := c.object("web")

	arrive(e, replacement)
	bound, limited, starting := e.Next(c.free()), e.Limited(), e.Starting()
	e.Note(ready(replacement))

	if len(bound) != 0 || limited != 2 || len(starting) != 1 || starting[0].Name != replacement.Name {
		t.Errorf("wave %v, %d moves may not begin, waiting for %v; want none, 2, the replacement", bound, limited, starting)
	}
	if next := e.Next(c.free()); len(next) != 1 || e.Progress().Starting != 0 {
		t.Errorf("wave %v once it is ready, %+v", next, e.Progress())
	}
}

// A kubelet may report a pod as ready before the scheduler learns that the pod is bound. Nothing would report it again.
func TestReplacementMayBeReadyBeforeItIsReportedAsBound(t *testing.T) {
	c, e := oneAway(t)
	replacement := c.object("web")

	e.Reserve(replacement, "n3", true)
	e.Note(ready(replacement))
	e.Bound(replacement.UID)

	if next := e.Next(c.free()); len(next) != 1 {
		t.Errorf("wave %v, want the next pod", next)
	}
}

// A replacement may be deleted before it is ready. The workload still lacks a pod until the next one is ready, or until it
// is clear that none comes, since the workload was scaled down.
func TestReplacementThatVanishesIsStillMissing(t *testing.T) {
	for text, c := range map[string]func(*executor.Execution, *v1.Pod){
		"terminating": func(e *executor.Execution, pod *v1.Pod) { e.Note(terminating(pod)) },
		"gone":        func(e *executor.Execution, pod *v1.Pod) { e.Forget(pod) },
	} {
		cluster, e := oneAway(t)
		replacement, successor := cluster.object("web"), cluster.object("web")
		arrive(e, replacement)
		c(e, replacement)
		without := e.Next(cluster.free())
		e.Note(successor)
		waiting, given := e.Next(cluster.free()), e.GiveUpVanished()
		e.Note(ready(successor))

		if next := e.Next(cluster.free()); len(without)+len(waiting) != 0 || given != 0 || len(next) != 1 {
			t.Errorf("%s: waves %v, %v, %v, %d given up; want only the last", text, without, waiting, next, given)
		}

		cluster, e = oneAway(t)
		arrive(e, replacement)
		c(e, replacement)
		given = e.GiveUpVanished()

		if next := e.Next(cluster.free()); given != 1 || len(next) != 1 {
			t.Errorf("%s: wave %v without a successor, %d given up", text, next, given)
		}
	}
}

// A pod whose target gets its room as soon as a replacement elsewhere is ready does not go before that.
func TestNoPodGoesEarlyForAReplacementThatIsStarting(t *testing.T) {
	c := newFakeCluster(t, rand.New(rand.NewPCG(1, 1)), 5, size(100, 100))
	first, second, other := c.add("web", "n0", size(60, 60), 0), c.add("web", "n1", size(60, 60), 0), c.add("other", "n4", size(60, 60), 0)
	e := executor.New(&plan.Plan{Moves: []plan.Step{{Pod: first, From: "n0", To: "n3"}, {Pod: second, From: "n1", To: "n2"},
		{Pod: other, From: "n4", To: "n1"}}}, c.free(), 1)
	e.Next(c.free())
	e.Opened(first.Object.UID)
	e.Evicted(first.Object.UID)
	e.Gone(first.Object.UID)
	replacement := c.object("web")
	arrive(e, replacement)

	meanwhile := e.Next(c.free())
	e.Note(ready(replacement))

	if next := e.Next(c.free()); len(meanwhile) != 0 || len(next) != 1 || next[0].Pod != second {
		t.Errorf("waves %v, then %v; want none, then the second pod", meanwhile, next)
	}
}

// A pod of a Job may be done before anybody sees it ready.
func TestReplacementThatHasEndedIsNotWaitedFor(t *testing.T) {
	c, e := oneAway(t)
	replacement := c.object("web")
	arrive(e, replacement)
	ended := replacement.DeepCopy()
	ended.Spec.NodeName, ended.Status.Phase = "n3", v1.PodSucceeded

	e.Note(ended)

	if next := e.Next(c.free()); len(next) != 1 {
		t.Errorf("wave %v, want the next pod", next)
	}
}
