package snapshot_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

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

func grace(seconds int64) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.TerminationGracePeriodSeconds = &seconds }
}

func ready(pod *v1.Pod) {
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
}

func inNamespace(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Namespace = name } }

// One row per rule, and a pod that the rule only just does not apply to: a pod that is wrongly disrupted may lose
// something for good. Between a plan and its last eviction a pod's owner may opt out: right before the eviction the rules
// are checked again on the live pod.
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
	theirs := func(rules *snapshot.Rules) { rules.Schedulers = sets.New("other") }
	careful := func(rules *snapshot.Rules) {
		rules.MaxGracePeriod = 2 * time.Minute
		rules.KeepJobs, rules.KeepStatefulSets, rules.KeepNotReady = true, true, true
	}
	teams := func(rules *snapshot.Rules) { rules.Namespaces = labels.SelectorFromSet(labels.Set{"team": "a"}) }
	cases := []struct {
		reason string
		rules  func(*snapshot.Rules)
		change func(*v1.Pod)
	}{
		{snapshot.ForeignScheduler, none, func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }},
		{"", none, func(pod *v1.Pod) { pod.Spec.SchedulerName = ourScheduler }},
		{"", theirs, func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }},
		{snapshot.ForeignScheduler, theirs, func(pod *v1.Pod) { pod.Spec.SchedulerName = ourScheduler }},
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
		{snapshot.Unsupported, none, func(pod *v1.Pod) { pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu"}} }},
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
		// Agents are like these in most clusters. They must not keep a node in use that is empty but for them.
		{snapshot.DaemonSet, none, func(pod *v1.Pod) {
			inNamespace("kube-system")(pod)
			priority(2_000_001_000)(pod)
			holding(onHost)(pod)
			ownedBy("DaemonSet")(pod)
			pod.Spec.SchedulerName = "another"
		}},
		{snapshot.Mirror, none, func(pod *v1.Pod) {
			inNamespace("kube-system")(pod)
			annotated(v1.MirrorPodAnnotationKey, "x")(pod)
		}},
		{snapshot.UnknownController, none, ownedBy("Rollout")},
		{"", none, ownedBy("StatefulSet")},
		{"", none, ownedBy("Job")},
		{snapshot.Job, careful, ownedBy("Job")},
		{snapshot.StatefulSet, careful, ownedBy("StatefulSet")},
		{snapshot.LongGracePeriod, careful, grace(121)},
		{"", careful, ready},
		{"", none, grace(86400)},
		{snapshot.NotReady, careful, func(*v1.Pod) {}},
		{snapshot.Terminating, none, func(pod *v1.Pod) { pod.DeletionTimestamp = &now }},
		{snapshot.NotStarted, none, phase(v1.PodPending)},
		{"", none, phase(v1.PodRunning)},
		{snapshot.TooYoung, ages, started(lately)},
		{snapshot.TooYoung, ages, func(*v1.Pod) {}},
		{"", ages, started(longAgo)},
		{"", careful, func(pod *v1.Pod) { ready(pod); grace(120)(pod) }},
	}
	for i, c := range cases {
		pod, applied := aPod("p", "n1", c.change), rules()
		c.rules(&applied)

		namespaces := map[string]*v1.Namespace{"of-a": team("of-a", "a"), "of-b": team("of-b", "b")}
		s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{pod},
			Namespaces: slices.Collect(maps.Values(namespaces)), Now: noon, Rules: applied})

		if got := s.Pods[pod.UID].Immovable; got != c.reason {
			t.Errorf("row %d: %q, want %q", i, got, c.reason)
		}
		live := snapshot.ProtectedNow(pod, nil, nil, namespaces[pod.Namespace], noon, applied)
		open := c.reason == snapshot.StatefulSet || len(pod.Spec.Volumes) > 0 && c.reason == snapshot.Unsupported
		if live != c.reason && !open { // one rule needs the budgets, the other the claims
			t.Errorf("row %d: the live pod: %q, want %q", i, live, c.reason)
		}
		if message := s.Message.Pods[0]; message.Movable != (c.reason == "") || message.ImmovableReason != c.reason {
			t.Errorf("row %d: the optimiser gets movable %t, %q", i, message.Movable, message.ImmovableReason)
		}
	}
}

