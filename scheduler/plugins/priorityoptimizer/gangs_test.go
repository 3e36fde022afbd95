package priorityoptimizer

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/packingplan"
)

// sends is a script by which the pods of these names have these nodes; "" is none. The steps of a gang are one unit.
func sends(to map[string]string) script {
	return answers(func(snapshot *contract.Snapshot) *contract.Plan {
		units := map[string]string{}
		for _, class := range snapshot.PodClasses {
			if class.Gang != "" {
				units[class.Id] = "gang/" + class.Gang
			}
		}
		made := &contract.Plan{Optimal: true}
		for _, pod := range snapshot.Pods {
			unit := units[pod.ClassId]
			switch node, some := to[pod.Name]; {
			case !some || node == pod.Node:
			case pod.Node == "":
				made.Placements = append(made.Placements, &contract.Placement{PodUid: pod.Uid, Node: node, Unit: unit})
			case node == "":
				made.Evictions = append(made.Evictions, &contract.Eviction{PodUid: pod.Uid, Node: pod.Node, Unit: unit})
			default:
				made.Moves = append(made.Moves, &contract.Move{PodUid: pod.Uid, FromNode: pod.Node, ToNode: node, Unit: unit})
			}
		}
		return made
	})
}

// runOnN1 has the pods run there.
func runOnN1(pods ...*v1.Pod) {
	for _, pod := range pods {
		pod.Spec.NodeName, pod.Status.Phase = "n1", v1.PodRunning
		setReady(pod, true)
	}
}

// A gang that the stock scheduler leaves pending comes once others have moved: whole, to the nodes of its plan.
func TestAGangComesOnceOthersHaveMoved(t *testing.T) {
	group := knowsGroups(t, 2)
	resident := testPod("resident", 2, 0)
	runOnN1(resident)
	c := startCluster(t, sends(map[string]string{"resident": "n3", "gang-0": "n1", "gang-1": "n2"}), nil, group, resident,
		testNode("n1", 4), testNode("n2", 4), testNode("n3", 2))

	c.add(members(2, 3)...)
	c.reaches(packingplan.Completed)

	nodes, steps := c.nodesOf("gang"), c.plansOf()[0].Status.Steps
	slices.Sort(nodes)
	if !slices.Equal(nodes, []string{"n1", "n2"}) || !slices.Equal(c.evictions(), []string{"resident"}) {
		t.Errorf("nodes %v, evicted %v", nodes, c.evictions())
	}
	for _, step := range steps {
		if (step.Unit == "gang/default/group") != (step.From == "") {
			t.Errorf("the step of %s is of unit %q", step.Pod, step.Unit)
		}
	}
}

// A process dies when it has evicted a gang, before a controller has made any replacement. The next one keeps their places:
// without them the gang would be gone for a pod that gained its room.
func TestTheNextProcessFinishesTheMoveOfAGang(t *testing.T) {
	group := knowsGroups(t, 2)
	pods := members(2, 2)
	runOnN1(pods...)
	c := startCluster(t, sends(map[string]string{"gang-0": "n2", "gang-1": "n3", "high": "n1"}),
		func(c *cluster) { c.withoutControllers = true }, group, pods[0], pods[1],
		testNode("n1", 4), testNode("n2", 2), testNode("n3", 2))
	c.add(testPod("high", 4, 9))
	c.eventually("the gang has left", func() bool { return len(c.evictions()) == 2 })

	c.restart()
	c.advanceClock(2 * time.Second)
	early := fmt.Sprint(c.phases())
	for _, pod := range pods {
		c.add(c.replacement(pod))
	}
	c.reaches(packingplan.Completed)

	nodes := c.nodesOf("gang")
	slices.Sort(nodes)
	if early != fmt.Sprint(map[packingplan.Phase]int{packingplan.Executing: 1}) {
		t.Errorf("without replacements the plans were %s", early)
	}
	if !slices.Equal(nodes, []string{"n2", "n3"}) || c.nodeOf("high") != "n1" || len(c.evictions()) != 2 {
		t.Errorf("nodes %v, evicted %v; %s", nodes, c.evictions(), c.state())
	}
}
