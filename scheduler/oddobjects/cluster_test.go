package oddobjects_test

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// cluster is one small cluster.
type cluster struct {
	nodes      []*v1.Node
	pods       []*v1.Pod
	budgets    []*policyv1.PodDisruptionBudget
	namespaces []*v1.Namespace
	volumes    disks
}

// newCluster generates about as many objects as asked for, and counts those that Kubernetes refuses.
func (g generator) newCluster(objects int, count *count) *cluster {
	c := &cluster{volumes: disks{}}
	for i := range max(2, objects/15) {
		c.nodes = keepLegal(c.nodes, g.node(i), count)
	}
	for i := range objects / 20 {
		c.budgets = keepLegal(c.budgets, g.budget(i), count)
	}
	for _, name := range []string{"default", "team", strings.Repeat("n", 63)} {
		namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: g.labels(g.upTo(2000))}}
		c.namespaces = keepLegal(c.namespaces, namespace, count)
	}
	for i := range 3 {
		volume := g.volume(i)
		if kept := keepLegal(nil, volume, count); len(kept) == 1 {
			c.volumes[fmt.Sprintf("claim-%d", i)] = volume
		}
	}
	for i := range objects - objects/15 - objects/20 - 6 {
		node := ""
		if len(c.nodes) > 0 && g.IntN(5) > 0 {
			node = c.nodes[g.IntN(len(c.nodes))].Name
		}
		c.pods = keepLegal(c.pods, g.pod(i, node), count)
	}
	return c
}

func (g generator) node(number int) *v1.Node {
	name := fmt.Sprintf("node-%d", number)
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name,
			"zone": oneOf(g, "a", "b", "c"), "x": oneOf(g, "1", "9", "abc")}},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"),
			v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110")}},
	}
	if once, again := g.seldom(), g.seldom(); once || again {
		g.addOddity(node)
	}
	return node
}

func (g generator) addOddity(node *v1.Node) {
	switch g.IntN(6) {
	case 0:
		node.Labels = g.labels(1 + g.IntN(3000))
	case 1:
		for range g.IntN(60) {
			node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: g.key(), Value: g.value(),
				Effect: oneOf(g, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)})
		}
	case 2:
		node.Status.Allocatable = oneOf(g, nil, g.resources())
	case 3:
		node.Status.Allocatable[g.resource()] = g.amount()
		node.Status.Allocatable[v1.ResourcePods] = g.amount()
	case 4:
		node.Spec.Unschedulable = true
	case 5:
		node.DeletionTimestamp, node.Finalizers = &metav1.Time{Time: time.Unix(2000, 0)}, []string{"example.com/never"}
	}
}

func (g generator) budget(number int) *policyv1.PodDisruptionBudget {
	amount := oneOf(g, intstr.FromInt32(0), intstr.FromInt32(math.MaxInt32), intstr.FromString("100%"), intstr.FromString("0%"))
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: oneOf(g, "default", "team", "nowhere"), Name: fmt.Sprintf("budget-%d", number),
			UID: types.UID(fmt.Sprintf("budget-%d", number))},
		Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &amount, Selector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": fmt.Sprintf("workload-%d", g.IntN(12))}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: oneOf[int32](g, 0, 1, 3, math.MaxInt32)},
	}
	if g.seldom() {
		budget.Spec.Selector = g.selector()
	}
	return budget
}

func (g generator) volume(number int) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", number)},
		Spec: v1.PersistentVolumeSpec{
			Capacity:    v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []v1.PersistentVolumeAccessMode{oneOf(g, v1.ReadWriteOnce, v1.ReadWriteOncePod)},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{
				Driver: "example.com", VolumeHandle: "h"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{
				NodeSelectorTerms: []v1.NodeSelectorTerm{g.nodeTerm(), g.nodeTerm()}}},
		},
	}
}

// disks are the volumes that claims are bound to, by the claims' names.
type disks map[string]*v1.PersistentVolume

