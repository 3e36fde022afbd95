package priorityoptimizer

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/executor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// member is a pod of the pod group called "group".
func member(owner string, memoryGB int) *v1.Pod {
	pod := testPod(owner, memoryGB, 0)
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To("group")}
	return pod
}

// members are so many replicas of a pod of the group.
func members(count, memoryGB int) (pods []*v1.Pod) {
	for i := range count {
		pod := member("gang", memoryGB)
		pod.Name = fmt.Sprintf("gang-%d", i)
		pod.UID = types.UID(pod.Name)
		pods = append(pods, pod)
	}
	return pods
}

// knowsGroups has the scheduler know pod groups, and returns the one of the members, so many of which need a node at
// once.
func knowsGroups(t *testing.T, minCount int) runtime.Object {
	t.Helper()
	kind := schema.FromAPIVersionAndKind("scheduling.k8s.io/v1beta1", "PodGroup")
	if !scheme.Scheme.Recognizes(kind) {
		t.Skip("this minor has no pod groups of this version")
	}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	text := fmt.Sprintf(`{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup",
		"metadata": {"namespace": %q, "name": "group"}, "spec": {"schedulingPolicy": {"gang": {"minCount": %d}}}}`,
		member("any", 1).Namespace, minCount)
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	testobjects.Must(t, err)
	return object
}

// No plan is about a pod of a group that the scheduler does not know, as it would not keep the pods together: so it
// need not wait for one.
func TestNoPodOfAnUnknownGroupWaitsForASolve(t *testing.T) {
	c := fullNode(t, silent, nil)
	c.eventually("the solve has begun", func() bool { return c.optimizer.asked() == 1 })
	c.add(testPod("newcomer", 1, 0))
	c.await("the newcomer is held", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld) == 1 }, false)

	c.add(member("member", 1))

	c.await("the pod of a group is placed", func() bool { return c.nodeOf("member") != "" }, false)
	if c.nodeOf("newcomer") != "" || !c.plugin.Hold.Active() {
		t.Error("the solve is over, and proves nothing")
	}
}

// The scheduler asks no plugin about one pod of a group that finds no node. The group is solved for as a whole, once.
func TestAGroupThatFailsIsSolvedForWhole(t *testing.T) {
	group := knowsGroups(t, 3)
	c := startCluster(t, nothing, nil, group, testNode("n1", 5))
	c.add(members(4, 2)...)

	c.eventually("the optimiser is asked", func() bool { return c.optimizer.asked() > 0 })

	asked, nodes, waiting := c.optimizer.received(), c.nodesOf("gang"), 0
	for _, pod := range asked[0].Snapshot.Pods {
		if pod.Node == "" {
			waiting++
		}
	}
	if waiting != 4 || len(asked) != 1 || len(nodes) != 4 || slices.ContainsFunc(nodes, hasAny) {
		t.Errorf("asked %d times, first about %d pods; nodes %v", len(asked), waiting, nodes)
	}
}

func hasAny(node string) bool { return node != "" }

// membersTried are the members for which the scheduler has recorded that they found no node.
func (c *cluster) membersTried() []string {
	return slices.DeleteFunc(c.tried(), func(name string) bool { return !strings.HasPrefix(name, "gang-") })
}

// A group is held during a solve as other pods are, and comes as soon as the solve is over.
func TestAGroupWaitsForASolveWhole(t *testing.T) {
	group := knowsGroups(t, 2)
	does, goOn := pausing(nothing)
	c := startCluster(t, does, nil, group, testNode("n1", 5))
	c.addInTurn(testPod("resident", 2, 0))
	c.add(testPod("waiting", 4, 0))
	c.eventually("the solve has begun", func() bool { return c.optimizer.asked() == 1 })

	c.add(members(2, 1)...)

	// The queue asks about one pod of a group that is held.
	c.await("the group is held", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld) > 0 }, false)
	if slices.ContainsFunc(c.nodesOf("gang"), hasAny) || len(c.membersTried()) > 0 {
		t.Errorf("nodes %v, tried %v", c.nodesOf("gang"), c.membersTried())
	}
	goOn()
	c.eventually("both have nodes", func() bool { return !slices.Contains(c.nodesOf("gang"), "") })
}

// A group that found no node comes back from its back-off, past the gate in the queue, while the solve that is about it
// goes on. A status write for each of its pods would have the scheduler do nothing else for seconds.
func TestAGroupThatComesBackDuringItsSolveIsNotTried(t *testing.T) {
	group := knowsGroups(t, 3)
	does, goOn := pausing(nothing)
	c := startCluster(t, does, nil, group, testNode("n1", 5))
	c.add(members(3, 2)...)
	c.eventually("the optimiser is asked", func() bool { return c.optimizer.asked() == 1 })
	c.await("its pods have been told so", func() bool { return len(c.membersTried()) >= 3 }, false)
	before := len(c.membersTried())

	c.await("the group is back", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld, gate.ReasonInSolve) == 3 }, false)

	if tried := c.membersTried(); len(tried) != before {
		t.Errorf("tried meanwhile: %v", tried[before:])
	}
	goOn()
	c.eventually("it is let in", func() bool { return c.plugin.Waiting.Count(gate.ReasonHeld, gate.ReasonInSolve) == 0 })
}

