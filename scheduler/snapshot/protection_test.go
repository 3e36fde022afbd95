package snapshot_test

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/stowage/stowage/scheduler/snapshot"
)

var (
	longAgo = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	lately  = metav1.NewTime(longAgo.Add(time.Hour))
	noon    = lately.Add(time.Minute)
)

func annotated(key, value string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Annotations = map[string]string{key: value} }
}

func holding(source v1.VolumeSource) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: source}} }
}

func started(at metav1.Time) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Status.StartTime = &at }
}

func inNamespace(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Namespace = name } }

// One row a rule, and beside it a pod that the rule only just leaves alone: whoever is disturbed
// although he must not be has lost something for good.
func TestEachProtectionHasARowThatItAppliesToAndOneItDoesNot(t *testing.T) {
	onDisk := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	inMemory := v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}
	onHost := v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}}
	claim := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}
	phase := func(of v1.PodPhase) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Status.Phase = of } }
	now := metav1.Now()
	none := func(*snapshot.Rules) {}
	ages := func(rules *snapshot.Rules) { rules.MinAge = 10 * time.Minute }
	disks := func(rules *snapshot.Rules) { rules.LocalStorage = true }
	teams := func(rules *snapshot.Rules) { rules.Namespaces = labels.SelectorFromSet(labels.Set{"team": "a"}) }
	cases := []struct {
		reason string
		rules  func(*snapshot.Rules)
		change func(*v1.Pod)
	}{
		{snapshot.ForeignScheduler, none, func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }},
		{"", none, func(pod *v1.Pod) { pod.Spec.SchedulerName = ourScheduler }},
		{snapshot.ProtectedNamespace, none, inNamespace("kube-system")},
		{snapshot.ProtectedNamespace, none, inNamespace("stowage-system")},
		{"", none, inNamespace("stowage")},
		{snapshot.ProtectedNamespace, teams, inNamespace("of-b")},
		{snapshot.ProtectedNamespace, teams, inNamespace("unknown")},
		{"", teams, inNamespace("of-a")},
		{snapshot.SystemCritical, none, priority(2_000_000_000)},
		{"", none, priority(1_999_999_999)},
		{snapshot.OptedOut, none, annotated(snapshot.DoNotMove, "true")},
		{snapshot.OptedOut, none, annotated(snapshot.DoNotMove, "")},
		{"", none, annotated(snapshot.DoNotMove, "false")},
		{snapshot.OptedOut, none, annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")},
		{"", none, annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true")},
		{snapshot.OptedOut, none, annotated("karpenter.sh/do-not-disrupt", "true")},
		{"", none, annotated("karpenter.sh/do-not-disrupt", "false")},
		{snapshot.Unsupported, none, holding(claim)},
		{snapshot.LocalStorage, none, holding(onHost)},
		{snapshot.LocalStorage, disks, holding(onHost)},
		{snapshot.LocalStorage, none, holding(onDisk)},
		{"", disks, holding(onDisk)},
		{"", none, holding(inMemory)},
		{snapshot.Mirror, none, annotated(v1.MirrorPodAnnotationKey, "x")},
		{snapshot.Static, none, annotated("kubernetes.io/config.source", "file")},
		{"", none, annotated("kubernetes.io/config.source", "api")},
		{snapshot.Bare, none, func(pod *v1.Pod) { pod.OwnerReferences = nil }},
		{snapshot.Bare, none, func(pod *v1.Pod) { pod.OwnerReferences[0].Controller = nil }},
		{snapshot.DaemonSet, none, ownedBy("DaemonSet")},
		{snapshot.UnknownController, none, ownedBy("Rollout")},
		{"", none, ownedBy("StatefulSet")},
		{"", none, ownedBy("Job")},
		{snapshot.Terminating, none, func(pod *v1.Pod) { pod.DeletionTimestamp = &now }},
		{snapshot.NotStarted, none, phase(v1.PodPending)},
		{"", none, phase(v1.PodRunning)},
		{snapshot.TooYoung, ages, started(lately)},
		{snapshot.TooYoung, ages, func(*v1.Pod) {}},
		{"", ages, started(longAgo)},
	}
	for i, c := range cases {
		pod, applied := aPod("p", "n1", c.change), rules()
		c.rules(&applied)

		s := snapshot.Build(snapshot.Input{Nodes: []*v1.Node{aNode("n1", "4", "8Gi")}, Pods: []*v1.Pod{pod},
			Namespaces: []*v1.Namespace{team("of-a", "a"), team("of-b", "b")}, Now: noon, Rules: applied})

		if got := s.Pods[pod.UID].Immovable; got != c.reason {
			t.Errorf("row %d: %q, want %q", i, got, c.reason)
		}
		if message := s.Message.Pods[0]; message.Movable != (c.reason == "") || message.ImmovableReason != c.reason {
			t.Errorf("row %d: the optimiser is told movable %t, %q", i, message.Movable, message.ImmovableReason)
		}
	}
}

func team(name, label string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": label}}}
}

// What is learnt after a snapshot was taken must reach both who reads it: the optimiser and the
// check of its plan.
func TestAmendmentsReachTheMessageAndTheCheck(t *testing.T) {
	s := build([]*v1.Node{aNode("n1", "4", "8Gi")}, aPod("runs", "n1"), aPod("waits", ""))
	class := s.Pods["uid-runs"].Class

	s.Forbid(class, "n1")
	s.Pin("uid-runs", "because")
	s.Drop("uid-waits")
	s.Drop("uid-runs")
	s.Pin("uid-nobody", "because")

	if pair := s.Message.ForbiddenPairs[0]; pair.ClassId != class || pair.Node != "n1" {
		t.Errorf("forbidden pair %v", pair)
	}
	if len(s.Message.Pods) != 1 || s.Message.Pods[0].Movable || s.Message.Pods[0].ImmovableReason != "because" {
		t.Errorf("pods of the message: %v", s.Message.Pods)
	}
	if s.Pods["uid-runs"].Immovable != "because" || s.Pods["uid-waits"] != nil {
		t.Errorf("pods of the snapshot: %v", s.Pods)
	}
}
