package priorityoptimizer

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// view is the state of the cluster: what the informers show, and the pods that this scheduler is binding. The scheduler's
// own snapshot is valid within a scheduling cycle only.
type view struct {
	nodes corelisters.NodeLister
	pods  corelisters.PodLister
	// indexed are the same pods, with controllerIndex and nodeIndex. Only what evicts needs it.
	indexed    cache.Indexer
	namespaces corelisters.NamespaceLister
	budgets    policylisters.PodDisruptionBudgetLister
	volumes    volumes
	book       *resources.Book
	workloads  workloads
	now        func() time.Time
	// inFlight are the pods that this scheduler is binding.
	inFlight func() map[types.UID]string
	// held is the room that is reserved on each node, beside that of plans.
	held func() map[string]resources.Vector
	// ownerLabels are the labels by which reservations select the pods that may use that room.
	ownerLabels func() sets.Set[string]
	rules       snapshot.Rules
	// cache keeps results for unchanged objects from one snapshot to the next. Only the loop takes snapshots.
	cache snapshot.Cache
}

func newView(handle fwk.Handle, args *PriorityOptimizerArgs) *view {
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
		book:        resources.NewBook(handle),
		workloads:   newWorkloads(factory, args.EvictJobs),
		now:         time.Now,
		inFlight:    func() map[types.UID]string { return nil },
		held:        func() map[string]resources.Vector { return nil },
		ownerLabels: func() sets.Set[string] { return nil },
		rules:       rulesOf(args, handle.ProfileName()),
	}
}

// rulesOf are the rules of arguments that are valid.
func rulesOf(args *PriorityOptimizerArgs, schedulerName string) snapshot.Rules {
	rules := snapshot.Rules{
		SchedulerName:       schedulerName,
		ProtectedNamespaces: sets.New(args.ProtectedNamespaces...),
		MinAge:              seconds(args.MinPodAgeSeconds),
		MaxGracePeriod:      seconds(args.MaxGracePeriodSeconds),
		LocalStorage:        args.EvictLocalStorage,
		KeepJobs:            !args.EvictJobs,
		KeepStatefulSets:    !args.EvictStatefulSets,
		KeepSingletons:      !args.EvictSingletons,
		KeepNotReady:        !args.EvictNotReady,
		KeepRollouts:        !args.EvictDuringRollout,
	}
	rules.Namespaces = selectorOf(args.NamespaceSelector)
	return rules
}

func anyPod(*v1.Pod) bool { return true }

// snapshot is the state of the cluster with all its pods.
func (v *view) snapshot(id string) (*snapshot.Snapshot, error) {
	return v.snapshotUnder(v.rules, id, anyPod)
}

// snapshotUnder is the state under other rules, with only those waiting pods that the condition selects.
func (v *view) snapshotUnder(rules snapshot.Rules, id string, include func(*v1.Pod) bool) (*snapshot.Snapshot, error) {
	nodes, err := v.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	// In this order a pod whose binding completes meanwhile is seen twice, not missed.
	reserved := v.inFlight()
	pods, err := v.pods.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var untried []*v1.Pod
	pods = slices.DeleteFunc(pods, func(pod *v1.Pod) bool {
		_, placed := reserved[pod.UID]
		if placed || include(pod) {
			return false
		}
		untried = append(untried, pod)
		return true
	})
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
		ID: id, Nodes: nodes, Pods: pods, Untried: untried, Budgets: budgets, Namespaces: namespaces,
		Volumes: volumes, Book: v.book, Workloads: v.workloads, Now: v.now(), Reserved: reserved,
		Held: v.held(), Labels: v.ownerLabels(), Rules: rules, Cache: &v.cache,
	}), nil
}

// nodeState is the state of a node as it is in snapshots.
func (v *view) nodeState(name string) (string, error) {
	node, err := v.nodes.Get(name)
	if err != nil {
		return "", err
	}
	return v.cache.NodeState(v.book, node), nil
}

// live is the pod as it is now; nil if it is gone.
func (v *view) live(pod *v1.Pod) *v1.Pod {
	live, err := v.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || live.UID != pod.UID {
		return nil
	}
	return live
}

// exists says whether the pod still exists.
func (v *view) exists(pod *v1.Pod) bool { return v.live(pod) != nil }

