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
func (d dice) pod(number int, node string) *v1.Pod {
	workload, yes := fmt.Sprintf("workload-%d", d.IntN(12)), true
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: oneOf(d, "default", "team", strings.Repeat("n", 63)), Name: fmt.Sprintf("pod-%d", number),
			UID: types.UID(fmt.Sprintf("uid-%d", number)), Labels: map[string]string{"app": workload},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload,
				UID: types.UID(workload), Controller: &yes}},
		},
		Spec: v1.PodSpec{
			NodeName: node, SchedulerName: ourScheduler,
			Containers: []v1.Container{{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU:    *resource.NewMilliQuantity(int64(250*(1+d.IntN(6))), resource.DecimalSI),
				v1.ResourceMemory: *resource.NewQuantity(int64(1+d.IntN(4))<<30, resource.BinarySI)}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: time.Unix(1000, 0)}},
	}
	if node == "" {
		pod.Status = v1.PodStatus{Phase: v1.PodPending}
	}
	if d.often() {
		for range 1 + d.IntN(2) {
			oneOf(d, oddities...)(d, pod)
		}
	}
	return pod
}

var oddities = []func(dice, *v1.Pod){
	oddRequests, oddRequests, oddContainers, oddPodResources, oddStatus, oddNodeAffinity, oddNodeAffinity, oddPodAffinity,
	oddPodAffinity, oddSpread, oddTolerations, oddPorts, oddPriority, oddMetadata, oddMetadata, oddOwner, oddLife,
	oddVolumes, oddNeeds, oddSelf,
}

func oddRequests(d dice, pod *v1.Pod) { pod.Spec.Containers[0].Resources = d.requirements() }

func oddContainers(d dice, pod *v1.Pod) {
	always := v1.ContainerRestartPolicyAlways
	for i := range 1 + d.IntN(20) {
		container := v1.Container{Name: fmt.Sprintf("i-%d", i), Image: "i", Resources: d.requirements()}
		if d.often() {
			container.RestartPolicy = &always
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
	}
	if d.often() {
		pod.Spec.Overhead = d.resources()
	}
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
		Name: "debug", Image: "i", TerminationMessagePolicy: v1.TerminationMessageReadFile, ImagePullPolicy: v1.PullAlways}}}
	if d.often() {
		pod.Spec.EphemeralContainers = nil
	}
}

func oddPodResources(d dice, pod *v1.Pod) {
	amount := d.amount()
	name := oneOf(d, v1.ResourceCPU, v1.ResourceMemory)
	pod.Spec.Resources = &v1.ResourceRequirements{Requests: v1.ResourceList{name: amount}, Limits: v1.ResourceList{name: amount}}
	if d.often() {
		pod.Spec.Containers[0].Resources = v1.ResourceRequirements{}
	}
}

// oddStatus is a resize in progress, and phases that nobody validates.
func oddStatus(d dice, pod *v1.Pod) {
	requirements := d.requirements()
	pod.Status.ContainerStatuses = []v1.ContainerStatus{{Name: oneOf(d, "c", "other"), AllocatedResources: d.resources(),
		Resources: &requirements}}
	pod.Status.Resize = oneOf(d, "", v1.PodResizeStatusDeferred, v1.PodResizeStatusInfeasible, "Weird")
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonInfeasible}}
	pod.Status.Phase = oneOf(d, pod.Status.Phase, "", v1.PodUnknown, "Weird", v1.PodFailed, v1.PodSucceeded)
	pod.Status.NominatedNodeName = oneOf(d, "", "node-0", "nowhere")
}

