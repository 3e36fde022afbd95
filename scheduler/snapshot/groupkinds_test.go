package snapshot_test

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// withLabels gives the pod these labels, in pairs, and the annotation.
func withLabels(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Labels = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			pod.Labels[pairs[i]] = pairs[i+1]
		}
	}
}

func finished(pod *v1.Pod) { pod.Status.Phase = v1.PodSucceeded }

// withKinds is the state of n1 with these pods, where groups of other projects are recognised.
func withKinds(others []snapshot.GroupKind, pods ...*v1.Pod) snapshot.Input {
	under := rules()
	under.GroupKinds = snapshot.GroupKinds(others)
	return snapshot.Input{ID: "s", Nodes: n1(), Pods: pods, Rules: under}
}

// Half of such a workload is worth nothing, and its scheduler does not know. So plans are told which pods belong together,
// and how many make it whole.
func TestGroupsOfOtherProjectsAreGangsOfTheirPods(t *testing.T) {
	const lws, kueue = "leaderworkerset.sigs.k8s.io/", "kueue.x-k8s.io/"
	first, second := withLabels(lws+"name", "llm", lws+"group-index", "0"), withLabels(lws+"name", "llm", lws+"group-index", "1")
	jobSet := withLabels("jobset.sigs.k8s.io/jobset-name", "train", kueue+"pod-group-name", "never")
	pods := []*v1.Pod{
		aPod("leader-0", "n1", first, annotated(lws+"size", "3")), aPod("leader-1", "", second, annotated(lws+"size", "odd")),
		aPod("job-0", "n1", jobSet), aPod("job-1", "", jobSet), aPod("job-2", "n1", jobSet, finished),
		aPod("kueue-0", "", withLabels(kueue+"pod-group-name", "k"), annotated(kueue+"pod-group-total-count", "4")),
		aPod("kueue-1", "n1", withLabels(kueue+"pod-group-name", "k"), finished),
		aPod("cos", "", withLabels("scheduling.x-k8s.io/pod-group", "c")), aPod("volcano", "", withLabels("volcano.sh/job-name", "v")),
		aPod("ray", "", withLabels("ray.io/cluster", "r")), aPod("half", "", withLabels(lws+"name", "llm")), aPod("alone", ""),
	}
	untried := aPod("job-3", "", jobSet)
	input := withKinds([]snapshot.GroupKind{{Name: "VolcanoJob"}, {Name: "RayCluster", Labels: []string{"ray.io/cluster"}}}, pods...)
	input.Untried = []*v1.Pod{untried}
	s := snapshot.Build(input)

	want := []*contract.Gang{
		{Id: "CoschedulingPodGroup/default/c", MinCount: 1},
		{Id: "JobSet/default/train", MinCount: 3, LeavesWhole: true},
		{Id: "KueuePodGroup/default/k", MinCount: 3},
		{Id: "LeaderWorkerSet/default/llm/0", MinCount: 3, LeavesWhole: true},
		{Id: "LeaderWorkerSet/default/llm/1", MinCount: 1, LeavesWhole: true},
		{Id: "RayCluster/default/r", MinCount: 1},
	}
	if !slices.EqualFunc(s.Message.Gangs, want, func(a, b *contract.Gang) bool { return proto.Equal(a, b) }) {
		t.Errorf("the gangs are %v, want %v", s.Message.Gangs, want)
	}
	for name, want := range map[string]string{"leader-0": want[3].Id, "leader-1": want[4].Id, "job-1": want[1].Id,
		"kueue-0": want[2].Id, "cos": want[0].Id, "ray": want[5].Id, "volcano": "", "half": "", "alone": ""} {
		at := slices.IndexFunc(pods, func(pod *v1.Pod) bool { return pod.Name == name })
		if got := classOf(t, s, pods[at]).Gang; got != want {
			t.Errorf("%s is of gang %q, want %q", name, got, want)
		}
	}
}

// A gang whose pods nobody schedules together with the others can never be whole.
func TestAGroupOfAnotherProjectThatPlansCannotKeepIsLeftAloneByName(t *testing.T) {
	member := withLabels("jobset.sigs.k8s.io/jobset-name", "train")
	for want, change := range map[string]func(*v1.Pod){
		"pod-group-gated":     func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} },
		"pod-group-scheduler": func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" },
	} {
		pod := aPod("pod", "n1", member)
		s := snapshot.Build(withKinds(nil, pod, aPod("member", "", member, change)))
		if got := classOf(t, s, pod).Unsupported; !slices.Equal(got, []string{want}) {
			t.Errorf("the pod is unsupported for %v, want %s", got, want)
		}
	}
}

// Classes are in the IDs of plans that another version resumes, and a class for each pod would be a slow solve.
func TestPodsWithoutAGroupAreOfTheSameClassWhateverIsRecognised(t *testing.T) {
	pods := []*v1.Pod{aPod("a", "", labelled("app", "a")), aPod("b", "", labelled("app", "b"))}
	plain := withKinds(nil, pods...)
	plain.Rules = rules()
	if got, want := snapshot.Build(withKinds(nil, pods...)), snapshot.Build(plain); !maps.EqualFunc(got.Pods, want.Pods,
		func(a, b *snapshot.Pod) bool { return a.Class == b.Class }) {
		t.Error("a pod without a group is of another class")
	}
}
