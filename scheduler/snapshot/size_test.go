package snapshot_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stowage/stowage/scheduler/snapshot"
)

// aLargeCluster has 5,000 nodes and 50,000 pods of 400 workloads, a quarter of them StatefulSets.
func aLargeCluster() snapshot.Input {
	input := snapshot.Input{ID: "s", Rules: rules(), Now: noon}
	for i := range 5000 {
		node := aNode(fmt.Sprintf("node-%d", i), "64", "256Gi")
		node.Labels = map[string]string{}
		for label := range 15 {
			node.Labels[fmt.Sprintf("example.com/label-%d", label)] = fmt.Sprintf("value-%d", i)
		}
		input.Nodes = append(input.Nodes, node)
	}
	for i := range 50_000 {
		workload := fmt.Sprintf("workload-%d", i%400)
		pod := aPod(fmt.Sprintf("%s-%d", workload, i), fmt.Sprintf("node-%d", i%5000), func(pod *v1.Pod) {
			pod.Namespace = fmt.Sprintf("team-%d", i%40)
			pod.Labels = map[string]string{"app": workload, "pod-template-hash": "5d4f"}
			pod.OwnerReferences[0].UID, pod.OwnerReferences[0].Name = types.UID(workload), workload
			pod.Status.StartTime = &longAgo
			if i%4 == 0 {
				pod.OwnerReferences[0].Kind = "StatefulSet"
				pod.Labels["statefulset.kubernetes.io/pod-name"] = pod.Name
			}
			if i%3 == 0 {
				pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
					WhenUnsatisfiable: v1.DoNotSchedule,
					LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": workload}}}}
			}
		})
		input.Pods = append(input.Pods, pod)
	}
	for i := range 400 {
		budget := aBudget("budget", fmt.Sprintf("workload-%d", i), 1)
		budget.Namespace, budget.Name = fmt.Sprintf("team-%d", i%40), fmt.Sprintf("b-%d", i)
		input.Budgets = append(input.Budgets, budget)
	}
	return input
}

// Whatever the size: one class a workload, whatever the selectors of a stranger read.
func TestALargeClusterHasAClassAWorkload(t *testing.T) {
	input := aLargeCluster()
	input.Pods = append(input.Pods, aPod("stranger", "node-0", func(pod *v1.Pod) {
		pod.Namespace = "elsewhere"
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"statefulset.kubernetes.io/pod-name": "workload-0"}}}}}}
	}))
	s := snapshot.Build(input)
	if got := len(s.Message.PodClasses); got > 1200 {
		t.Errorf("%d classes of 400 workloads, want three a workload at most", got)
	}
}
