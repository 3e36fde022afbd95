package oddobjects_test

import (
	"fmt"
	"math"
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
