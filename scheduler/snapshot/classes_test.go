package snapshot_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

func labelled(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = map[string]string{key: value} }
}

// Each pod of a StatefulSet has its name as a label. If each made a class of its own, 10,000 pods would be 10,000 classes;
// but labels that a selector reads must distinguish pods.
func TestOnlyLabelsThatASelectorReadsDistinguishClasses(t *testing.T) {
	const key = "statefulset.kubernetes.io/pod-name"
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: key, Operator: metav1.LabelSelectorOpExists}}}
	term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: selector}
	demanding := func(affinity v1.Affinity) *v1.Pod {
		return aPod("reads", "n1", func(pod *v1.Pod) { pod.Spec.Affinity = &affinity })
	}
	unread := snapshot.Input{}
	for name, c := range map[string]struct {
		input snapshot.Input
		want  int
	}{
		"none": {unread, 1},
		"a budget": {snapshot.Input{Budgets: []*policyv1.PodDisruptionBudget{{ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
			Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}}}, 3},
		"an owner": {snapshot.Input{Labels: sets.New(key)}, 3},
		"affinity": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAffinity: &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}})}}, 3},
		"a preference to be apart": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}}})}}, 3},
		"mismatch keys": {snapshot.Input{Pods: []*v1.Pod{demanding(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone", MismatchLabelKeys: []string{key}}}}})}}, 3},
		"spread": {snapshot.Input{Pods: []*v1.Pod{aPod("reads", "n1", func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
				WhenUnsatisfiable: v1.DoNotSchedule, MatchLabelKeys: []string{key}}}
		})}}, 3},
	} {
		input := c.input
		input.Nodes, input.Rules = n1(), rules()
		expectClassesOfWeb(t, name+" reads the label", input, key, c.want)
	}
}

// expectClassesOfWeb adds three pods that differ in one label alone, and expects so many classes of them.
func expectClassesOfWeb(t *testing.T, name string, input snapshot.Input, key string, want int) {
	t.Helper()
	for i := range 3 {
		pod := fmt.Sprintf("web-%d", i)
		input.Pods = append(input.Pods, aPod(pod, "n1", labelled(key, pod)))
	}
	s := snapshot.Build(input)
	classes := map[string]bool{}
	for i := range 3 {
		pod := s.Pods[types.UID(fmt.Sprintf("uid-web-%d", i))]
		classes[pod.Class] = true
		if id := s.Classes.ID(pod.Object); id != pod.Class {
			t.Errorf("%s: a pod by itself is of class %s, in the snapshot of %s", name, id, pod.Class)
		}
	}
	if len(classes) != want {
		t.Errorf("%s: %d classes, want %d", name, len(classes), want)
	}
}

// A selector reads labels where it can reach pods: its own namespace, those that it names, and those that it selects. A
// tenant whose selector reads the names of its pods must not make a class of every pod of all others.
func TestLabelsCountInTheNamespacesThatASelectorReaches(t *testing.T) {
	const key = "statefulset.kubernetes.io/pod-name"
	reading := func(namespaces []string, selector *metav1.LabelSelector) v1.PodAffinityTerm {
		return v1.PodAffinityTerm{TopologyKey: "zone", Namespaces: namespaces, NamespaceSelector: selector,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpExists}}}}
	}
	for name, c := range map[string]struct {
		term v1.PodAffinityTerm
		want int
	}{
		"its own alone":             {reading(nil, nil), 1},
		"its own by name":           {reading([]string{"tenant"}, nil), 1},
		"that of the pods, by name": {reading([]string{"tenant", "default"}, nil), 3},
		"selected by labels":        {reading(nil, metav1.SetAsLabelSelector(map[string]string{"team": "web"})), 3},
		"others, by labels":         {reading(nil, metav1.SetAsLabelSelector(map[string]string{"team": "db"})), 1},
		"all":                       {reading(nil, &metav1.LabelSelector{}), 3},
		"keys of its own values": {v1.PodAffinityTerm{TopologyKey: "zone", Namespaces: []string{"default"},
			MatchLabelKeys: []string{key}}, 3},
	} {
		tenant := aPod("tenant", "n1", func(pod *v1.Pod) {
			pod.Namespace, pod.Labels = "tenant", map[string]string{key: "tenant"}
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{c.term}}}
		})
		input := snapshot.Input{Nodes: n1(), Rules: rules(), Pods: []*v1.Pod{tenant},
			Namespaces: []*v1.Namespace{
				{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"team": "web"}}},
				{ObjectMeta: metav1.ObjectMeta{Name: "tenant", Labels: map[string]string{"team": "db"}}}}}
		expectClassesOfWeb(t, name, input, key, c.want)
	}
}