// gangUnderWay is a cluster that carries out a plan for the pods of a gang of two: one goes to each of the nodes. It solves
// nothing.
func gangUnderWay(t *testing.T, pods []*v1.Pod, nodes []string, objects ...runtime.Object) (*cluster, *executor.Execution) {
	t.Helper()
	group := knowsGroups(t, 2)
	c := startCluster(t, nil, manual, append(objects, group)...)
	of := &plan.Plan{}
	for i, pod := range pods {
		of.Placements = append(of.Placements, plan.Step{To: nodes[i], Unit: plan.UnitOfGang(snapshot.GroupOf(pod)),
			Pod: &snapshot.Pod{Object: pod, Owner: pod.OwnerReferences[0].UID, Class: (snapshot.Classes{}).ID(pod),
				Requests: c.plugin.view.Book.Needs(pod)}})
	}
	execution := executor.New(of, nil, 0)
	c.plugin.Execution.Store(execution)
	return c, execution
}

// activate does what the plugin does in each step of a plan for n1 and n2.
func (c *cluster) activate(execution *executor.Execution) {
	c.t.Helper()
	free, _, err := c.plugin.room(c.ctx, nil, "n1", "n2")
	c.must(err)
	reserved := c.plugin.InFlight.All()
	c.plugin.Activate(execution.Activatable(free, func(uid types.UID) bool {
		_, binding := reserved[uid]
		return binding
	}))
}

// A gang waits in the queue until the plan has made room for all of it: without a cycle, and without a write for each
// pod. Then each pod takes a place of its own. The scheduler alone would put both on n1, which has room for them and is
// empty.
func TestAGangOfAPlanComesWholeToThePlacesOfThePlan(t *testing.T) {
	pods := members(2, 3)
	resident := testPod("resident", 3, 0)
	resident.Spec.NodeName, resident.Status.Phase = "n2", v1.PodRunning
	c, execution := gangUnderWay(t, pods, []string{"n1", "n2"}, testNode("n1", 100), testNode("n2", 4), resident)
	c.add(pods...)
	c.eventually("the gang waits", func() bool {
		c.activate(execution)
		// Where the queue asks this plugin about the first pod before it asks others, it does not ask about the second.
		return c.plugin.Waiting.Count(gate.ReasonNoRoom) > 0 && len(execution.Waiting()) == 2
	})
	early, written := c.nodesOf("gang"), c.membersTried()

	c.must(c.client.Tracker().Delete(podsResource, resident.Namespace, resident.Name))
	c.eventually("the gang has nodes", func() bool {
		c.activate(execution)
		return !slices.Contains(c.nodesOf("gang"), "")
	})

	nodes := c.nodesOf("gang")
	slices.Sort(nodes)
	if slices.ContainsFunc(early, hasAny) || !slices.Equal(nodes, []string{"n1", "n2"}) || len(written) > 0 {
		t.Errorf("early on %v, then on %v; written about %v", early, nodes, written)
	}
	c.eventually("the plan is carried out", func() bool { return execution.Progress().Done() })
}

// A pod of the gang beyond those that the plan has places for does not keep these from coming, nor takes one of their
// places.
func TestAPodBeyondThePlanDoesNotKeepTheGangBack(t *testing.T) {
	pods := members(3, 3)
	c, execution := gangUnderWay(t, pods[:2], []string{"n1", "n2"}, testNode("n1", 4), testNode("n2", 4))
	c.add(pods...)

	c.eventually("the plan is carried out", func() bool {
		c.activate(execution)
		return execution.Progress().Done()
	})

	nodes := c.nodesOf("gang")
	slices.Sort(nodes)
	if !slices.Equal(nodes, []string{"", "n1", "n2"}) {
		t.Errorf("nodes %v", nodes)
	}
}

// Only pods that are about to be bound may be during a hold, as the solve does not count with them. But the rest of a
// group must be, or what is reserved for its first pod is kept from all others, until that has waited in Permit for
// five minutes.
func TestAHoldThatBeginsInTheMiddleOfAGroupDoesNotDivideIt(t *testing.T) {
	group := knowsGroups(t, 2)
	var held atomic.Bool
	c := startCluster(t, nil, func(c *cluster) {
		manual(c)
		c.reserved = func(*v1.Pod) { held.Store(c.plugin.Hold.Begin(time.Second) || held.Load()) }
	}, group, testNode("n1", 8))

	c.add(members(2, 3)...)

	c.eventually("a hold has begun", held.Load)
	c.await("the gang has nodes", func() bool { return !slices.Contains(c.nodesOf("gang"), "") }, false)
}
