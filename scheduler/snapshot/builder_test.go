package snapshot_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/snapshot"
)

const ourScheduler = "default-scheduler"

func aNode(name string, cpu, memory string) *v1.Node {
	node := testobjects.Node(name, cpu, memory).Obj()
	node.Labels = nil // each test has its own
	return node
}

// aPod is a running pod of a ReplicaSet; node "" makes it pending.
func aPod(name, node string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := testobjects.Pod("a", "100m", "1Gi").Name(name).UID("uid-" + name).Node(node).Phase(v1.PodRunning).Obj()
	pod.OwnerReferences[0].APIVersion = "" // ownedBy changes the kind alone
	if node == "" {
		pod.Status.Phase = v1.PodPending
	}
	return testobjects.With(pod, changes...)
}

// aBudget covers the pods of an app; every pod here is of app a.
func aBudget(name, app string, allowed int32) *policyv1.PodDisruptionBudget {
	return testobjects.Budget(name, "app", app, allowed)
}

// n1 is a node of 4 CPUs and 8 GiB.
func n1() []*v1.Node { return []*v1.Node{aNode("n1", "4", "8Gi")} }

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