// running says whether the pod still takes room on its node.
func (v *view) running(pod *v1.Pod) bool {
	live := v.live(pod)
	return live != nil && !podutil.IsPodTerminal(live)
}

// protected is the rule that forbids a disruption of the pod as it is now, among its siblings and budgets as they are
// now, or "". The plan under way has left so many siblings unplaced. A lister fails only where there is none, the index
// never.
func (v *view) protected(pod *v1.Pod, rules snapshot.Rules, unplaced int) string {
	namespace, err := v.namespaces.Get(pod.Namespace)
	if err != nil {
		namespace = nil // it is not known yet
	}
	if reason := snapshot.ProtectedNow(pod, namespace, v.now(), rules); reason != "" {
		return reason
	}
	if reason := snapshot.KeptAway(pod, v.workloads, rules); reason != "" {
		return reason
	}
	return snapshot.UnbudgetedNow(pod, rules, unplaced, func() []*policyv1.PodDisruptionBudget {
		budgets, _ := v.budgets.PodDisruptionBudgets(pod.Namespace).List(labels.Everything())
		return budgets
	}, func() []*v1.Pod { return v.ofController(metav1.GetControllerOfNoCopy(pod).UID) })
}

// ofController are the pods of a controller, whatever their state. The index never fails.
func (v *view) ofController(uid types.UID) (pods []*v1.Pod) {
	objects, _ := v.indexed.ByIndex(controllerIndex, string(uid))
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// controllerIndex finds the pods of a controller by its UID, nodeIndex those of a node by its name, and those
// that have none by the empty one.
const (
	controllerIndex = "stowage.dev/controller"
	nodeIndex       = "stowage.dev/node"
)

// indexPods makes the pods' informer find them by controller and node, unless another profile has done so.
func indexPods(pods cache.SharedIndexInformer) error {
	if _, done := pods.GetIndexer().GetIndexers()[controllerIndex]; done {
		return nil
	}
	return pods.AddIndexers(cache.Indexers{nodeIndex: func(object any) ([]string, error) {
		if pod, ok := object.(*v1.Pod); ok {
			return []string{pod.Spec.NodeName}, nil
		}
		return nil, nil
	}, controllerIndex: func(object any) ([]string, error) {
		if pod, ok := object.(*v1.Pod); ok {
			if controller := metav1.GetControllerOfNoCopy(pod); controller != nil {
				return []string{string(controller.UID)}, nil
			}
		}
		return nil, nil
	}})
}

// volumes finds claims and volumes in the informers.
type volumes struct {
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	nodes   storagelisters.CSINodeLister
	limited sets.Set[string]
}

// now looks up which drivers have limits, once for all pods of a snapshot.
func (v volumes) now() (volumes, error) {
	nodes, err := v.nodes.List(labels.Everything())
	v.limited = sets.New[string]()
	for _, node := range nodes {
		for _, driver := range node.Spec.Drivers {
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				v.limited.Insert(driver.Name)
			}
		}
	}
	return v, err
}

// Limited implements snapshot.Volumes.
func (v volumes) Limited(driver string) bool { return v.limited.Has(driver) }

// Claim implements snapshot.Volumes. A lister fails only where there is none.
func (v volumes) Claim(namespace, name string) *v1.PersistentVolumeClaim {
	claim, err := v.claims.PersistentVolumeClaims(namespace).Get(name)
	if err != nil {
		return nil
	}
	return claim
}

// Volume implements snapshot.Volumes.
func (v volumes) Volume(name string) *v1.PersistentVolume {
	volume, err := v.volumes.Get(name)
	if err != nil {
		return nil
	}
	return volume
}

// Observer takes the snapshots that the plugin would send to the optimiser while no pod is being bound and nothing is
// reserved. It has no clock, so no pod is too young for it.
type Observer struct{ view *view }

// NewObserver must be called before the handle's informers are started. The snapshots are for plans that consolidate, or
// for others.
func NewObserver(handle fwk.Handle, args *PriorityOptimizerArgs, consolidates bool) *Observer {
	observer := &Observer{newView(handle, args)}
	observer.view.rules.InTurn = consolidates
	observer.view.now = func() time.Time { return time.Time{} }
	return observer
}

// Snapshot is the state of the cluster now.
func (o *Observer) Snapshot(id string) (*snapshot.Snapshot, error) { return o.view.snapshot(id) }
