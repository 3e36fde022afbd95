package snapshot

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/resources"
)

// HourlyPrice is the label of a node that tells what an hour of it costs, as in "0.384".
const HourlyPrice = "stowage.dev/hourly-price"

// largestPriceMicros is the most that the optimiser takes.
var largestPriceMicros = *resource.NewScaledQuantity(1<<43, resource.Micro)

// priceOf is 0 where no price is told, or none that makes sense: a node is sent whatever its price is.
func priceOf(node *v1.Node) int64 {
	price, err := resource.ParseQuantity(node.Labels[HourlyPrice])
	if err != nil || price.Sign() < 0 || price.Cmp(largestPriceMicros) > 0 {
		return 0
	}
	return price.ScaledValue(resource.Micro)
}

// keepers are the annotations with which autoscalers leave a node alone, whatever runs there, if they are "true".
var keepers = []string{"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/scale-down-disabled"}

// IrremovableReason is the annotation for which autoscalers do not remove the node, or "". One that is being deleted goes
// anyhow.
func IrremovableReason(node *v1.Node) string {
	if node.DeletionTimestamp == nil {
		for _, annotation := range keepers {
			if node.Annotations[annotation] == "true" {
				return annotation
			}
		}
	}
	return ""
}

// nodeMessage is a node in the contract's form. One that is being deleted takes no further pods, whatever they tolerate.
func nodeMessage(node *v1.Node, capacity resources.Vector) *contract.Node {
	message := &contract.Node{
		Name:          node.Name,
		Allocatable:   capacity.Message(),
		Labels:        node.Labels,
		Unschedulable: node.Spec.Unschedulable || node.DeletionTimestamp != nil,
		Taints: converted(node.Spec.Taints, func(taint v1.Taint) *contract.Taint {
			return &contract.Taint{Key: taint.Key, Value: taint.Value, Effect: string(taint.Effect)}
		}),
		HourlyPriceMicros: priceOf(node),
		IrremovableReason: IrremovableReason(node),
	}
	if node.DeletionTimestamp != nil {
		message.Allocatable.Pods = 0
	}
	return message
}

// closed is the message of a node that takes no pods, and that nothing is saved by emptying.
func closed(node *contract.Node) *contract.Node {
	shut := proto.CloneOf(node)
	shut.Allocatable.Pods, shut.Unschedulable, shut.HourlyPriceMicros = 0, true, 0
	return shut
}

// nodeLine is all of a node that can change an answer. Amounts of devices change with what pods ask for; the devices
// themselves do not.
func nodeLine(node *contract.Node, capacity resources.Vector, devices string) string {
	allocatable := node.Allocatable
	if counted := capacity.WithoutDevices().Message(); len(counted.Extended) < len(allocatable.Extended) {
		counted.Pods = allocatable.Pods
		allocatable = counted
	}
	encoded, err := json.Marshal([]any{node.Name, allocatable, node.Labels, node.Taints, node.Unschedulable, devices})
	if err != nil {
		return node.Name // plain messages always marshal
	}
	return string(encoded)
}

// fitNodes leaves out labels that no class reads where the nodes are too large. It makes new messages: those of the nodes
// are kept from snapshot to snapshot.
func (s *Snapshot) fitNodes(sizes []int) {
	reads := sync.OnceValue(func() sets.Set[string] {
		keys := nodeLabelsReadBy(s.Message.PodClasses)
		for _, gang := range s.Message.Gangs {
			keys.Insert(gang.TopologyKey)
		}
		return keys
	})
	fit(sizes, largestNodes, func(i int) int {
		reduced := proto.CloneOf(s.Message.Nodes[i])
		maps.DeleteFunc(reduced.Labels, func(key, _ string) bool { return !reads().Has(key) })
		s.Message.Nodes[i] = reduced
		return proto.Size(reduced)
	})
}

// nodeLabelsReadBy are the keys of the node labels that decide where pods of the classes may run.
func nodeLabelsReadBy(classes []*contract.PodClass) sets.Set[string] {
	keys := sets.New[string]()
	for _, class := range classes {
		keys.Insert(slices.Collect(maps.Keys(class.NodeSelector))...)
		terms := slices.Clone(class.RequiredNodeAffinity)
		for _, volume := range class.VolumeNodeAffinity {
			terms = append(terms, volume.Terms...)
		}
		for _, preferred := range class.PreferredNodeAffinity {
			terms = append(terms, preferred.Term)
		}
		for _, term := range terms {
			for _, requirement := range term.MatchExpressions {
				keys.Insert(requirement.Key)
			}
		}
		near := slices.Concat(class.RequiredPodAffinity, class.RequiredPodAntiAffinity)
		for _, preferred := range slices.Concat(class.PreferredPodAffinity, class.PreferredPodAntiAffinity) {
			near = append(near, preferred.Term)
		}
		for _, term := range near {
			keys.Insert(term.TopologyKey)
		}
		for _, spread := range class.TopologySpread {
			keys.Insert(spread.TopologyKey)
		}
	}
	return keys
}