// No event tells a waiting pod that others have become old enough to be moved, so there must be another solve at that
// time, and not before the first of them is old enough.
func TestTheEarliestEndOfAPassingRuleIsKept(t *testing.T) {
	at := func(seconds int) func(*v1.Pod) {
		return started(metav1.NewTime(noon.Add(time.Duration(seconds-60) * time.Second)))
	}
	pending := func(pod *v1.Pod) { pod.Status.Phase = v1.PodPending }
	made := func(ago time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) { pod.CreationTimestamp = metav1.NewTime(noon.Add(-ago)) }
	}
	bare := func(pod *v1.Pod) { pod.OwnerReferences = nil }
	cases := map[string]struct {
		pods []*v1.Pod
		want time.Time
	}{
		"the older of two":             {[]*v1.Pod{aPod("a", "n1", at(30)), aPod("b", "n1", at(20))}, noon.Add(20 * time.Second)},
		"none young":                   {[]*v1.Pod{aPod("a", "n1", started(longAgo))}, time.Time{}},
		"young, and protected anyhow":  {[]*v1.Pod{aPod("a", "n1", at(30), bare)}, time.Time{}},
		"one that is about to start":   {[]*v1.Pod{aPod("a", "n1", made(time.Second), pending)}, noon.Add(5 * time.Second)},
		"one that takes long to start": {[]*v1.Pod{aPod("a", "n1", made(time.Minute), pending)}, noon.Add(time.Minute)},
		"one that never starts":        {[]*v1.Pod{aPod("a", "n1", made(time.Hour), pending)}, noon.Add(5 * time.Minute)},
		"one that waits":               {[]*v1.Pod{aPod("a", "")}, time.Time{}},
	}
	for name, c := range cases {
		applied := rules()
		applied.MinAge = time.Minute

		s := snapshot.Build(snapshot.Input{Nodes: n1(), Pods: c.pods, Now: noon, Rules: applied})

		if !s.NextChange.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, s.NextChange, c.want)
		}
	}
}

func team(name, label string) *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": label}}}
}

// Constraints that are added after a snapshot was taken must reach both of its readers: the optimiser, and the check of
// its plan. The optimiser refuses a snapshot that forbids pairs of what has gone.
func TestConstraintsOfASolveReachTheMessageAndTheCheck(t *testing.T) {
	s := build(n1(), aPod("runs", "n1"), aPod("waits", ""))
	class := s.Pods["uid-runs"].Class

	s.Forbid(class, "n1")
	s.Forbid("gone", "n1")
	s.Forbid(class, "gone")
	s.Pin("uid-runs", "because")
	s.Drop("uid-waits")
	s.Drop("uid-runs")
	s.Pin("uid-unknown", "because")

	if pairs := s.Message.ForbiddenPairs; len(pairs) != 1 || pairs[0].ClassId != class || pairs[0].Node != "n1" {
		t.Errorf("forbidden pairs %v", pairs)
	}
	if len(s.Message.Pods) != 1 || s.Message.Pods[0].Movable || s.Message.Pods[0].ImmovableReason != "because" {
		t.Errorf("pods of the message: %v", s.Message.Pods)
	}
	if s.Pods["uid-runs"].Immovable != "because" || s.Pods["uid-waits"] != nil {
		t.Errorf("pods of the snapshot: %v", s.Pods)
	}
}

// Users with a waiting pod want to know which rule keeps the room that it needs, not each rule that protects some pod.
func TestARuleIsInTheWayOfPodsThatNeedTheRoomThatItKeeps(t *testing.T) {
	needs := func(amount string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse(amount)
		}
	}
	bare := func(pod *v1.Pod) { pod.OwnerReferences = nil }
	s := build([]*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "4Gi")},
		aPod("b-bare", "n1", bare), aPod("a-bare", "n1", bare), aPod("daemon", "n2", ownedBy("DaemonSet")),
		aPod("movable", "n1"),
		aPod("large", "", needs("7Gi")), aPod("large-too", "", needs("7Gi")), aPod("placed", "", needs("7Gi")),
		aPod("small", "", needs("1Gi")), aPod("too-large", "", needs("9Gi")), aPod("shares", "n2", claiming("a")))

	kept := s.Protections(func(uid types.UID) bool { return uid != "uid-placed" })

	want := []snapshot.Protection{
		{Reason: snapshot.Bare, Pods: 2, Example: "default/a-bare", InTheWayOf: 2},
		{Reason: snapshot.DaemonSet, Pods: 1, Example: "default/daemon"},
		{Reason: snapshot.Unsupported, Pods: 1, Example: "default/shares (resource-claims)"},
	}
	if !slices.Equal(kept, want) {
		t.Errorf("%+v, want %+v", kept, want)
	}
}

