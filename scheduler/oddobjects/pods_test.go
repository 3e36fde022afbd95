package oddobjects_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const ourScheduler = "default-scheduler"

// pod is one of a few workloads, on one of the nodes or waiting, and odd in a few ways.
func (g generator) pod(number int, node string) *v1.Pod {
	pod := g.plainPod(number, node)
	if g.often() {
		for range 1 + g.IntN(2) {
			oneOf(g, oddities...).add(g, pod)
		}
	}
	return pod
}

func (g generator) plainPod(number int, node string) *v1.Pod {
	workload, yes := fmt.Sprintf("workload-%d", g.IntN(12)), true
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: oneOf(g, "default", "team", strings.Repeat("n", 63)), Name: fmt.Sprintf("pod-%d", number),
			UID: types.UID(fmt.Sprintf("uid-%d", number)), Labels: map[string]string{"app": workload},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload,
				UID: types.UID(workload), Controller: &yes}},
		},
		Spec: v1.PodSpec{
			NodeName: node, SchedulerName: ourScheduler,
			Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(int64(250*(1+g.IntN(6))), resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(int64(1+g.IntN(4))<<30, resource.BinarySI)}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: time.Unix(1000, 0)}},
	}
	if node == "" {
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	}
	return pod
}

// oddity is one way of being odd.
type oddity struct {
	name string
	add  func(generator, *v1.Pod)
}

// oddities are all of them; those with many forms are drawn more often.
var oddities = []oddity{
	{"requests", oddRequests}, {"requests", oddRequests}, {"containers", oddContainers}, {"pod-resources", oddPodResources},
	{"status", oddStatus}, {"node-affinity", oddNodeAffinity}, {"node-affinity", oddNodeAffinity}, {"pod-affinity", oddPodAffinity},
	{"pod-affinity", oddPodAffinity}, {"spread", oddSpread}, {"tolerations", oddTolerations}, {"ports", oddPorts},
	{"priority", oddPriority}, {"metadata", oddMetadata}, {"metadata", oddMetadata}, {"owner", oddOwner}, {"life", oddLife},
	{"volumes", oddVolumes}, {"needs", oddNeeds}, {"self", oddSelf},
}

func oddRequests(g generator, pod *v1.Pod) { pod.Spec.Containers[0].Resources = g.requirements() }

func oddContainers(g generator, pod *v1.Pod) {
	always := v1.ContainerRestartPolicyAlways
	for i := range 1 + g.IntN(20) {
		container := v1.Container{Name: fmt.Sprintf("i-%d", i), Image: "i", Resources: g.requirements()}
		if g.often() {
			container.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
	if g.often() {
		pod.Spec.Overhead = g.resources()
	}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		Name: "debug", Image: "i", TerminationMessagePolicy: v1.TerminationMessageReadFile, ImagePullPolicy: v1.PullAlways}}}
	if g.often() {
		pod.Spec.EphemeralContainers = nil
	}
}

func oddPodResources(g generator, pod *v1.Pod) {
	amount := g.amount()
	name := oneOf(g, v1.ResourceCPU, v1.ResourceMemory)
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{name: amount}, Limits: v1.ResourceList{name: amount}}
	if g.often() {
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{}
	}
}

// oddStatus is a resize in progress, and phases that are not validated.
func oddStatus(g generator, pod *v1.Pod) {
	requirements := g.requirements()
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: oneOf(g, "c", "other"), AllocatedResources: g.resources(),
		Resources: &requirements}}
	pod.Status.Resize = oneOf(g, "", v1.PodResizeStatusDeferred, v1.PodResizeStatusInfeasible, "Weird")
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
	pod.Status.Phase = oneOf(g, pod.Status.Phase, "", v1.PodUnknown, "Weird", v1.PodFailed, v1.PodSucceeded)
	pod.Status.NominatedNodeName = oneOf(g, "", "node-0", "nowhere")
}

