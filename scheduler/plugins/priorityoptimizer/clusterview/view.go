// Package clusterview is the state of the cluster as the plugin sees it: what the informers show, and the pods that this
// scheduler is binding. It takes the snapshots that plans are made from.
package clusterview

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corelisters "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// View is the state of the cluster: what the informers show, and the pods that this scheduler is binding. The scheduler's
// own snapshot is valid within a scheduling cycle only.
type View struct {
	Nodes corelisters.NodeLister
	pods  corelisters.PodLister
	// indexed are the same pods, with controllerIndex and nodeIndex. Only what evicts needs it.
	indexed    cache.Indexer
	namespaces corelisters.NamespaceLister
	budgets    policylisters.PodDisruptionBudgetLister
	volumes    volumes
	// Groups finds pod groups; nil where the scheduler knows of none.
	Groups    snapshot.Groups
	Book      *resources.Book
	Workloads workloads
	Clock     clock.PassiveClock
	// InFlight are the pods that this scheduler is binding.
	InFlight func() map[types.UID]string
	// Held is the room that is reserved on each node, beside that of plans.
	Held func() map[string]resources.Vector
	// OwnerLabels are the labels by which reservations select the pods that may use that room.
	OwnerLabels func() sets.Set[string]
	Rules       snapshot.Rules
	// cache keeps results for unchanged objects from one snapshot to the next. Only the loop takes snapshots.
	cache snapshot.Cache
}

// New returns the view of one profile, with the catalogue of devices that all profiles share; nil: no devices are counted.
func New(handle fwk.Handle, rules snapshot.Rules, devices *resources.Catalogue) (*View, error) {
	if err := devices.Connect(handle); err != nil {
		return nil, err
	}
	factory := handle.SharedInformerFactory()
	return &View{
		Nodes:      factory.Core().V1().Nodes().Lister(),
		pods:       factory.Core().V1().Pods().Lister(),
		namespaces: factory.Core().V1().Namespaces().Lister(),
		budgets:    factory.Policy().V1().PodDisruptionBudgets().Lister(),
		volumes: volumes{
			claims:  factory.Core().V1().PersistentVolumeClaims().Lister(),
			volumes: factory.Core().V1().PersistentVolumes().Lister(),
			nodes:   factory.Storage().V1().CSINodes().Lister(),
		},
		Groups:      minor.Groups(handle),
		Book:        resources.NewBook(handle, devices),
		Workloads:   newWorkloads(factory, !rules.KeepJobs),
		Clock:       clock.RealClock{},
		InFlight:    func() map[types.UID]string { return nil },
		Held:        func() map[string]resources.Vector { return nil },
		OwnerLabels: func() sets.Set[string] { return nil },
		Rules:       rules,
	}, nil
}

// AnyPod selects all pods.
func AnyPod(*v1.Pod) bool { return true }

// Snapshot is the state of the cluster with all its pods.
func (v *View) Snapshot(id string) *snapshot.Snapshot {
	return v.SnapshotUnder(v.Rules, id, AnyPod)
}

// SnapshotUnder is the state under other rules, with only those waiting pods that the condition selects.
func (v *View) SnapshotUnder(rules snapshot.Rules, id string, include func(*v1.Pod) bool) *snapshot.Snapshot {
	// In this order a pod whose binding completes meanwhile is seen twice, not missed.
	reserved := v.InFlight()
	pods := every(v.pods.List)
	include = together(&rules, pods, include)
	var untried []*v1.Pod
	pods = slices.DeleteFunc(pods, func(pod *v1.Pod) bool {
		_, placed := reserved[pod.UID]
		if placed || include(pod) {
			return false
		}
		untried = append(untried, pod)
		return true
	})
	return snapshot.Build(snapshot.Input{
		ID: id, Nodes: every(v.Nodes.List), Pods: pods, Untried: untried, Budgets: every(v.budgets.List),
		Namespaces: every(v.namespaces.List), Volumes: v.volumes.withLimits(), Groups: v.Groups, Book: v.Book,
		Workloads: v.Workloads, Now: v.Clock.Now(), Reserved: reserved, Held: v.Held(), Labels: v.OwnerLabels(), Rules: rules,
		Cache: &v.cache,
	})
}

// together has the condition select the waiting pods of a gang all if it selects one, also one that has come since the
// scheduler tried the others.
func together(rules *snapshot.Rules, pods []*v1.Pod, include func(*v1.Pod) bool) func(*v1.Pod) bool {
	whole := sets.New[string]()
	for _, pod := range pods {
		if pod.Spec.NodeName == "" && include(pod) {
			whole.Insert(rules.Gang(pod))
		}
	}
	if whole.Delete(""); len(whole) == 0 {
		return include
	}
	return func(pod *v1.Pod) bool { return include(pod) || whole.Has(rules.Gang(pod)) }
}

// NodeState is the state of a node as it is in snapshots.
func (v *View) NodeState(name string) (string, error) {
	node, err := v.Nodes.Get(name)
	if err != nil {
		return "", err
	}
	return v.cache.NodeState(v.Book, node), nil
}