func (d disks) VolumeClaim(_, name string) *v1.PersistentVolumeClaim {
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
func (c *cluster) snapshot(g generator, id string, cache *snapshot.Cache) *snapshot.Snapshot {
	held := map[string]resources.Vector{"nowhere": resources.Vector{}.WithPods(1)}
	for range 3 {
		amount := g.amount()
		held[fmt.Sprintf("node-%d", g.IntN(40))] = resources.OfList(v1.ResourceList{g.resource(): amount})
	}
	reserved := map[types.UID]string{}
	for range 3 {
		reserved[types.UID(fmt.Sprintf("uid-%d", g.IntN(400)))] = oneOf(g, "node-0", "node-1", "nowhere")
	}
	return snapshot.Build(snapshot.Input{ID: id, Nodes: c.nodes, Pods: c.pods, Budgets: c.budgets, Namespaces: c.namespaces,
		Volumes: c.volumes, Groups: oddGroup, Now: time.Unix(1_000_000, 0), Reserved: reserved, Held: held, Cache: cache,
		Rules: snapshot.Rules{SchedulerName: ourScheduler, ProtectedNamespaces: sets.New("stowage-system")}})
}

// oddGroup is a gang of one pod, one of more pods than any cluster has, or a group that is no gang, by its namespace.
func oddGroup(namespace, _ string) (minor.Group, bool) {
	switch namespace {
	case "default":
		return minor.Group{Gang: true, MinCount: 1}, true
	case "team":
		return minor.Group{Gang: true, MinCount: math.MaxInt32, LeavesWhole: true}, true
	}
	return minor.Group{MinCount: 1, LeavesWhole: true}, true
}

// keepLegal appends the object as the API server would store it, or counts that it would not.
func keepLegal[T runtime.Object](kept []T, object T, count *count) []T {
	count.thrown++
	legacyscheme.Scheme.Default(object)
	if errs := errorsOf(object); len(errs) > 0 {
		kind := reflect.TypeOf(object).Elem().Name()
		count.refused[kind]++
		count.why[fmt.Sprintf("%s %s", kind, errs[0].Type)] = fmt.Sprintf("%.200s", errs[0].Error())
		return kept
	}
	return append(kept, object)
}

// errorsOf are the API server's validation errors for the object.
func errorsOf(object runtime.Object) field.ErrorList {
	switch object := object.(type) {
	case *v1.Pod:
		// Its server sets these itself.
		created := object.DeepCopy()
		created.DeletionTimestamp, created.DeletionGracePeriodSeconds = nil, nil
		pod := converted(created, &core.Pod{})
		podutil.DropDisabledPodFields(pod, nil)
		options := podutil.GetValidationOptionsFromPodSpecAndMeta(&pod.Spec, nil, &pod.ObjectMeta, nil)
		options.ResourceIsPod = true
		ephemeral := pod.Spec.EphemeralContainers // these come by a call of their own
		pod.Spec.EphemeralContainers = nil
		errs := corevalidation.ValidatePodCreate(pod, options)
		pod.Spec.EphemeralContainers = ephemeral
		return errs
	case *v1.Node:
		created := object.DeepCopy()
		created.DeletionTimestamp = nil
		return corevalidation.ValidateNode(converted(created, &core.Node{}))
	case *v1.Namespace:
		return corevalidation.ValidateNamespace(converted(object, &core.Namespace{}))
	case *v1.PersistentVolume:
		volume := converted(object, &core.PersistentVolume{})
		return corevalidation.ValidatePersistentVolume(volume, corevalidation.ValidationOptionsForPersistentVolume(volume, nil))
	case *policyv1.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(converted(object, &policy.PodDisruptionBudget{}),
			policyvalidation.PodDisruptionBudgetValidationOptions{})
	}
	panic(fmt.Sprintf("objects of %T are not known", object))
}

func converted[T runtime.Object](object runtime.Object, into T) T {
	if err := legacyscheme.Scheme.Convert(object, into, nil); err != nil {
		panic(err) // each kind is registered
	}
	return into
}

// count counts what happened to the objects.
type count struct {
	mu                             sync.Mutex
	thrown, snapshots, plans, late int
	// ends are the optimiser's end reasons, refused the objects that Kubernetes refuses, by kind.
	ends, refused map[string]int
	// why is an example of each kind of refusal, so that the generator can be fixed.
	why map[string]string
}

func newCount() *count {
	return &count{ends: map[string]int{}, refused: map[string]int{}, why: map[string]string{}}
}

func (c *count) add(other *count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thrown, c.snapshots = c.thrown+other.thrown, c.snapshots+other.snapshots
	c.plans, c.late = c.plans+other.plans, c.late+other.late
	for end, times := range other.ends {
		c.ends[end] += times
	}
	for kind, times := range other.refused {
		c.refused[kind] += times
	}
	maps.Copy(c.why, other.why)
}

func (c *count) String() string {
	text := fmt.Sprintf("%d snapshots, %d plans, %d late; ends %v; Kubernetes refuses %v, for example",
		c.snapshots, c.plans, c.late, c.ends, c.refused)
	for _, kind := range slices.Sorted(maps.Keys(c.why)) {
		text += fmt.Sprintf("\n  %s: %s", kind, c.why[kind])
	}
	return text
}