func (g generator) nodeTerm() v1.NodeSelectorTerm {
	term := v1.NodeSelectorTerm{}
	for range g.IntN(3) {
		requirement := v1.NodeSelectorRequirement{Key: g.key(), Operator: oneOf(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn,
			v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
		switch requirement.Operator {
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			requirement.Values = []string{g.number()}
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			for range g.upTo(2000) {
				requirement.Values = append(requirement.Values, oneOf(g, g.value(), g.value(), "not a label!", "\xff"))
			}
		}
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
	if g.seldom() {
		term.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name",
			Operator: oneOf(g, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{oneOf(g, "node-1", "nowhere")}}}
	}
	return term
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func oddNodeAffinity(g generator, pod *v1.Pod) {
	nodes := &v1.NodeAffinity{}
	affinityOf(pod).NodeAffinity = nodes
	if g.often() {
		selector := &v1.NodeSelector{}
		for range 1 + g.IntN(3) {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, g.nodeTerm())
		}
		nodes.RequiredDuringSchedulingIgnoredDuringExecution = selector
	}
	for range g.IntN(3) {
		nodes.PreferredDuringSchedulingIgnoredDuringExecution = append(nodes.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: oneOf[int32](g, 1, 50, 100), Preference: g.nodeTerm()})
	}
	if g.seldom() {
		pod.Spec.NodeSelector = g.labels(g.upTo(500))
	}
}

func (g generator) podTerm() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{LabelSelector: g.selector(), TopologyKey: g.key()}
	if g.often() {
		term.NamespaceSelector = g.selector()
	}
	if g.seldom() {
		term.Namespaces = []string{"team", "team", "nowhere"}
	}
	if term.LabelSelector != nil && g.seldom() {
		term.MatchLabelKeys = []string{g.key()}
		term.MismatchLabelKeys = []string{g.key()}
	}
	return term
}

func oddPodAffinity(g generator, pod *v1.Pod) {
	required, preferred := []v1.PodAffinityTerm{}, []v1.WeightedPodAffinityTerm{}
	for range 1 + g.IntN(3) {
		if g.often() {
			required = append(required, g.podTerm())
		} else {
			preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: oneOf[int32](g, 1, 100), PodAffinityTerm: g.podTerm()})
		}
	}
	if g.often() {
		affinityOf(pod).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required,
			PreferredDuringSchedulingIgnoredDuringExecution: preferred}
		return
	}
	affinityOf(pod).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required,
		PreferredDuringSchedulingIgnoredDuringExecution: preferred}
}

