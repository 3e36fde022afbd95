package podkey

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// full is a pod that has something in every field the scheduler looks at.
func full() *v1.Pod {
	in := func(key string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	term := func(requirements ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
		return v1.NodeSelectorTerm{MatchExpressions: requirements}
	}
	exists := func(key string) v1.NodeSelectorTerm { return term(in(key, v1.NodeSelectorOpExists)) }
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "here", Labels: map[string]string{"app": "a", "tier": "b"}},
		Spec: v1.PodSpec{
			SchedulerName: "s", Priority: ptr.To[int32](5), RuntimeClassName: ptr.To("kata"),
			Overhead:       v1.ResourceList{v1.ResourceCPU: resource.MustParse("10m")},
			InitContainers: []v1.Container{container("init", "first:1", "300m", "64Mi")},
			Containers:     []v1.Container{container("web", "web:1", "100m", "128Mi"), container("log", "log:2", "50m", "64Mi")},
			NodeSelector:   map[string]string{"disk": "ssd", "arch": "amd64"},
			Tolerations: []v1.Toleration{
				{Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule},
				{Key: "gpu", Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
				{Key: "team", Value: "blue"},
			},
			Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
					term(in("zone", v1.NodeSelectorOpIn, "a", "b"), in("old", v1.NodeSelectorOpDoesNotExist)), exists("spare")}},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
					{Weight: 10, Preference: exists("fast")}, {Weight: 20, Preference: exists("near")}},
			}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{soft("zone"), soft("rack")},
		},
	}
}

func container(name, image, cpu, memory string) v1.Container {
	return v1.Container{
		Name: name, Image: image,
		Ports: []v1.ContainerPort{
			{Name: name, ContainerPort: 80, HostPort: int32(8000 + len(name)), Protocol: v1.ProtocolTCP},
			{ContainerPort: 81, HostPort: int32(9000 + len(image)), Protocol: v1.ProtocolUDP},
		},
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), "example.com/gpu": resource.MustParse("1"),
		}},
	}
}

func soft(key string) v1.TopologySpreadConstraint {
	return v1.TopologySpreadConstraint{
		MaxSkew: 2, TopologyKey: key, WhenUnsatisfiable: v1.ScheduleAnyway, MatchLabelKeys: []string{"tier"},
		LabelSelector: metav1.SetAsLabelSelector(map[string]string{"app": "a"}),
	}
}

// clusterWithLabels is a cluster in which labels matter.
func clusterWithLabels() ClusterContext {
	return ClusterContext{Affinity: true, Siblings: labels.Everything(), Features: "f"}
}

