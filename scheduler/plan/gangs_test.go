package plan_test

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// member is a pod of the pod group "g".
func member(name, on string, changes ...func(*v1.Pod)) *v1.Pod {
	inGroup := func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To("g")} }
	return pod(name, on, "1G", 0, append(changes, inGroup)...)
}

// withGang is a cluster with these pods of a gang, and two pods that wait, one of them of high priority.
func withGang(of minor.Group, members ...*v1.Pod) *snapshot.Snapshot {
	s := snapshot.Build(snapshot.Input{
		ID: "s1", Nodes: []*v1.Node{node("n1"), node("n2"), node("n3")},
		Pods:   append(members, pod("high", "", "1G", 9), pod("other", "", "1G", 0)),
		Groups: func(string, string) (minor.Group, bool) { return of, true },
		Rules:  snapshot.Rules{SchedulerName: "default-scheduler"}})
	for _, one := range s.Pods {
		if one.Unsupported = false; one.Immovable == snapshot.Unsupported {
			one.Immovable = ""
		}
	}
	return s
}

// steps are written as pod:from>to, with the unit of the gang for its pods.
func steps(text, unit string) (list []*packingplan.Step) {
	for _, one := range strings.Fields(text) {
		uid, way, _ := strings.Cut(one, ":")
		from, to, _ := strings.Cut(way, ">")
		step := &packingplan.Step{PodUID: uid, From: from, To: to}
		if uid != "high" && uid != "other" {
			step.Unit = unit
		}
		list = append(list, step)
	}
	return list
}

// A gang with too few pods is of no use, and keeps its room from others. One that is broken already may stay as it is.
func TestEnoughPodsOfAGangHaveANodeOrNoneHas(t *testing.T) {
	leaving := func(p *v1.Pod) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Now()}, []string{"test/f"}
	}
	waiting := []*v1.Pod{member("a", ""), member("b", ""), member("c", "")}
	running := []*v1.Pod{member("a", "n1"), member("b", "n2"), member("c", "")}
	broken := []*v1.Pod{member("a", "n1"), member("b", ""), member("c", "")}
	dying := []*v1.Pod{member("a", "n1", leaving), member("b", "n2"), member("c", "")}
	for name, c := range map[string]struct {
		members []*v1.Pod
		least   int32
		steps   string
		want    plan.Reason
	}{
		"enough come":                       {waiting, 2, "a:>n1 b:>n1", ""},
		"more than enough come":             {waiting, 2, "a:>n1 b:>n1 c:>n2", ""},
		"too few come":                      {waiting, 2, "a:>n1", plan.BrokenGang},
		"one more than enough":              {running, 2, "c:>n3", ""},
		"too few stay":                      {running, 2, "high:>n1 a:n1>", plan.BrokenGang},
		"none stays":                        {running, 2, "high:>n1 a:n1> b:n2>", ""},
		"as many as before":                 {running, 2, "high:>n1 a:n1>n3", ""},
		"a broken one is completed":         {broken, 3, "b:>n1 c:>n2", ""},
		"a broken one is not completed":     {broken, 3, "b:>n1", plan.BrokenGang},
		"a broken one is moved":             {broken, 3, "high:>n1 a:n1>n3", plan.BrokenGang},
		"a broken one stays":                {broken, 3, "high:>n1", ""},
		"a broken one leaves":               {broken, 3, "high:>n1 a:n1>", ""},
		"a pod that terminates is no pod":   {dying, 3, "c:>n3", plan.BrokenGang},
		"enough beside one that terminates": {dying, 2, "c:>n3", ""},
	} {
		s := withGang(minor.Group{Gang: true, MinCount: c.least}, c.members...)

		_, err := plan.Check(steps(c.steps, "gang/default/g"), s, plan.Strict)

		if got := reasonOf(t, err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A group may need one rack, or one zone. Without the topology's label a node is in none.
func TestAllPodsOfAGangAreInOneDomainOfItsTopology(t *testing.T) {
	racks := map[string]string{"n1": "a", "n2": "a"}
	for text, want := range map[string]plan.Reason{
		"b:>n2 c:>n1": "", "b:>n1 c:>n3": plan.BrokenGang, "high:>n3 a:n1>": "", "high:>n3 a:n1>n2 b:>n3": plan.BrokenGang,
	} {
		s := withGang(minor.Group{MinCount: 1, TopologyKey: "rack"}, member("a", "n1"), member("b", ""), member("c", ""))
		for _, node := range s.Message.Nodes {
			if rack, some := racks[node.Name]; some {
				node.Labels = map[string]string{"rack": rack}
			}
		}

		_, err := plan.Check(steps(text, "gang/default/g"), s, plan.Strict)

		if got := reasonOf(t, err); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// The disruption mode of a group may say that its running pods are disrupted together.
func TestAGangThatLeavesWholeIsNotDividedByAMove(t *testing.T) {
	for text, want := range map[string]plan.Reason{
		"high:>n1 a:n1>n3": plan.BrokenGang, "high:>n1 a:n1>n3 b:n2>n3": "", "high:>n1 a:n1> b:n2>n3": "", "high:>n1": "",
		"c:>n3": "",
	} {
		s := withGang(minor.Group{MinCount: 1, LeavesWhole: true}, member("a", "n1"), member("b", "n2"), member("c", ""))

		_, err := plan.Check(steps(text, "gang/default/g"), s, plan.Strict)

		if got := reasonOf(t, err); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Pods of a gang that were carried out apart would wait for each other, and hold the room of others.
func TestAllStepsOfAGangAreOneUnit(t *testing.T) {
	for name, c := range map[string]struct {
		unit, others string
	}{
		"each pod by itself": {}, "another unit": {"gang/default/h", ""},
		"with another pod": {"gang/default/g", "gang/default/g"}, "a pod of no gang": {"gang/default/g", "gang/default/none"},
	} {
		s := withGang(minor.Group{Gang: true, MinCount: 2}, member("a", ""), member("b", ""))
		made := steps("a:>n1 b:>n1 other:>n2", c.unit)
		made[2].Unit = c.others

		_, err := plan.Check(made, s, plan.Strict)

		if got := reasonOf(t, err); got != plan.BrokenGang {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a former process has begun is finished: half a gang is worse than a gang that needs more by now, or than a
// disruption that gains nothing any more.
func TestTheRestOfAUnitThatHasBegunFollows(t *testing.T) {
	s := withGang(minor.Group{Gang: true, MinCount: 3}, member("a", "n1"), member("b", "n2"), member("c", ""))
	rest := steps("a:n1>n3", "gang/default/g")

	_, fresh := plan.Check(rest, s, plan.Strict)
	_, begun := plan.Check(rest, s, plan.Strict, "gang/default/g")

	if reasonOf(t, fresh) != plan.BrokenGang || begun != nil {
		t.Errorf("a fresh plan: %v; one that was begun: %v", fresh, begun)
	}
}