// A plan that is asked for less than the cluster touches nothing else, and says why; its optimiser can send no pod to the
// other nodes, and gains nothing by emptying them.
func TestAScopeKeepsAPlanToItsNodesAndNamespaces(t *testing.T) {
	nodes := []*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "8Gi")}
	for i, pool := range []string{"a", "b"} {
		nodes[i].Labels = map[string]string{"pool": pool, snapshot.HourlyPrice: "0.5"}
	}
	of := rules()
	of.Scope = snapshot.Scope{Nodes: labels.SelectorFromSet(labels.Set{"pool": "a"}), Namespaces: labels.SelectorFromSet(labels.Set{"team": "ours"})}

	s := snapshot.Build(snapshot.Input{Nodes: nodes, Rules: of,
		Pods:       []*v1.Pod{aPod("inside", "n1"), aPod("outside", "n2"), aPod("other", "n1", inNamespace("theirs"))},
		Namespaces: []*v1.Namespace{team("default", "ours"), team("theirs", "theirs")}})

	for uid, want := range map[types.UID]string{"uid-inside": "", "uid-outside": snapshot.OutOfScope, "uid-other": snapshot.OutOfScope} {
		if got := s.Pods[uid].Immovable; got != want {
			t.Errorf("%s: %q, want %q", uid, got, want)
		}
	}
	in, out := s.Message.Nodes[0], s.Message.Nodes[1]
	if in.HourlyPriceMicros != 500_000 || out.HourlyPriceMicros != 0 || out.Allocatable.Pods != 0 || !s.Forbids("any", "n2") {
		t.Errorf("the optimiser gets %v and %v", in, out)
	}
	if len(s.Omissions()) != 0 {
		t.Errorf("left aside %v, but the scope is the question", s.Omissions())
	}
}

