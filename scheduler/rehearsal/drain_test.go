package rehearsal_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2/ktesting"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/rehearsal"
)

var emptying = v1.Taint{Key: "stowage.dev/emptying", Value: "p", Effect: v1.TaintEffectNoSchedule}

// drain empties the nodes, each of which has the named pods.
func (c *testCluster) drain(t *testing.T, nodes ...[]string) rehearsal.Drained {
	t.Helper()
	var order []rehearsal.Emptied
	for _, node := range nodes {
		one := rehearsal.Emptied{Node: node[0]}
		for _, name := range node[1:] {
			one.Pods = append(one.Pods, c.pod(name))
		}
		order = append(order, one)
	}
	_, ctx := ktesting.NewTestContext(t)
	drained := testobjects.Value(c.rehearser.Empty(ctx, order, c.closed, emptying))(t)
	return drained
}

// Another scheduler puts each replacement where the profile's own plugins would, never on a node that is being emptied.
func TestADrainFindsAPlaceForEachPod(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "a2", "b1"),
		pod("one", "a1", "1G"), pod("two", "a2", "1G"), pod("stays", "b1", "1G"))

	got := at.drain(t, []string{"a1", "one"}, []string{"a2", "two"})

	if len(got.Stuck) != 0 || got.Places["one"] != "b1" || got.Places["two"] != "b1" {
		t.Errorf("drained %+v", got)
	}
}

// A node of which not all pods find a place keeps all of them, and takes pods again; what it would have taken elsewhere is
// left to the next node.
func TestAStuckNodeKeepsItsPods(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "a2", "b1"),
		pod("one", "a1", "1G"), pod("big", "a1", "3G"), pod("two", "a2", "2G"), pod("stays", "b1", "2G"))

	got := at.drain(t, []string{"a1", "one", "big"}, []string{"a2", "two"})

	if len(got.Stuck) != 1 || !strings.Contains(got.Stuck["a1"], "default/big") || !strings.Contains(got.Stuck["a1"], "Insufficient memory") {
		t.Errorf("stuck %v", got.Stuck)
	}
	if len(got.Places) != 1 || got.Places["two"] != "b1" {
		t.Errorf("places %v", got.Places)
	}
	if snapshotAgain := at.drain(t, []string{"a2", "two"}); snapshotAgain.Places["two"] != "b1" {
		t.Errorf("the rehearsal has changed the cluster: %+v", snapshotAgain)
	}
}

// No node is saved by moving pods to one that was not in use. A pod of a DaemonSet does not make it so.
func TestAPodThatWouldGoToAnIdleNodeStays(t *testing.T) {
	daemon := pod("daemon", "b1", "1G", func(pod *v1.Pod) { pod.OwnerReferences[0].Kind = "DaemonSet" })
	at := newCluster(t, &refusing{}, nodes("a1", "b1"), pod("one", "a1", "1G"), daemon)

	got := at.drain(t, []string{"a1", "one"})

	if !strings.Contains(got.Stuck["a1"], "not in use") || len(got.Places) != 0 {
		t.Errorf("drained %+v", got)
	}
}

// Stock scoring likes idle nodes best; closed while the plan lasts, they take nothing from those that are in use.
func TestAPodGoesToANodeInUseWhereIdleOnesAreClosed(t *testing.T) {
	at := newCluster(t, &refusing{}, nodes("a1", "b1", "c1"), pod("one", "a1", "1G"), pod("stays", "c1", "1G"))

	open := at.drain(t, []string{"a1", "one"})
	at.closed = []string{"b1"}
	closed := at.drain(t, []string{"a1", "one"})

	if len(open.Places) != 0 || closed.Places["one"] != "c1" {
		t.Errorf("open: %+v, closed: %+v", open, closed)
	}
}