func (d dice) nodeTerm() v1.NodeSelectorTerm {
	term := v1.NodeSelectorTerm{}
	for range d.IntN(3) {
		requirement := v1.NodeSelectorRequirement{Key: d.key(), Operator: oneOf(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn,
			v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt)}
		switch requirement.Operator {
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			requirement.Values = []string{d.number()}
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			for range d.upTo(2000) {
				requirement.Values = append(requirement.Values, oneOf(d, d.value(), d.value(), "not a label!", "\xff"))
			}
		}
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
	if d.seldom() {
		term.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name",
			Operator: oneOf(d, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{oneOf(d, "node-1", "nowhere")}}}
	}
	return term
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func oddNodeAffinity(d dice, pod *v1.Pod) {
	nodes := &v1.NodeAffinity{}
	affinityOf(pod).NodeAffinity = nodes
	if d.often() {
		selector := &v1.NodeSelector{}
		for range 1 + d.IntN(3) {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, d.nodeTerm())
		}
		nodes.RequiredDuringSchedulingIgnoredDuringExecution = selector
	}
	for range d.IntN(3) {
		nodes.PreferredDuringSchedulingIgnoredDuringExecution = append(nodes.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: oneOf[int32](d, 1, 50, 100), Preference: d.nodeTerm()})
	}
	if d.seldom() {
		pod.Spec.NodeSelector = d.labels(d.upTo(500))
	}
}

func (d dice) podTerm() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{LabelSelector: d.selector(), TopologyKey: d.key()}
	if d.often() {
		term.NamespaceSelector = d.selector()
	}
	if d.seldom() {
		term.Namespaces = []string{"team", "team", "nowhere"}
	}
	if term.LabelSelector != nil && d.seldom() {
		term.MatchLabelKeys = []string{d.key()}
		term.MismatchLabelKeys = []string{d.key()}
	}
	return term
}

func oddPodAffinity(d dice, pod *v1.Pod) {
	required, preferred := []v1.PodAffinityTerm{}, []v1.WeightedPodAffinityTerm{}
	for range 1 + d.IntN(3) {
		if d.often() {
			required = append(required, d.podTerm())
		} else {
			preferred = append(preferred, v1.WeightedPodAffinityTerm{Weight: oneOf[int32](d, 1, 100), PodAffinityTerm: d.podTerm()})
		}
	}
	if d.often() {
		affinityOf(pod).PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required,
			PreferredDuringSchedulingIgnoredDuringExecution: preferred}
		return
	}
	affinityOf(pod).PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required,
		PreferredDuringSchedulingIgnoredDuringExecution: preferred}
}

func oddSpread(d dice, pod *v1.Pod) {
	for range 1 + d.IntN(2) {
		constraint := v1.TopologySpreadConstraint{MaxSkew: oneOf[int32](d, 1, 2, math.MaxInt32), TopologyKey: d.key(),
			WhenUnsatisfiable: oneOf(d, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: d.selector()}
		if constraint.WhenUnsatisfiable == v1.DoNotSchedule && d.often() {
			domains := oneOf[int32](d, 1, 3, math.MaxInt32)
			constraint.MinDomains = &domains
		}
		if d.often() {
			policy := oneOf(d, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore)
			constraint.NodeAffinityPolicy, constraint.NodeTaintsPolicy = &policy, &policy
		}
		if constraint.LabelSelector != nil && d.seldom() {
			constraint.MatchLabelKeys = []string{d.key()}
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

func oddTolerations(d dice, pod *v1.Pod) {
	for range d.upTo(200) {
		toleration := v1.Toleration{Key: oneOf(d, "", d.key()), Value: d.value(),
			Operator: oneOf(d, "", v1.TolerationOpEqual, v1.TolerationOpExists, v1.TolerationOpLt, v1.TolerationOpGt),
			Effect:   oneOf(d, "", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)}
		if toleration.Key == "" || toleration.Operator == v1.TolerationOpExists {
			toleration.Operator, toleration.Value = v1.TolerationOpExists, ""
		}
		if toleration.Effect == v1.TaintEffectNoExecute && d.often() {
			seconds := oneOf[int64](d, 0, -1, math.MinInt64, math.MaxInt64)
			toleration.TolerationSeconds = &seconds
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
}