// Most nodes have pods of DaemonSets in kube-system, or of the kubelet's own. A node with no other pod is not in use, so no other rule may hide
// what they are.
func TestANodeWithItsOwnPodsAloneIsNotInUse(t *testing.T) {
	daemon := aPod("daemon", "n1", ownedBy("DaemonSet"), func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" })
	mirror := aPod("mirror", "n1", annotated(v1.MirrorPodAnnotationKey, "x"))
	daemon.Namespace, mirror.Namespace = metav1.NamespaceSystem, metav1.NamespaceSystem

	s := build([]*v1.Node{aNode("n1", "4", "8Gi"), aNode("n2", "4", "8Gi")}, daemon, mirror, aPod("p", "n2"))

	if used := s.InUse(nil); len(used) != 1 || used["n2"] != 1 {
		t.Errorf("in use %v", used)
	}
	if used := s.InUse(map[types.UID]string{"uid-p": "n1"}); len(used) != 1 || used["n1"] != 1 {
		t.Errorf("in use after the move %v", used)
	}
}

// Neither autoscaler takes such a node away, so that it costs the same without pods.
func TestANodeThatAutoscalersMayNotRemoveIsInUseInAnyCase(t *testing.T) {
	now := metav1.Now()
	for annotation, value := range map[string]string{"karpenter.sh/do-not-disrupt": "true",
		"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true", "karpenter.sh/nodepool": "true"} {
		kept, leaving, other := aNode("n1", "4", "8Gi"), aNode("n2", "4", "8Gi"), aNode("n3", "4", "8Gi")
		kept.Annotations = map[string]string{annotation: value}
		leaving.Annotations, leaving.DeletionTimestamp = kept.Annotations, &now
		other.Annotations = map[string]string{annotation: "false"}

		s := build([]*v1.Node{kept, leaving, other}, aPod("p", "n1"))

		want := ""
		if annotation != "karpenter.sh/nodepool" {
			want = annotation
		}
		for i, reason := range []string{want, "", ""} {
			if got := s.Message.Nodes[i].IrremovableReason; got != reason {
				t.Errorf("%s on node %d: %q, want %q", annotation, i+1, got, reason)
			}
		}
		if _, stays := s.InUse(map[types.UID]string{"uid-p": "n3"})["n1"]; stays != (want != "") {
			t.Errorf("%s: in use when its pod has moved: %t", annotation, stays)
		}
	}
}

// With a disruption budget, an owner says which disruptions the pods can bear. Without one, a singleton, and a pod whose
// replacement waits until it is gone, stay where they are. The other replica may die, or the budget be deleted, between a
// plan and its last eviction: the live pod is looked at again, but for what budgets allow, which the Eviction API knows.
func TestASingletonIsMovedOnlyUnderABudget(t *testing.T) {
	now := metav1.Now()
	other := func(changes ...func(*v1.Pod)) *v1.Pod { return aPod("other", "n1", changes...) }
	foreign := func(pod *v1.Pod) { pod.OwnerReferences[0].UID = "rs-b" }
	under := func(app string, allowed int32) []*policyv1.PodDisruptionBudget {
		return []*policyv1.PodDisruptionBudget{aBudget("b", app, allowed)}
	}
	applied := rules()
	applied.KeepSingletons, applied.KeepStatefulSets = true, true
	for name, c := range map[string]struct {
		other   *v1.Pod
		kind    string
		budgets []*policyv1.PodDisruptionBudget
		rules   snapshot.Rules
		want    string
	}{
		"beside a ready one":       {other(ready), "ReplicaSet", nil, applied, ""},
		"beside one not ready":     {other(), "ReplicaSet", nil, applied, snapshot.Singleton},
		"beside a stranger":        {other(ready, foreign), "ReplicaSet", nil, applied, snapshot.Singleton},
		"beside one that leaves":   {other(ready, func(p *v1.Pod) { p.DeletionTimestamp = &now }), "ReplicaSet", nil, applied, snapshot.Singleton},
		"alone under a budget":     {other(ready, foreign), "ReplicaSet", under("a", 1), applied, ""},
		"alone, the budget spent":  {other(ready, foreign), "ReplicaSet", under("a", 0), applied, snapshot.DisruptionBudget},
		"under a budget of others": {other(), "ReplicaSet", under("b", 1), applied, snapshot.Singleton},
		"alone, which may go":      {other(), "ReplicaSet", nil, rules(), ""},
		"stateful without budget":  {other(ready), "StatefulSet", nil, applied, snapshot.StatefulSet},
		"stateful under a budget":  {other(ready), "StatefulSet", under("a", 1), applied, ""},
		"stateful, budget is none": {other(ready), "StatefulSet", under("a", 0), applied, snapshot.DisruptionBudget},
	} {
		pod := aPod("p", "n1", ready, ownedBy(c.kind))
		siblings := []*v1.Pod{pod}
		if c.other.OwnerReferences[0].UID == pod.OwnerReferences[0].UID {
			siblings = append(siblings, c.other)
		}

		s := snapshot.Build(snapshot.Input{Nodes: n1(),
			Pods: []*v1.Pod{pod, c.other}, Budgets: c.budgets, Rules: c.rules})
		live := snapshot.UnbudgetedNow(pod, c.rules, 0, func() []*policyv1.PodDisruptionBudget { return c.budgets },
			func() []*v1.Pod { return siblings })

		if got := s.Pods[pod.UID].Immovable; got != c.want || live != strings.TrimPrefix(c.want, snapshot.DisruptionBudget) {
			t.Errorf("%s: %q, and right before the eviction %q, want %q", name, got, live, c.want)
		}
	}
	alone := aPod("a", "n1", ready)
	if got := snapshot.UnbudgetedNow(alone, applied, 1, func() []*policyv1.PodDisruptionBudget { return nil },
		func() []*v1.Pod { return []*v1.Pod{alone} }); got != "" {
		t.Errorf("the plan has left the other one unplaced: %q", got)
	}
	if !snapshot.IsPassing(snapshot.Singleton) || snapshot.IsPassing(snapshot.StatefulSet) {
		t.Error("a pod that is the only ready one may get siblings; a StatefulSet's stays one")
	}
}

// A pod that is not ready is of no use to its workload, and the Eviction API lets it go although the budget allows nothing: to
// keep it would be a false proof. It must not use up what the budget allows to the others.
func TestPodsThatAreNotReadyGoAsTheEvictionAPILetsThem(t *testing.T) {
	always, ifHealthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	type counts struct{ allowed, healthy, desired int32 }
	cases := map[string]struct {
		policy  *policyv1.UnhealthyPodEvictionPolicyType
		status  counts
		change  func(*policyv1.PodDisruptionBudget)
		unready string
		exempt  bool
		ready   string
	}{
		"enough are healthy":            {nil, counts{0, 2, 2}, nil, "", true, snapshot.DisruptionBudget},
		"enough, and it is said":        {&ifHealthy, counts{0, 2, 2}, nil, "", true, snapshot.DisruptionBudget},
		"more than enough":              {nil, counts{1, 3, 2}, nil, "", true, ""},
		"too few are healthy":           {nil, counts{0, 1, 2}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"too few, and always allowed":   {&always, counts{0, 1, 2}, nil, "", true, snapshot.DisruptionBudget},
		"none need to be healthy":       {nil, counts{0, 2, 0}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"none need to be, two may go":   {nil, counts{2, 2, 0}, nil, "", false, ""},
		"no status yet, always allowed": {&always, counts{}, nil, "", true, snapshot.DisruptionBudget},
		"the status is of an earlier spec": {nil, counts{1, 3, 2}, func(b *policyv1.PodDisruptionBudget) { b.Generation = 2 },
			"", true, snapshot.DisruptionBudget},
		"negative": {nil, counts{-1, 1, 2}, nil, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
		"the selector cannot be read": {&always, counts{1, 3, 2}, func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}
		}, snapshot.DisruptionBudget, false, snapshot.DisruptionBudget},
	}
	for name, c := range cases {
		budget := aBudget("b", "a", c.status.allowed)
		budget.Spec.UnhealthyPodEvictionPolicy = c.policy
		budget.Status.CurrentHealthy, budget.Status.DesiredHealthy = c.status.healthy, c.status.desired
		if c.change != nil {
			c.change(budget)
		}
		in := snapshot.Input{Nodes: n1(), Pods: []*v1.Pod{aPod("unready", "n1"), aPod("ready", "n1", ready)},
			Budgets: []*policyv1.PodDisruptionBudget{budget}, Rules: rules()}

		s := snapshot.Build(in)

		unready, healthy := s.Pods["uid-unready"], s.Pods["uid-ready"]
		if unready.Immovable != c.unready || unready.Exempt != c.exempt || healthy.Immovable != c.ready || healthy.Exempt {
			t.Errorf("%s: not ready %q, exempt %t; ready %q, exempt %t", name, unready.Immovable, unready.Exempt, healthy.Immovable, healthy.Exempt)
		}
		if sent := s.Message.Pods[1]; sent.Name != "unready" || sent.ExemptFromBudget != c.exempt {
			t.Errorf("%s: the optimiser gets %v", name, sent)
		}
		// Kubernetes does not validate a status, and the optimiser refuses a snapshot with such a number.
		if sent := s.Message.DisruptionBudgets; len(sent) > 0 && sent[0].DisruptionsAllowed != max(0, healthy.Budgets[0].Allowed) {
			t.Errorf("%s: the optimiser is told that %d may go", name, sent[0].DisruptionsAllowed)
		}

		in.Budgets = append(in.Budgets, aBudget("second", "a", 5))
		if both := snapshot.Build(in).Pods["uid-unready"]; both.Immovable != snapshot.DisruptionBudget || both.Exempt {
			t.Errorf("%s, and a second budget: %q, exempt %t", name, both.Immovable, both.Exempt)
		}
	}
}
