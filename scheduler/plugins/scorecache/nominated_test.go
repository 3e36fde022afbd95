package scorecache

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// nominationCluster is a framework with a few equal nodes, which only nominations change.
type nominationCluster struct {
	t         *testing.T
	framework framework.Framework
	nominated nominated
	change    func(*v1.Pod)
	pods      int
}

// newNominationCluster has a ranking for pods that are changed in this way.
func newNominationCluster(t *testing.T, change func(*v1.Pod)) *nominationCluster {
	t.Helper()
	var nodes []*v1.Node
	for i := range 6 {
		node := nodeOf(fmt.Sprintf("node-%d", i))
		node.Labels = map[string]string{v1.LabelHostname: node.Name, "number": fmt.Sprint(i)}
		nodes = append(nodes, node)
	}
	c := &nominationCluster{t: t, nominated: nominated{to: map[string][]fwk.PodInfo{}}, change: change}
	c.framework = frameworkOf(t, t.Context(), nodes, c.nominated)
	runFullCycle(t, t.Context(), c.framework, c.pod())
	return c
}

func (c *nominationCluster) pod() *v1.Pod {
	pod := numbered(c.pods)
	c.pods++
	c.change(pod)
	return pod
}

// given is the node that the cache gives to the next pod, empty if the pod gets a full cycle.
func (c *nominationCluster) given() string {
	c.t.Helper()
	result, status, _ := c.framework.RunPreFilterPlugins(c.t.Context(), framework.NewCycleState(), c.pod())
	if !status.IsSuccess() {
		c.t.Fatal(status.AsError())
	}
	if result.AllNodes() {
		return ""
	}
	return result.NodeNames.UnsortedList()[0]
}

// nominate fills a node with a pod that is nominated to it.
func (c *nominationCluster) nominate(node string) {
	c.t.Helper()
	pod := plain()
	pod.Name, pod.UID = "nominated", "nominated"
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8")}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		c.t.Fatal(err)
	}
	c.nominated.to[node] = []fwk.PodInfo{info}
}

func asking(p *v1.Pod) {
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
}

// TestANodeIsFilteredAgainWhenTheNominatedPodIsGone: nothing happens to a node when a pod is nominated to it or is
// no more, so no change of the snapshot shows it.
func TestANodeIsFilteredAgainWhenTheNominatedPodIsGone(t *testing.T) {
	c := newNominationCluster(t, asking)
	best := c.given()
	c.nominate(best)
	made := value(t, refreshesTotal.WithLabelValues(causeFirst))
	for range 2 {
		if given := c.given(); given == best {
			t.Fatalf("%s is taken by a nominated pod", best)
		}
	}
	delete(c.nominated.to, best)
	if given := c.given(); given != best {
		t.Errorf("%s is free again, and better than %s", best, given)
	}
	if made := value(t, refreshesTotal.WithLabelValues(causeFirst)) - made; made != 0 {
		t.Error("all of this should be seen by one ranking")
	}
}

// TestANodeThatWasNominatedFromTheStartIsFilteredAgain: this holds as well for one that was not feasible
// when the ranking was made.
func TestANodeThatWasNominatedFromTheStartIsFilteredAgain(t *testing.T) {
	c := newNominationCluster(t, func(p *v1.Pod) { asking(p); towards(p, "5") })
	c.nominate("node-5")
	if given := c.given(); given == "node-5" || given == "" {
		t.Fatalf("node-5 is taken by a nominated pod, %q is given", given)
	}
	delete(c.nominated.to, "node-5")
	if given := c.given(); given != "node-5" && given != "" {
		t.Errorf("node-5 is free again, and preferred to %s", given)
	}
}

// towards makes a pod prefer a node.
func towards(p *v1.Pod, number string) {
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "number", Operator: v1.NodeSelectorOpIn, Values: []string{number}}}}}}}}
}

// TestARankingEndsWithTheNodeThatItsScoresDependOn: all other scores may be relative to a candidate that is refused, so
// the next one is not certainly the best.
func TestARankingEndsWithTheNodeThatItsScoresDependOn(t *testing.T) {
	for cause, change := range map[string]func(*v1.Pod){
		// The only node with the highest score.
		causeFrame: func(p *v1.Pod) { towards(p, "3") },
		// The hosts are weighed by how many there are.
		causeFeasible: func(p *v1.Pod) {
			p.Labels = map[string]string{"app": "a"}
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.ScheduleAnyway,
			}}
		},
	} {
		c := newNominationCluster(t, func(p *v1.Pod) { asking(p); change(p) })
		c.nominate(c.given())
		ended := value(t, retiredTotal.WithLabelValues(cause))
		c.given()
		if ended := value(t, retiredTotal.WithLabelValues(cause)) - ended; ended != 1 {
			t.Errorf("one ranking should end because of %s, %g did", cause, ended)
		}
	}
}
