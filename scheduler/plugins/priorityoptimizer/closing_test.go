package priorityoptimizer

import (
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-base/metrics/testutil"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/waiting"
)

// A plan that ends while the API server is down must not look active or hold room for ever, and no other plan may start
// before its final status is written.
func TestFinalStatusIsWrittenOnceTheAPIServerIsBack(t *testing.T) {
	c := slowTermination(t)
	c.set(func(c *cluster) { c.apiDown = true })
	c.endPods()
	c.eventually("the plan is carried out", func() bool { return c.nodeOf("three") != "" && c.plugin.Execution.Load() == nil })
	c.add(testPod("four", 4, 0))
	c.advanceClock(5 * time.Second)

	before, free := c.phases(), c.ledger.Empty()
	c.set(func(c *cluster) { c.apiDown = false })
	c.eventually("the final status is written", func() bool {
		return c.phases()[packingplan.Completed] == 1 && c.ledger.Empty()
	})

	if before[packingplan.Executing] != 1 || len(before) != 1 || free {
		t.Errorf("before the server was back: %v, nothing held: %t", before, free)
	}
}

// An alert on plans that stay open needs to know since when: while one is carried out, and until its end is recorded.
func TestStartOfTheOpenPlanIsShown(t *testing.T) {
	metrics.Register()
	clock := testingclock.NewFakeClock(time.Unix(1_000_000, 0))
	p := &Plugin{Gate: &gate.Gate{Waiting: waiting.Table{Clock: clock}}}
	began := metav1.NewTime(clock.Now())
	open := &packingplan.Record{}
	open.Status.StartTime = &began
	for text, c := range map[string]struct {
		loop loop
		want float64
	}{
		"no plan":                  {loop{records: &records.Plans{}}, 0},
		"a plan is carried out":    {loop{records: &records.Plans{}, placing: &execution.ActivePlan{Record: open}}, 1_000_000},
		"its end is not recorded":  {loop{records: &records.Plans{Unwritten: []*packingplan.Record{open}}}, 1_000_000},
		"it never came to a start": {loop{records: &records.Plans{Unwritten: []*packingplan.Record{{}}}}, 0},
	} {
		c.loop.plugin = p
		c.loop.measure()
		if got, err := testutil.GetGaugeMetricValue(metrics.OpenPlanStart); err != nil || got != c.want {
			t.Errorf("%s: shown %g (%v), want %g", text, got, err, c.want)
		}
	}
}

// total is what is held against pods outside the plan on all nodes, in GB.
func (c *cluster) total() (sum int64) {
	for held := range maps.Values(c.kept()) {
		sum += held
	}
	return sum
}

// When a new process starts, the pods of a plan's moves may be gone and their replacements not created yet: only the
// plan's object says what they need.
func TestNextProcessHoldsTheRoomOfAnOpenPlan(t *testing.T) {
	c := startCluster(t, answers(solveFigureOne), func(c *cluster) { c.withoutControllers = true }, testNode("n1", 4), testNode("n2", 4))
	c.addInTurn(testPod("one", 2, 0), testPod("two", 2, 0))
	c.add(testPod("three", 4, 0))
	c.eventually("the pod is evicted", func() bool { return len(c.evictions()) == 1 })

	c.stop()
	before := c.ledger
	c.standby = true
	c.begin()
	c.eventually("the successor holds room", func() bool { return c.total() >= 2 })

	if c.ledger == before || c.phases()[packingplan.Executing] != 1 {
		t.Errorf("the same ledger: %t; %s", c.ledger == before, c.state())
	}
}

// Pods of one workload differ if a reservation selects only some of them: its room keeps the others out, and a plan that
// confuses them fails.
func TestPodsThatAReservationSelectsAreAClassOfTheirOwn(t *testing.T) {
	c := startCluster(t, nothing, manual, testNode("n1", 4))
	chosen, other := testPod("web", 9, 0), testPod("web", 9, 0)
	chosen.Labels, other.Labels = map[string]string{"app": "leader"}, map[string]string{"app": "follower"}
	other.Name, other.UID = "other", "uid-other"
	c.add(chosen, other)
	classes := func() sets.Set[string] {
		found := sets.New[string]()
		for _, pod := range c.plugin.view.Snapshot("s").Pods {
			found.Insert(pod.Class)
		}
		return found
	}
	c.eventually("both are known", func() bool { return c.plugin.view.Snapshot("s").Pending() == 2 })
	before := classes()

	room := testobjects.Value(reservation.Read(testobjects.Reservation("room", "n1", v1.ResourceMemory, "1G", "leader")))(c.t)
	c.ledger.Put(room)

	if after := classes(); len(before) != 1 || len(after) != 2 {
		t.Errorf("%d classes before, %d with the reservation", len(before), len(after))
	}
}