// Live is the pod as it is now; nil if it is gone.
func (v *View) Live(pod *v1.Pod) *v1.Pod {
	live, err := v.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil || live.UID != pod.UID {
		return nil
	}
	return live
}

// Exists says whether the pod still exists.
func (v *View) Exists(pod *v1.Pod) bool { return v.Live(pod) != nil }

// Running says whether the pod still takes room on its node.
func (v *View) Running(pod *v1.Pod) bool {
	live := v.Live(pod)
	return live != nil && !podutil.IsPodTerminal(live)
}

// Protected is the rule that forbids a disruption of the pod as it is now, among its siblings and budgets as they are
// now, or "". The plan under way has left so many siblings unplaced.
func (v *View) Protected(pod *v1.Pod, rules snapshot.Rules, unplaced int) string {
	namespace, _ := v.namespaces.Get(pod.Namespace) // nil while it is not known yet
	if reason := snapshot.ProtectedNow(pod, v.Book, v.Groups, namespace, v.Clock.Now(), rules); reason != "" {
		return reason
	}
	if reason := snapshot.KeptAway(pod, v.Book, v.Workloads, rules); reason != "" {
		return reason
	}
	return snapshot.UnbudgetedNow(pod, rules, unplaced, func() []*policyv1.PodDisruptionBudget {
		return every(v.budgets.PodDisruptionBudgets(pod.Namespace).List)
	}, func() []*v1.Pod { return v.OfController(metav1.GetControllerOfNoCopy(pod).UID) })
}

// controllerIndex finds the pods of a controller by its UID, nodeIndex those of a node by its name, and those
// that have none by the empty one.
const (
	controllerIndex = "stowage.dev/controller"
	nodeIndex       = "stowage.dev/node"
)

// IndexPods makes the pods' informer find them by controller and node, unless another profile has done so.
func (v *View) IndexPods(pods cache.SharedIndexInformer) error {
	v.indexed = pods.GetIndexer()
	if _, done := v.indexed.GetIndexers()[controllerIndex]; done {
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

// indexedPods are the pods that an index has under the value. It never fails.
func (v *View) indexedPods(index, value string) (pods []*v1.Pod) {
	objects, _ := v.indexed.ByIndex(index, value)
	for _, object := range objects {
		if pod, ok := object.(*v1.Pod); ok {
			pods = append(pods, pod)
		}
	}
	return pods
}

// OfController are the pods of a controller, whatever their state.
func (v *View) OfController(uid types.UID) []*v1.Pod {
	return v.indexedPods(controllerIndex, string(uid))
}

// Lasting are the pods on a node that would not go with it.
func (v *View) Lasting(node string) []*v1.Pod {
	return slices.DeleteFunc(v.indexedPods(nodeIndex, node), func(pod *v1.Pod) bool {
		return podutil.IsPodTerminal(pod) || snapshot.GoesWithItsNode(pod)
	})
}

// Broken are those of the workloads that have running pods and lack some. A replacement that waits for a node has come,
// whether or not the scheduler has tried it: to find it a node is what plans are for.
func (v *View) Broken(of sets.Set[types.UID]) sets.Set[types.UID] {
	left := sets.New[types.UID]()
	for controller := range of {
		living := slices.DeleteFunc(v.OfController(controller), func(pod *v1.Pod) bool {
			return pod.DeletionTimestamp != nil || podutil.IsPodTerminal(pod)
		})
		if len(living) > 0 && !snapshot.IsWhole(living[0], len(living), v.Workloads) {
			left.Insert(controller)
		}
	}
	return left
}

// WaitingSince is a pod that has been found unschedulable since then, or nil. Times have whole seconds.
func (v *View) WaitingSince(since time.Time) *v1.Pod {
	for _, pod := range v.indexedPods(nodeIndex, "") {
		_, condition := podutil.GetPodCondition(&pod.Status, v1.PodScheduled)
		if pod.DeletionTimestamp == nil && condition != nil && condition.Reason == v1.PodReasonUnschedulable &&
			!condition.LastTransitionTime.Time.Before(since.Truncate(time.Second)) {
			return pod
		}
	}
	return nil
}

// volumes finds volume claims and volumes in the informers.
type volumes struct {
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	nodes   storagelisters.CSINodeLister
	limited sets.Set[string]
}

// withLimits looks up which drivers have limits, once for all pods of a snapshot.
func (v volumes) withLimits() volumes {
	v.limited = sets.New[string]()
	for _, node := range every(v.nodes.List) {
		for _, driver := range node.Spec.Drivers {
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				v.limited.Insert(driver.Name)
			}
		}
	}
	return v
}

// Limited implements snapshot.Volumes.
func (v volumes) Limited(driver string) bool { return v.limited.Has(driver) }

// VolumeClaim implements snapshot.Volumes.
func (v volumes) VolumeClaim(namespace, name string) *v1.PersistentVolumeClaim {
	claim, _ := v.claims.PersistentVolumeClaims(namespace).Get(name) // nil if there is none
	return claim
}

// Volume implements snapshot.Volumes.
func (v volumes) Volume(name string) *v1.PersistentVolume {
	volume, _ := v.volumes.Get(name) // nil if there is none
	return volume
}