func required(pod *v1.Pod) []v1.NodeSelectorTerm {
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

func preferred(pod *v1.Pod) []v1.PreferredSchedulingTerm {
	return pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution
}

// TestEveryFieldThatTheSchedulerLooksAtChangesTheKey: a pod that is placed by the ranking of one that differs
// may be placed where its own scores would not have put it.
func TestEveryFieldThatTheSchedulerLooksAtChangesTheKey(t *testing.T) {
	want := Of(full(), clusterWithLabels())
	for field, change := range map[string]func(*v1.Pod){
		"schedulerName":      func(p *v1.Pod) { p.Spec.SchedulerName = "other" },
		"priority":           func(p *v1.Pod) { p.Spec.Priority = ptr.To[int32](6) },
		"runtimeClassName":   func(p *v1.Pod) { p.Spec.RuntimeClassName = ptr.To("gvisor") },
		"overhead":           func(p *v1.Pod) { p.Spec.Overhead[v1.ResourceCPU] = resource.MustParse("20m") },
		"cpu":                func(p *v1.Pod) { request(p, v1.ResourceCPU, "600m") },
		"memory":             func(p *v1.Pod) { request(p, v1.ResourceMemory, "2Gi") },
		"ephemeral storage":  func(p *v1.Pod) { request(p, v1.ResourceEphemeralStorage, "2Gi") },
		"extended resource":  func(p *v1.Pod) { request(p, "example.com/gpu", "4") },
		"init container":     func(p *v1.Pod) { p.Spec.InitContainers[0].Resources.Requests[v1.ResourceCPU] = resource.MustParse("2") },
		"sidecar":            func(p *v1.Pod) { p.Spec.InitContainers[0].RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways) },
		"request left out":   func(p *v1.Pod) { delete(p.Spec.Containers[1].Resources.Requests, v1.ResourceMemory) },
		"pod-level request":  func(p *v1.Pod) { p.Spec.Resources = &v1.ResourceRequirements{} },
		"nodeSelector value": func(p *v1.Pod) { p.Spec.NodeSelector["disk"] = "hdd" },
		"nodeSelector key":   func(p *v1.Pod) { p.Spec.NodeSelector["more"] = "" },
		"required value":     func(p *v1.Pod) { required(p)[0].MatchExpressions[0].Values[1] = "c" },
		"required operator":  func(p *v1.Pod) { required(p)[0].MatchExpressions[0].Operator = v1.NodeSelectorOpNotIn },
		"required key":       func(p *v1.Pod) { required(p)[1].MatchExpressions[0].Key = "other" },
		"empty required": func(p *v1.Pod) {
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = nil
		},
		"no required":         func(p *v1.Pod) { p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil },
		"preferred weight":    func(p *v1.Pod) { preferred(p)[0].Weight = 11 },
		"preferred term":      func(p *v1.Pod) { preferred(p)[1].Preference.MatchExpressions[0].Key = "other" },
		"toleration key":      func(p *v1.Pod) { p.Spec.Tolerations[2].Key = "other" },
		"toleration value":    func(p *v1.Pod) { p.Spec.Tolerations[2].Value = "red" },
		"toleration effect":   func(p *v1.Pod) { p.Spec.Tolerations[2].Effect = v1.TaintEffectNoSchedule },
		"toleration operator": func(p *v1.Pod) { p.Spec.Tolerations[2].Operator = v1.TolerationOpExists },
		"spread skew":         func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MaxSkew = 3 },
		"spread key":          func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].TopologyKey = "row" },
		"spread selector":     func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].LabelSelector = nil },
		"spread label keys":   func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MatchLabelKeys = nil },
		"spread action":       func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = v1.DoNotSchedule },
		"spread affinity policy": func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints[0].NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore)
		},
		"spread taints policy": func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
		},
		"spread domains":          func(p *v1.Pod) { p.Spec.TopologySpreadConstraints[0].MinDomains = ptr.To[int32](2) },
		"host port":               func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].HostPort = 1 },
		"host port's protocol":    func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = v1.ProtocolSCTP },
		"host port's address":     func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].HostIP = "127.0.0.1" },
		"image":                   func(p *v1.Pod) { p.Spec.Containers[0].Image = "web:2" },
		"image of init container": func(p *v1.Pod) { p.Spec.InitContainers[0].Image = "first:2" },
		"another container": func(p *v1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "x", Image: "web:1"})
		},
		"label":     func(p *v1.Pod) { p.Labels["app"] = "b" },
		"namespace": func(p *v1.Pod) { p.Namespace = "there" },
	} {
		pod := full()
		change(pod)
		if Of(pod, clusterWithLabels()) == want {
			t.Errorf("%s: the key should be another", field)
		}
	}
}

func request(pod *v1.Pod, name v1.ResourceName, amount string) {
	pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount)
}

// TestOrderAndIrrelevantFieldsDoNotChangeTheKey: every difference that means nothing costs a ranking.
func TestOrderAndIrrelevantFieldsDoNotChangeTheKey(t *testing.T) {
	want := Of(full(), clusterWithLabels())
	for field, change := range map[string]func(*v1.Pod){
		"name":                   func(p *v1.Pod) { p.Name, p.UID = "q", "other" },
		"annotations":            func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} },
		"order of containers":    func(p *v1.Pod) { slices.Reverse(p.Spec.Containers) },
		"order of ports":         func(p *v1.Pod) { slices.Reverse(p.Spec.Containers[0].Ports) },
		"order of tolerations":   func(p *v1.Pod) { slices.Reverse(p.Spec.Tolerations) },
		"a toleration twice":     func(p *v1.Pod) { p.Spec.Tolerations = append(p.Spec.Tolerations, p.Spec.Tolerations[1]) },
		"toleration's default":   func(p *v1.Pod) { p.Spec.Tolerations[2].Operator = v1.TolerationOpEqual },
		"toleration's seconds":   func(p *v1.Pod) { p.Spec.Tolerations[1].TolerationSeconds = ptr.To[int64](30) },
		"order of terms":         func(p *v1.Pod) { slices.Reverse(required(p)) },
		"order of requirements":  func(p *v1.Pod) { slices.Reverse(required(p)[0].MatchExpressions) },
		"order of values":        func(p *v1.Pod) { slices.Reverse(required(p)[0].MatchExpressions[0].Values) },
		"order of preferences":   func(p *v1.Pod) { slices.Reverse(preferred(p)) },
		"order of constraints":   func(p *v1.Pod) { slices.Reverse(p.Spec.TopologySpreadConstraints) },
		"same amount, other way": func(p *v1.Pod) { request(p, v1.ResourceCPU, "0.1") },
		"a request for nothing":  func(p *v1.Pod) { request(p, "example.com/other", "0") },
		"limits": func(p *v1.Pod) {
			p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
		},
		"container's port": func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 8080 },
		"command":          func(p *v1.Pod) { p.Spec.Containers[0].Command = []string{"run"} },
		"environment":      func(p *v1.Pod) { p.Spec.Containers[0].Env = []v1.EnvVar{{Name: "A", Value: "b"}} },
		"grace period":     func(p *v1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](0) },
	} {
		pod := full()
		change(pod)
		if Of(pod, clusterWithLabels()) != want {
			t.Errorf("%s: the key should be the same", field)
		}
	}
}

