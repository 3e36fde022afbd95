package snapshot_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const ourScheduler = "default-scheduler"

func aNode(name string, cpu, memory string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory),
			v1.ResourcePods: resource.MustParse("110"),
		}},
	}
}

// aPod is a running pod of a ReplicaSet; node "" makes it pending.
func aPod(name, node string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := testobjects.Pod("a", "100m", "1Gi").Name(name).UID("uid-" + name).Node(node).Phase(v1.PodRunning).Obj()
	pod.OwnerReferences[0].APIVersion = "" // ownedBy changes the kind alone
	if node == "" {
		pod.Status.Phase = v1.PodPending
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// aBudget covers the pods of an app; every pod here is of app a.
func aBudget(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

func build(nodes []*v1.Node, pods ...*v1.Pod) *snapshot.Snapshot {
	return snapshot.Build(snapshot.Input{ID: "s", Nodes: nodes, Pods: pods, Rules: rules()})
}

func rules() snapshot.Rules {
	return snapshot.Rules{SchedulerName: ourScheduler, ProtectedNamespaces: sets.New("stowage-system")}
}

func ownedBy(kind string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.OwnerReferences[0].Kind = kind }
}

func priority(value int32) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Priority = &value }
}

func describe(pod *snapshot.Pod) string {
	if pod == nil {
		return "not in the snapshot"
	}
	return fmt.Sprintf("node %q, immovable %q", pod.Node, pod.Immovable)
}
