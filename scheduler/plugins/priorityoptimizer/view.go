package priorityoptimizer

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// view is the state of the cluster: what the informers show, and the pods that this scheduler
// is just binding. The scheduler's own snapshot is valid within a scheduling cycle only.
type view struct {
	nodes      corelisters.NodeLister
	pods       corelisters.PodLister
	namespaces corelisters.NamespaceLister
	budgets    policylisters.PodDisruptionBudgetLister
	volumes    volumes
	now        func() time.Time
	inFlight   *inFlight
	// held is the room that is reserved on each node, beside that of plans.
	held  func() map[string]resources.Vector
	rules snapshot.Rules
}

func newView(handle fwk.Handle, args *PriorityOptimizerArgs, inFlight *inFlight) *view {
	factory := handle.SharedInformerFactory()
	return &view{
		nodes:      factory.Core().V1().Nodes().Lister(),
		pods:       factory.Core().V1().Pods().Lister(),
		namespaces: factory.Core().V1().Namespaces().Lister(),
		budgets:    factory.Policy().V1().PodDisruptionBudgets().Lister(),
		volumes: volumes{
			claims:  factory.Core().V1().PersistentVolumeClaims().Lister(),
			volumes: factory.Core().V1().PersistentVolumes().Lister(),
			nodes:   factory.Storage().V1().CSINodes().Lister(),
		},
		now:      time.Now,
		inFlight: inFlight,
		held:     func() map[string]resources.Vector { return nil },
		rules:    rulesOf(args, handle.ProfileName()),
	}
}

// rulesOf are the rules of arguments that are valid.
func rulesOf(args *PriorityOptimizerArgs, schedulerName string) snapshot.Rules {
	rules := snapshot.Rules{
		SchedulerName:       schedulerName,
		ProtectedNamespaces: sets.New(args.ProtectedNamespaces...),
		MinAge:              seconds(*args.MinPodAgeSeconds),
		LocalStorage:        *args.EvictLocalStorage,
	}
	if args.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(args.NamespaceSelector)
		if err != nil {
			selector = labels.Nothing() // fail closed
		}
		rules.Namespaces = selector
	}
	return rules
}

func (v *view) snapshot(id string) (*snapshot.Snapshot, error) {
	nodes, err := v.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	// In this order a pod whose binding completes meanwhile is seen twice, not missed.
	reserved := v.inFlight.all()
	pods, err := v.pods.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	budgets, err := v.budgets.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing disruption budgets: %w", err)
	}
	namespaces, err := v.namespaces.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	volumes, err := v.volumes.now()
	if err != nil {
		return nil, fmt.Errorf("listing CSI nodes: %w", err)
	}
	return snapshot.Build(snapshot.Input{
		ID: id, Nodes: nodes, Pods: pods, Budgets: budgets, Namespaces: namespaces,
		Volumes: volumes, Now: v.now(), Reserved: reserved, Held: v.held(), Rules: v.rules,
	}), nil
}

// nodeState is the state of a node as snapshots tell it.
func (v *view) nodeState(name string) (string, error) {
	node, err := v.nodes.Get(name)
	if err != nil {
		return "", err
	}
	return snapshot.NodeState(node), nil
}

// free is the room on every node, and all pods.
func (v *view) free() (map[string]resources.Vector, []*v1.Pod, error) {
	nodes, err := v.nodes.List(labels.Everything())
	if err != nil {
		return nil, nil, fmt.Errorf("listing nodes: %w", err)
	}
	reserved := v.inFlight.all()
	pods, err := v.pods.List(labels.Everything())
	if err != nil {
		return nil, nil, fmt.Errorf("listing pods: %w", err)
	}
	return snapshot.Free(nodes, pods, reserved), pods, nil
}