// TestLabelsMatterWhereASelectorReadsThem: the pods of a StatefulSet or an indexed Job all have different labels, and are
// equal nevertheless unless a selector reads these labels.
func TestLabelsMatterWhereASelectorReadsThem(t *testing.T) {
	plain := func(name, namespace string) *v1.Pod {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Labels: map[string]string{"name": name}}}
		pod.Spec.Containers = []v1.Container{container("c", "i", "1", "1Gi")}
		return pod
	}
	one, two, elsewhere := plain("one", "here"), plain("two", "here"), plain("one", "there")
	plainContext := ClusterContext{Siblings: labels.Everything()}
	if Of(one, plainContext) != Of(two, plainContext) || Of(one, plainContext) != Of(elsewhere, plainContext) {
		t.Error("no selector reads labels and namespaces, so they should make no difference")
	}
	affine := ClusterContext{Siblings: labels.Everything(), Affinity: true}
	if Of(one, affine) == Of(two, affine) || Of(one, affine) == Of(elsewhere, affine) {
		t.Error("a pod with inter-pod affinity looks at labels and namespaces")
	}
	service := ClusterContext{Siblings: labels.SelectorFromSet(labels.Set{"app": "a"})}
	if Of(one, service) != Of(two, service) {
		t.Error("both belong to the same service, which is all that counts")
	}
	if Of(one, service) == Of(elsewhere, service) || Of(one, service) == Of(one, plainContext) {
		t.Error("pods are spread among those of their own service and namespace")
	}
	if Of(one, plainContext) == Of(one, ClusterContext{Siblings: labels.Everything(), Features: "f"}) {
		t.Error("features that a node must declare should make a difference")
	}
}

// handling says for each field of a pod's spec whether it is in the key, makes the pod bypass the cache, or does not
// matter for the choice of a node.
var handling = map[string]string{
	"Volumes": "bypass", "InitContainers": "key", "Containers": "key", "EphemeralContainers": "none",
	"RestartPolicy": "none", "TerminationGracePeriodSeconds": "none", "ActiveDeadlineSeconds": "none", "DNSPolicy": "none",
	"NodeSelector": "key", "ServiceAccountName": "none", "DeprecatedServiceAccount": "none",
	"AutomountServiceAccountToken": "none", "NodeName": "bypass", "HostNetwork": "features", "HostPID": "none",
	"HostIPC": "none", "ShareProcessNamespace": "none", "SecurityContext": "none", "ImagePullSecrets": "none",
	"Hostname": "none", "Subdomain": "none", "Affinity": "key and bypass", "SchedulerName": "key", "Tolerations": "key",
	"HostAliases": "none", "PriorityClassName": "none", "Priority": "key", "DNSConfig": "none", "ReadinessGates": "none",
	"RuntimeClassName": "key", "EnableServiceLinks": "none", "PreemptionPolicy": "none", "Overhead": "key",
	"TopologySpreadConstraints": "key and bypass", "SetHostnameAsFQDN": "none", "OS": "none", "HostUsers": "features",
	"SchedulingGates": "none", "ResourceClaims": "bypass", "Resources": "key", "HostnameOverride": "none",
	"SchedulingGroup": "bypass", "EvictionResponders": "none",
}

// TestEveryFieldOfAPodIsClassified: a new version of Kubernetes may add a field that a plugin reads. An upgrade must
// decide what it means here.
func TestEveryFieldOfAPodIsClassified(t *testing.T) {
	spec := reflect.TypeOf(v1.PodSpec{})
	for i := range spec.NumField() {
		if name := spec.Field(i).Name; handling[name] == "" {
			t.Errorf("spec.%s is not classified: does a Filter or Score plugin read it?", name)
		}
	}
}

// TestCanonicalTextsAreUnambiguous: two texts that run together must not look like two others.
func TestCanonicalTextsAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, texts := range [][]string{{"", "ab"}, {"a", "b"}, {"ab"}, {"", "a", "b"}, {"", "", "ab"}} {
		text := string(appendCanonical(nil, reflect.ValueOf(texts)))
		name := fmt.Sprintf("%q", texts)
		if other, twice := seen[text]; twice {
			t.Errorf("%s reads as %s", name, other)
		}
		seen[text] = name
	}
}
