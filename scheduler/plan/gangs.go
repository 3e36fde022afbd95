package plan

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// gangPrefix begins the names of units that are gangs.
const gangPrefix = "gang/"

// UnitOfGang is the unit of all steps of the gang's pods.
func UnitOfGang(id string) string { return gangPrefix + id }

// checkGangs: enough pods of a gang have a node after the plan, or none has, and all in one domain of its topology. All
// steps of its pods are one unit, and no other pod is in it. All running pods of a gang that leaves whole leave their
// nodes, or none does. What another process has begun is finished, whatever the gang needs by now.
func checkGangs(plan *Plan, on *snapshot.Snapshot) error {
	gangs, classes := map[string]*contract.Gang{}, map[string]string{}
	for _, gang := range on.Message.GetGangs() {
		gangs[gang.GetId()] = gang
	}
	if len(gangs) > 0 {
		for _, class := range on.Message.GetPodClasses() {
			if gangs[class.GetGang()] != nil {
				classes[class.GetId()] = class.GetGang()
			}
		}
	}
	touched := sets.New[string]()
	for _, step := range plan.Steps() {
		id, some := classes[step.Pod.Class]
		switch {
		case some && step.Unit != UnitOfGang(id):
			return refuse(BrokenGang, "pod %s of gang %s is in unit %.64q", name(step.Pod), id, step.Unit)
		case !some && strings.HasPrefix(step.Unit, gangPrefix):
			return refuse(BrokenGang, "pod %s is in unit %.64q, and of no such gang", name(step.Pod), step.Unit)
		case some && !plan.carriedOn.Has(step.Unit):
			touched.Insert(id)
		}
	}
	if len(touched) == 0 {
		return nil
	}
	there, runs, leave, after := map[string]int32{}, map[string]int{}, map[string]int{}, plan.NodesAfter()
	labels := sync.OnceValue(func() map[string]map[string]string { return labelsByNode(on) })
	domains := map[string]sets.Set[string]{}
	for uid, pod := range on.Pods {
		id := classes[pod.Class]
		if !touched.Has(id) || pod.Immovable == snapshot.Terminating {
			continue
		}
		node, changes := after[uid]
		if !changes {
			node = pod.Node
		}
		if node != "" {
			there[id]++
			if key := gangs[id].GetTopologyKey(); key != "" {
				if domains[id] == nil {
					domains[id] = sets.New[string]()
				}
				domains[id].Insert(labels()[node][key])
			}
		}
		if pod.Node != "" {
			runs[id]++
			if node != pod.Node {
				leave[id]++
			}
		}
	}
	for _, id := range sets.List(touched) {
		switch gang := gangs[id]; {
		case there[id] > 0 && there[id] < gang.GetMinCount():
			return refuse(BrokenGang, "%d pods of gang %s would have a node, and it needs %d", there[id], id, gang.GetMinCount())
		case gang.GetTopologyKey() != "" && there[id] > 0 && (len(domains[id]) > 1 || domains[id].Has("")):
			return refuse(BrokenGang, "the pods of gang %s would be in the domains %q of %s, and need one", id,
				sets.List(domains[id]), gang.GetTopologyKey())
		case gang.GetLeavesWhole() && leave[id] > 0 && leave[id] < runs[id]:
			return refuse(BrokenGang, "%d of the %d running pods of gang %s would leave their nodes, and it leaves whole",
				leave[id], runs[id], id)
		}
	}
	return nil
}

func labelsByNode(on *snapshot.Snapshot) map[string]map[string]string {
	labels := map[string]map[string]string{}
	for _, node := range on.Message.GetNodes() {
		labels[node.GetName()] = node.GetLabels()
	}
	return labels
}