func oddSpread(g generator, pod *v1.Pod) {
	for range 1 + g.IntN(2) {
		constraint := v1.TopologySpreadConstraint{MaxSkew: oneOf[int32](g, 1, 2, math.MaxInt32), TopologyKey: g.key(),
			WhenUnsatisfiable: oneOf(g, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: g.selector()}
		if constraint.WhenUnsatisfiable == v1.DoNotSchedule && g.often() {
			domains := oneOf[int32](g, 1, 3, math.MaxInt32)
			constraint.MinDomains = &domains
		}
		if g.often() {
			policy := oneOf(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore)
			constraint.NodeAffinityPolicy, constraint.NodeTaintsPolicy = &policy, &policy
		}
		if constraint.LabelSelector != nil && g.seldom() {
			constraint.MatchLabelKeys = []string{g.key()}
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

func oddTolerations(g generator, pod *v1.Pod) {
	for range g.upTo(200) {
		toleration := v1.Toleration{Key: oneOf(g, "", g.key()), Value: g.value(),
			Operator: oneOf(g, "", v1.TolerationOpEqual, v1.TolerationOpExists, v1.TolerationOpLt, v1.TolerationOpGt),
			Effect:   oneOf(g, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)}
		if toleration.Key == "" || toleration.Operator == v1.TolerationOpExists {
			toleration.Operator, toleration.Value = v1.TolerationOpExists, ""
		}
		if toleration.Effect == v1.TaintEffectNoExecute && g.often() {
			seconds := oneOf[int64](g, 0, -1, math.MinInt64, math.MaxInt64)
			toleration.TolerationSeconds = &seconds
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
}

func oddPorts(g generator, pod *v1.Pod) {
	for i := range 1 + g.IntN(4) {
		port := oneOf[int32](g, 1, 80, 8080, 65535)
		pod.Spec.Containers[0].Ports = append(pod.Spec.Containers[0].Ports, v1.ContainerPort{Name: fmt.Sprintf("p%d", i),
			ContainerPort: port, HostPort: oneOf(g, 0, port, port), HostIP: oneOf(g, "", "0.0.0.0", "127.0.0.1", "::", "::1"),
			Protocol: oneOf(g, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)})
	}
	pod.Spec.HostNetwork, pod.Spec.HostPID, pod.Spec.HostIPC = g.seldom(), g.seldom(), g.seldom()
}

func oddPriority(g generator, pod *v1.Pod) {
	priority := oneOf[int32](g, math.MinInt32, math.MinInt32+1, -1, 0, 1, 1_999_999_999, 2_000_000_000, math.MaxInt32)
	pod.Spec.Priority = &priority
	if g.often() {
		policy := oneOf(g, v1.PreemptNever, v1.PreemptLowerPriority)
		pod.Spec.PreemptionPolicy = &policy
	}
}

func oddMetadata(g generator, pod *v1.Pod) {
	switch g.IntN(5) {
	case 0:
		pod.Labels = g.labels(g.upTo(3000))
	case 1:
		pod.Name += strings.Repeat("p", 253-len(pod.Name))
	case 2:
		pod.Annotations = map[string]string{v1.PodDeletionCost: oneOf(g, "-2147483648", "2147483647", "0")}
	case 3:
		pod.Annotations = map[string]string{oneOf(g, "stowage.dev/do-not-move", "stowage.dev/reservation-allocated",
			"karpenter.sh/do-not-disrupt", "cluster-autoscaler.kubernetes.io/safe-to-evict", v1.MirrorPodAnnotationKey): oneOf(g,
			"", "true", "\xff", "false", "{", `{"uid":{}}`)}
	case 4:
		pod.Labels = map[string]string{"statefulset.kubernetes.io/pod-name": pod.Name[:min(63, len(pod.Name))],
			"controller-revision-hash": g.value()}
	}
}

func oddOwner(g generator, pod *v1.Pod) {
	if len(pod.OwnerReferences) == 0 {
		return
	}
	switch g.IntN(4) {
	case 0:
		pod.OwnerReferences = nil
	case 1:
		pod.OwnerReferences[0].Kind = oneOf(g, "DaemonSet", "Job", "StatefulSet", "Weird", "\xfe")
	case 2:
		pod.OwnerReferences[0].Name = oneOf(g, strings.Repeat("w", 5000), "\xff\xff", "a/b\nc")
	case 3:
		for i := range 100 {
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap",
				Name: "x", UID: types.UID(fmt.Sprintf("x-%d", i))})
		}
	}
}

func oddLife(g generator, pod *v1.Pod) {
	grace := oneOf[int64](g, 0, 1, math.MaxInt64)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Finalizers = []string{"example.com/never"}
	pod.Status.StartTime = oneOf(g, nil, &metav1.Time{}, &metav1.Time{Time: time.Unix(1<<40, 0)}, &metav1.Time{Time: time.Unix(-1<<40, 0)})
	if g.often() {
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(2000, 0)}, &grace
	}
	if pod.Spec.NodeName == "" && g.seldom() {
		pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
}

func oddVolumes(g generator, pod *v1.Pod) {
	for i := range 1 + g.IntN(3) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: fmt.Sprintf("v%d", i), VolumeSource: oneOf(g,
			v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
			v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}},
			v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/"}},
			v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "example.com"}},
			v1.VolumeSource{NFS: &v1.NFSVolumeSource{Server: "s", Path: "/"}},
			v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{
				Spec: v1.PersistentVolumeClaimSpec{AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
					Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}}}}}},
			v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{
				ClaimName: oneOf(g, "claim-0", "claim-0", "claim-1", "claim-2", "missing", "unbound")}})})
	}
}