// A snapshot with a cache must be the same as without; an object that has changed, as the owner has in each round, is a new
// object.
func TestACachedSnapshotIsAFreshOne(t *testing.T) {
	cache := &snapshot.Cache{}
	reads := func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone",
			WhenUnsatisfiable: v1.DoNotSchedule, MatchLabelKeys: []string{"app"}}}
	}
	resized := aPod("a", "n1", asking(v1.ResourceCPU, "2"))
	cordoned := aNode("n1", "4", "8Gi")
	cordoned.Spec.Unschedulable = true
	first := aPod("a", "n1")
	for i, input := range []snapshot.Input{
		{Nodes: n1(), Pods: []*v1.Pod{first, aPod("b", "", labelled("app", "other"))}},
		{Nodes: n1(), Pods: []*v1.Pod{first, aPod("b", "", labelled("app", "other"), reads)}},
		{Nodes: []*v1.Node{cordoned}, Pods: []*v1.Pod{resized}},
		{Nodes: []*v1.Node{aNode("n2", "4", "8Gi")}, Pods: []*v1.Pod{first}},
		{Nodes: n1(), Pods: []*v1.Pod{first}},
		{Nodes: n1(), Pods: []*v1.Pod{aPod("d", "n1"), aPod("b", ""), first, aPod("f", "")}},
		{Nodes: n1(), Pods: []*v1.Pod{aPod("g", ""), aPod("f", ""), aPod("c", "n1"), resized, aPod("0", "")}},
	} {
		input.Rules, input.Workloads = rules(), workloads{aSet(func(set *appsv1.ReplicaSet) { set.Spec.Replicas = ptr.To(int32(i % 2)) })}
		fresh := snapshot.Build(input)
		input.Cache = cache
		cached := snapshot.Build(input)
		if cached.Fingerprint() != fresh.Fingerprint() || !proto.Equal(cached.Message, fresh.Message) {
			t.Errorf("round %d: the cached snapshot is another one: %v, want %v", i, cached.Message, fresh.Message)
		}
	}
}

// disks are claims and volumes by name.
type disks struct {
	claims  map[string]*v1.PersistentVolumeClaim
	volumes map[string]*v1.PersistentVolume
}

func (d disks) VolumeClaim(_, name string) *v1.PersistentVolumeClaim { return d.claims[name] }
func (d disks) Volume(name string) *v1.PersistentVolume              { return d.volumes[name] }

func (d disks) Limited(driver string) bool { return driver == "scarce" }

func aClaim(volume string, modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{Spec: v1.PersistentVolumeClaimSpec{VolumeName: volume, AccessModes: modes}}
}

func mounting(claims ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for _, claim := range claims {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: claim, VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}})
		}
	}
}

func drivenBy(driver string) *v1.PersistentVolume {
	return &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{
		CSI: &v1.CSIPersistentVolumeSource{Driver: driver}}}}
}

func theDisks() disks {
	zone := v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"x"}}
	zonal := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{
		Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchExpressions: []v1.NodeSelectorRequirement{zone}}}}}}}
	byName := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n1"}}
	named := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{NodeAffinity: &v1.VolumeNodeAffinity{
		Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
			{MatchFields: []v1.NodeSelectorRequirement{byName}}}}}}}
	both := zonal.DeepCopy()
	both.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchFields = []v1.NodeSelectorRequirement{byName}
	deleted := aClaim("zonal")
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return disks{
		claims: map[string]*v1.PersistentVolumeClaim{
			"zonal": aClaim("zonal"), "anywhere": aClaim("anywhere"), "unbound": aClaim(""), "lost": aClaim("gone"),
			"scarce": aClaim("scarce"), "plenty": aClaim("plenty"), "named": aClaim("named"), "both": aClaim("both"),
			"alone": aClaim("anywhere", v1.ReadWriteOncePod), "deleted": deleted,
		},
		volumes: map[string]*v1.PersistentVolume{"zonal": zonal, "anywhere": {},
			"scarce": drivenBy("scarce"), "plenty": drivenBy("plenty"), "named": named, "both": both},
	}
}

func onlyClass(volumes snapshot.Volumes, changes ...func(*v1.Pod)) *contract.PodClass {
	s := snapshot.Build(snapshot.Input{Nodes: n1(),
		Pods: []*v1.Pod{aPod("p", "n1", changes...)}, Volumes: volumes, Rules: rules()})
	return s.Message.PodClasses[0]
}

