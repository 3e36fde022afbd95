package oddobjects_test

import (
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// world is one small cluster.
type world struct {
	nodes      []*v1.Node
	pods       []*v1.Pod
	budgets    []*policyv1.PodDisruptionBudget
	namespaces []*v1.Namespace
	volumes    disks
}

// newWorld throws about as many objects as asked for, and counts those that Kubernetes refuses.
func (d dice) newWorld(objects int, count *count) *world {
	w := &world{volumes: disks{}}
	for i := range max(2, objects/15) {
		w.nodes = keepLegal(w.nodes, d.node(i), count)
	}
	for i := range objects / 20 {
		w.budgets = keepLegal(w.budgets, d.budget(i), count)
	}
	for _, name := range []string{"default", "team", strings.Repeat("n", 63)} {
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: d.labels(d.upTo(2000))}}
		w.namespaces = keepLegal(w.namespaces, namespace, count)
	}
	for i := range 3 {
		volume := d.volume(i)
		if kept := keepLegal(nil, volume, count); len(kept) == 1 {
			w.volumes[fmt.Sprintf("claim-%d", i)] = volume
		}
	}
	for i := range objects - objects/15 - objects/20 - 6 {
		node := ""
		if len(w.nodes) > 0 && d.IntN(5) > 0 {
			node = w.nodes[d.IntN(len(w.nodes))].Name
		}
		w.pods = keepLegal(w.pods, d.pod(i, node), count)
	}
	return w
}

func (d dice) node(number int) *v1.Node {
	name := fmt.Sprintf("node-%d", number)
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name,
			"zone": oneOf(d, "a", "b", "c"), "x": oneOf(d, "1", "9", "abc")}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"),
			v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110")}},
	}
	if once, again := d.seldom(), d.seldom(); !once && !again {
		return node
	}
	switch d.IntN(6) {
	case 0:
		node.Labels = d.labels(1 + d.IntN(3000))
	case 1:
		for range d.IntN(60) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: d.key(), Value: d.value(),
				Effect: oneOf(d, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)})
		}
	case 2:
		node.Status.Allocatable = oneOf(d, nil, d.resources())
	case 3:
		node.Status.Allocatable[d.resource()] = d.amount()
		node.Status.Allocatable[v1.ResourcePods] = d.amount()
	case 4:
		node.Spec.Unschedulable = true
	case 5:
		node.DeletionTimestamp, node.Finalizers = &metav1.Time{Time: time.Unix(2000, 0)}, []string{"example.com/never"}
	}
	return node
}

func (d dice) budget(number int) *policyv1.PodDisruptionBudget {
	amount := oneOf(d, intstr.FromInt32(0), intstr.FromInt32(math.MaxInt32), intstr.FromString("100%"), intstr.FromString("0%"))
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: oneOf(d, "default", "team", "nowhere"), Name: fmt.Sprintf("budget-%d", number),
			UID: types.UID(fmt.Sprintf("budget-%d", number))},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &amount, Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": fmt.Sprintf("workload-%d", d.IntN(12))}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: oneOf[int32](d, 0, 1, 3, math.MaxInt32)},
	}
	if d.seldom() {
		budget.Spec.Selector = d.selector()
	}
	return budget
}

func (d dice) volume(number int) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", number)},
		Spec: v1.PersistentVolumeSpec{
			Capacity:    v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []v1.PersistentVolumeAccessMode{oneOf(d, v1.ReadWriteOnce, v1.ReadWriteOncePod)},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: "example.com", VolumeHandle: "h"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{d.nodeTerm(), d.nodeTerm()}}},
		},
	}
}

// disks are the volumes that claims are bound to, by the claims' names.
type disks map[string]*v1.PersistentVolume

func (d disks) Claim(_, name string) *v1.PersistentVolumeClaim {
	if name == "unbound" {
		return &v1.PersistentVolumeClaim{}
	}
	if d[name] == nil {
		return nil
	}
	return &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{VolumeName: name, AccessModes: d[name].Spec.AccessModes}}
}

func (d disks) Volume(name string) *v1.PersistentVolume { return d[name] }

func (d disks) Limited(string) bool { return false }

// snapshot is what the scheduler would ask about, with reservations of any size.
func (w *world) snapshot(d dice, id string, cache *snapshot.Cache) *snapshot.Snapshot {
	held := map[string]resources.Vector{"nowhere": {CPUMilli: 1}}
	for range 3 {
		amount := d.amount()
		held[fmt.Sprintf("node-%d", d.IntN(40))] = resources.OfList(v1.ResourceList{d.resource(): amount})
	}
	reserved := map[types.UID]string{}
	for range 3 {
		reserved[types.UID(fmt.Sprintf("uid-%d", d.IntN(400)))] = oneOf(d, "node-0", "node-1", "nowhere")
	}
	return snapshot.Build(snapshot.Input{ID: id, Nodes: w.nodes, Pods: w.pods, Budgets: w.budgets, Namespaces: w.namespaces,
		Volumes: w.volumes, Now: time.Unix(1_000_000, 0), Reserved: reserved, Held: held, Cache: cache,
		Rules: snapshot.Rules{SchedulerName: ourScheduler, ProtectedNamespaces: sets.New("stowage-system")}})
}
