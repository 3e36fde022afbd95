package planning

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// solveOf is a solve for three nodes with these pods, that may go on for an hour.
func solveOf(pods ...*v1.Pod) *Session {
	var nodes []*v1.Node
	for _, name := range []string{"n1", "n2", "n3"} {
		nodes = append(nodes, testobjects.Node(name, "4", "4G").Obj())
	}
	return &Session{Planner: &Planner{Clock: clock.RealClock{}}, until: time.Now().Add(time.Hour), Record: &packingplan.Record{},
		Snapshot: snapshot.Build(snapshot.Input{ID: "s", Nodes: nodes, Pods: pods, Rules: snapshot.Rules{SchedulerName: v1.DefaultSchedulerName}})}
}

func running(name, on string) *v1.Pod {
	return testobjects.Pod(name, "", "1G").Node(on).Phase(v1.PodRunning).Obj()
}

// Half a unit in a smaller plan would serve nobody.
func TestSmallerPlanLeavesWholeUnitsToTheNextOne(t *testing.T) {
	pod := func(name string, priority int32) *v1.Pod {
		return testobjects.Pod(name, "", "1G").Priority(priority).Obj()
	}
	s := solveOf(pod("low", 0), pod("one", 1), pod("two", 1), pod("high", 2))
	s.Steps = []*packingplan.Step{{PodUID: "low", To: "n1"}, {PodUID: "one", To: "n1", Unit: "gang"},
		{PodUID: "two", To: "n2", Unit: "gang"}, {PodUID: "high", To: "n3"}}

	again := s.shrink(4)
	for _, constrain := range s.constraints {
		constrain(s.Snapshot)
	}

	if !again || len(s.Snapshot.Pods) != 1 || s.Snapshot.Pods["high"] == nil || *s.moveLimit != 2 {
		t.Errorf("left for the smaller plan: %v", s.Snapshot.Pods)
	}
}

// What only made room for a node that is not worth it stays, unless it moves together with what goes.
func TestUnitsThatOnlyMadeRoomAreLeftOutWhole(t *testing.T) {
	for text, row := range map[string]struct {
		unit string
		want int
	}{"by itself": {"", 1}, "with one that goes": {"gang", 2}} {
		s := solveOf(running("goes", "n1"), running("makes-room", "n2"), running("small", "n3"))
		s.Steps = []*packingplan.Step{{PodUID: "goes", From: "n1", To: "n2", Unit: row.unit},
			{PodUID: "makes-room", From: "n2", To: "n3", Unit: row.unit}, {PodUID: "small", From: "n3", To: "n2"}}
		s.Record.Status.Consolidation = &packingplan.Consolidation{Nodes: []packingplan.NodeToEmpty{
			{Name: "n1", State: packingplan.NodePlanned}, {Name: "n3", State: packingplan.NodeNotWorthIt}}}

		s.leaveNodes()

		if len(s.Steps) != row.want || s.Steps[0].PodUID != "goes" {
			t.Errorf("%s: %d steps are left", text, len(s.Steps))
		}
	}
}