// A pod can run where all of its volumes can be reached, by the labels of nodes alone, as the scheduler evaluates it. Only
// the scheduler knows where the volume of an open claim will be, or whether another pod uses it. A volume that is made on
// the pod's node binds it to none, unless the driver's volumes are limited; a claim that goes with the pod says nothing of
// where a replacement may run.
func TestVolumesRestrictTheirNodesOrAreUnsupported(t *testing.T) {
	inline := func(drivers ...string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			for _, driver := range drivers {
				source := v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: driver}}
				pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: driver, VolumeSource: source})
			}
		}
	}
	known, odd := theDisks(), theDisks()
	odd.volumes["zonal"].Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Operator = v1.NodeSelectorOpGt
	for name, c := range map[string]struct {
		volumes     snapshot.Volumes
		change      func(*v1.Pod)
		unsupported string
		where       string
	}{
		"one of them in a zone":                      {known, mounting("anywhere", "zonal", "plenty"), "", "zone In [x]"},
		"on a node by its name":                      {known, mounting("named"), "", ""},
		"in a zone, and on a node":                   {known, mounting("both"), "", "zone In [x]"},
		"where nobody can read":                      {odd, mounting("zonal"), "volumes", ""},
		"unbound":                                    {known, mounting("anywhere", "unbound"), "volumes", ""},
		"bound to a volume that is gone":             {known, mounting("anywhere", "lost"), "volumes", ""},
		"missing":                                    {known, mounting("anywhere", "missing"), "volumes", ""},
		"for one pod alone":                          {known, mounting("anywhere", "alone"), "volumes", ""},
		"being deleted":                              {known, mounting("anywhere", "deleted"), "volumes", ""},
		"of a driver with a limit":                   {known, mounting("anywhere", "scarce"), "volumes", ""},
		"where no volumes are known":                 {nil, mounting("anywhere"), "volumes", ""},
		"a claim that goes with the pod":             {known, holding(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}), "ephemeral-volumes", ""},
		"made on the node":                           {known, inline("plenty"), "", ""},
		"made on the node, up to a limit":            {known, inline("plenty", "scarce"), "volumes", ""},
		"made on the node, whose limits are unknown": {nil, inline("plenty"), "volumes", ""},
	} {
		class := onlyClass(c.volumes, c.change)
		var where []string
		for _, affinity := range class.VolumeNodeAffinity {
			for _, term := range affinity.Terms {
				if len(term.MatchFields) > 0 {
					t.Errorf("%s: fields %v", name, term.MatchFields)
				}
				for _, one := range term.MatchExpressions {
					where = append(where, fmt.Sprint(one.Key, " ", one.Operator, " ", one.Values))
				}
			}
		}
		if got := strings.Join(where, "; "); strings.Join(class.Unsupported, " ") != c.unsupported || got != c.where {
			t.Errorf("%s: unsupported %q, want %q; reachable %q, want %q", name, class.Unsupported, c.unsupported, got, c.where)
		}
	}
	if onlyClass(known, inline("plenty")).Id == onlyClass(known, inline("plenty", "scarce")).Id {
		t.Error("pods with and without a limited volume are of one class")
	}
}

// Users set the deletion cost of a pod; an invalid one counts as 0.
func TestDeletionCostAndAgeAreSent(t *testing.T) {
	now := time.Unix(1000, 0)
	costing := func(cost string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Annotations = map[string]string{"controller.kubernetes.io/pod-deletion-cost": cost} }
	}
	started := func(seconds int64) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Unix(seconds, 0)} }
	}
	cases := []struct {
		change func(*v1.Pod)
		cost   int32
		age    int64
	}{
		{costing("-5"), -5, 0}, {costing("many"), 0, 0}, {costing("9999999999"), 0, 0},
		{started(400), 0, 600}, {started(1001), 0, 0}, // another machine's clock is ahead
	}
	for i, c := range cases {
		s := snapshot.Build(snapshot.Input{Nodes: n1(),
			Pods: []*v1.Pod{aPod("p", "n1", c.change)}, Now: now, Rules: rules()})
		if got := s.Message.Pods[0]; got.DeletionCost != c.cost || got.AgeS != c.age {
			t.Errorf("case %d: cost = %d, age = %d; want %d, %d", i, got.DeletionCost, got.AgeS, c.cost, c.age)
		}
	}
}