func oddNeeds(g generator, pod *v1.Pod) {
	claim, group := "claim", "group"
	if g.often() {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "a", ResourceClaimName: &claim}, {Name: "b", ResourceClaimName: &claim}}
		return
	}
	pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
}

// oddSelf is of another scheduler, or on a node that the scheduler did not choose.
func oddSelf(g generator, pod *v1.Pod) {
	if g.often() {
		pod.Spec.SchedulerName = oneOf(g, "other", strings.Repeat("s", 63))
		return
	}
	pod.Spec.NodeName, pod.Status.Phase = oneOf(g, "node-0", "nowhere"), v1.PodRunning
}

// generator makes every random choice of the odd objects.
type generator struct{ *rand.Rand }

func (g generator) often() bool  { return g.IntN(2) == 0 }
func (g generator) seldom() bool { return g.IntN(12) == 0 }

// upTo is seldom large: what is large takes long to validate.
func (g generator) upTo(large int) int {
	if g.IntN(60) == 0 {
		return 1 + g.IntN(large)
	}
	return 1 + g.IntN(3)
}

func oneOf[T any](g generator, all ...T) T { return all[g.IntN(len(all))] }

func (g generator) amount() resource.Quantity {
	return resource.MustParse(oneOf(g, "0", "1n", "1m", "100m", "0.5", "1", "3", "1500m", "1.5Gi", "128Mi", "1Ki", "1e3",
		"1Ti", "1Pi", "1Ei", "2Ei", "7Ei", "1E18", "9223372036854775", "9223372036854775807", "4611686018427387904",
		"99999999999999999999E", "123456789012345678901234567890", "0.000000000000001"))
}

func (g generator) resource() v1.ResourceName {
	return oneOf[v1.ResourceName](g, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, "hugepages-2Mi",
		"example.com/gpu", "example.com/cpu_milli", v1.ResourceName("example.com/"+strings.Repeat("x", 60)))
}

func (g generator) resources() v1.ResourceList {
	list := v1.ResourceList{}
	for range 1 + g.IntN(3) {
		list[g.resource()] = g.amount()
	}
	return list
}

// requirements are such that limits keep them legal where extended resources want both.
func (g generator) requirements() v1.ResourceRequirements {
	list := g.resources()
	if g.often() {
		return v1.ResourceRequirements{Requests: list}
	}
	return v1.ResourceRequirements{Requests: list, Limits: list}
}

func (g generator) labels(count int) map[string]string {
	labels := map[string]string{}
	for range count {
		labels[g.key()] = g.value()
	}
	return labels
}

func (g generator) key() string {
	return oneOf(g, "app", "zone", "rack", "pod-template-hash", "statefulset.kubernetes.io/pod-name", v1.LabelHostname,
		"topology.kubernetes.io/zone", "x", strings.Repeat("k", 63), strings.Repeat("d", 60)+".com/"+strings.Repeat("n", 63),
		fmt.Sprintf("key-%d", g.IntN(3000)))
}

func (g generator) value() string {
	return oneOf(g, "", "a", "b", "9", "0", "9223372036854775807", "1-2", "A_b.c", strings.Repeat("v", 63),
		fmt.Sprintf("v-%d", g.IntN(20)))
}

func (g generator) number() string {
	return oneOf(g, "1", "-1", "+1", "0x10", "abc", "", " 1", "1_0", "9223372036854775808", strings.Repeat("9", 5000), "١", "1e3")
}

func (g generator) selector() *metav1.LabelSelector {
	switch g.IntN(6) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2:
		return &metav1.LabelSelector{MatchLabels: g.labels(g.upTo(800))}
	}
	selector := &metav1.LabelSelector{}
	for range 1 + g.IntN(3) {
		requirement := metav1.LabelSelectorRequirement{Key: g.key(), Operator: oneOf(g, metav1.LabelSelectorOpIn,
			metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			for range g.upTo(3000) {
				requirement.Values = append(requirement.Values, g.value())
			}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}
