package scorecache

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// stage is a framework in front of a few equal nodes, on which nothing happens but nominations.
type stage struct {
	t         *testing.T
	framework framework.Framework
	nominated nominated
	change    func(*v1.Pod)
	pods      int
}

// newStage has a ranking for pods that are changed in this way.
func newStage(t *testing.T, change func(*v1.Pod)) *stage {
	t.Helper()
	var nodes []*v1.Node
	for i := range 6 {
		node := nodeOf(fmt.Sprintf("node-%d", i))
		node.Labels = map[string]string{v1.LabelHostname: node.Name, "number": fmt.Sprint(i)}
		nodes = append(nodes, node)
	}
	s := &stage{t: t, nominated: nominated{to: map[string][]fwk.PodInfo{}}, change: change}
	s.framework = frameworkOf(t, t.Context(), nodes, s.nominated)
	goTheFullWay(t, t.Context(), s.framework, s.pod())
	return s
}

func (s *stage) pod() *v1.Pod {
	pod := numbered(s.pods)
	s.pods++
	s.change(pod)
	return pod
}

// given is the node that the cache names for the next pod, empty if that goes the full way.
func (s *stage) given() string {
	s.t.Helper()
	result, status, _ := s.framework.RunPreFilterPlugins(s.t.Context(), framework.NewCycleState(), s.pod())
	if !status.IsSuccess() {
		s.t.Fatal(status.AsError())
	}
	if result.AllNodes() {
		return ""
	}
	return result.NodeNames.UnsortedList()[0]
}

// nominate fills a node with a pod that is nominated to it.
func (s *stage) nominate(node string) {
	s.t.Helper()
	pod := plain()
	pod.Name, pod.UID = "nominated", "nominated"
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8")}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		s.t.Fatal(err)
	}
	s.nominated.to[node] = []fwk.PodInfo{info}
}

func asking(p *v1.Pod) {
	p.Spec.Containers[0].Resources.Requests = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
}

// TestANodeIsLookedAtAgainWhenTheNominatedPodIsGone: nothing happens to a node when a pod is nominated to it or is
// no more, so that no change of the snapshot tells of it.
func TestANodeIsLookedAtAgainWhenTheNominatedPodIsGone(t *testing.T) {
	s := newStage(t, asking)
	best := s.given()
	s.nominate(best)
	made := value(t, refreshesTotal.WithLabelValues(causeFirst))
	for range 2 {
		if given := s.given(); given == best {
			t.Fatalf("%s is taken by a nominated pod", best)
		}
	}
	delete(s.nominated.to, best)
	if given := s.given(); given != best {
		t.Errorf("%s is free again, and better than %s", best, given)
	}
	if made := value(t, refreshesTotal.WithLabelValues(causeFirst)) - made; made != 0 {
		t.Error("all of this should be seen by one ranking")
	}
}

// TestANodeThatWasTakenByANominatedPodFromTheFirstIsLookedAtAgain: this holds as well for one that was not feasible
// when the ranking was made.
func TestANodeThatWasTakenByANominatedPodFromTheFirstIsLookedAtAgain(t *testing.T) {
	s := newStage(t, func(p *v1.Pod) { asking(p); towards(p, "5") })
	s.nominate("node-5")
	if given := s.given(); given == "node-5" || given == "" {
		t.Fatalf("node-5 is taken by a nominated pod, %q is given", given)
	}
	delete(s.nominated.to, "node-5")
	if given := s.given(); given != "node-5" && given != "" {
		t.Errorf("node-5 is free again, and preferred to %s", given)
	}
}

// towards makes a pod prefer a node.
func towards(p *v1.Pod, number string) {
	p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: "number", Operator: v1.NodeSelectorOpIn, Values: []string{number}}}}}}}}
}

// TestARankingEndsWithTheNodeThatItsScoresHangOn: a candidate that is refused may be what all other scores are
// relative to, so that the next in line is not the best for certain.
func TestARankingEndsWithTheNodeThatItsScoresHangOn(t *testing.T) {
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
		s := newStage(t, func(p *v1.Pod) { asking(p); change(p) })
		s.nominate(s.given())
		ended := value(t, retiredTotal.WithLabelValues(cause))
		s.given()
		if ended := value(t, retiredTotal.WithLabelValues(cause)) - ended; ended != 1 {
			t.Errorf("one ranking should end because of %s, %g did", cause, ended)
		}
	}
}
