package snapshot_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// inGroup has the pod belong to the pod group of that name.
func inGroup(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To(name)} }
}

// groups are those that the scheduler knows, by namespace and name.
type groups map[string]minor.Group

func (g groups) find(namespace, name string) (minor.Group, bool) {
	found, exists := g[namespace+"/"+name]
	return found, exists
}

// withGroups is the state of n1 with these pods.
func withGroups(known groups, pods ...*v1.Pod) snapshot.Input {
	return snapshot.Input{ID: "s", Nodes: n1(), Pods: pods, Rules: rules(), Groups: known.find}
}

// classOf is what the optimiser gets about the pod's class.
func classOf(t *testing.T, s *snapshot.Snapshot, pod *v1.Pod) *contract.PodClass {
	t.Helper()
	at := slices.IndexFunc(s.Message.PodClasses, func(one *contract.PodClass) bool { return one.Id == s.Pods[pod.UID].Class })
	if at < 0 {
		t.Fatalf("the optimiser does not get the class of %s", pod.Name)
	}
	return s.Message.PodClasses[at]
}

func gangOf(minCount int32) minor.Group { return minor.Group{Gang: true, MinCount: minCount} }

// The optimiser keeps a gang if it is told which pods are of it, and how many are enough. It refuses a gang of which a class
// is left alone, so it must be told of that class too.
func TestEveryGroupThatTheSchedulerKnowsIsAGangOfItsPods(t *testing.T) {
	whole := gangOf(2)
	whole.LeavesWhole = true
	runs, waits, claims := aPod("runs", "n1", inGroup("whole")), aPod("waits", "", inGroup("whole")),
		aPod("claims", "", inGroup("whole"), mounting("open"))
	large, basic := aPod("large", "", inGroup("large")), aPod("basic", "", inGroup("basic"))
	alone, elsewhere := aPod("alone", ""), aPod("elsewhere", "", inGroup("unknown"))
	s := snapshot.Build(withGroups(groups{"default/whole": whole, "default/large": gangOf(8), "default/basic": {MinCount: 1},
		"default/unused": gangOf(2), "other/unknown": gangOf(2)}, runs, waits, claims, large, basic, alone, elsewhere))

	want := []*contract.Gang{{Id: "default/basic", MinCount: 1}, {Id: "default/large", MinCount: 8},
		{Id: "default/whole", MinCount: 2, LeavesWhole: true}}
	if !slices.EqualFunc(s.Message.Gangs, want, func(a, b *contract.Gang) bool { return proto.Equal(a, b) }) {
		t.Errorf("the gangs are %v, want %v", s.Message.Gangs, want)
	}
	for pod, want := range map[*v1.Pod]string{runs: "default/whole", waits: "default/whole", claims: "default/whole",
		large: "default/large", basic: "default/basic", alone: "", elsewhere: ""} {
		if got := classOf(t, s, pod).Gang; got != want {
			t.Errorf("%s is of gang %q, want %q", pod.Name, got, want)
		}
	}
	if s.Pods[runs.UID].Class != s.Pods[waits.UID].Class {
		t.Error("a replacement is of another class than the pod that it replaces")
	}
}

// A group that a plan could not keep as the scheduler does is left alone whole, and the reason says what it has.
func TestAGroupThatPlansCannotKeepIsLeftAloneByName(t *testing.T) {
	plain := func(*v1.Pod) {}
	never := func(pod *v1.Pod) { pod.Spec.PreemptionPolicy = ptr.To(v1.PreemptNever) }
	gated := func(pod *v1.Pod) { pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "g"}} }
	another := func(pod *v1.Pod) { pod.Spec.SchedulerName = "other" }
	finished := func(pod *v1.Pod) {
		pod.Status.Phase = v1.PodSucceeded
		priority(5)(pod)
	}
	for name, row := range map[string]struct {
		group  minor.Group
		member func(*v1.Pod)
		want   string
	}{
		"plain":                 {minor.Group{}, plain, ""},
		"of a composite group":  {minor.Group{Parent: "all"}, plain, "pod-group-composite"},
		"with claims":           {minor.Group{HasClaims: true}, plain, "pod-group-claims"},
		"in one rack":           {minor.Group{TopologyKey: "rack"}, plain, ""},
		"for two reasons":       {minor.Group{Parent: "all", HasClaims: true}, plain, "pod-group-claims pod-group-composite"},
		"of another priority":   {minor.Group{Priority: 5}, plain, "pod-group-priority"},
		"of several priorities": {minor.Group{}, priority(5), "pod-group-priority"},
		"of another policy":     {minor.Group{PreemptionPolicy: v1.PreemptNever}, plain, "pod-group-preemption-policy"},
		"of several policies":   {minor.Group{}, never, "pod-group-preemption-policy"},
		"of several schedulers": {minor.Group{}, another, "pod-group-scheduler"},
		"with a gated pod":      {minor.Group{}, gated, "pod-group-gated"},
		"with a finished pod":   {minor.Group{}, finished, ""},
	} {
		pod, member := aPod("pod", "n1", inGroup("g")), aPod("member", "", inGroup("g"), row.member)
		row.group.Gang, row.group.MinCount = true, 2
		input := withGroups(groups{"default/g": row.group}, pod, member)
		untried := input
		untried.Pods, untried.Untried = []*v1.Pod{pod}, []*v1.Pod{member}
		for _, one := range []snapshot.Input{input, untried} {
			for _, class := range snapshot.Build(one).Message.PodClasses {
				if got := strings.Join(class.Unsupported, " "); got != row.want {
					t.Errorf("%s, %d pods untried: class %s is unsupported for %q", name, len(one.Untried), class.Id, got)
				}
			}
		}
	}
}

// Nobody would keep the pods of such a group together: its object is missing, or the scheduler places its pods one by one.
func TestAGroupThatTheSchedulerDoesNotKnowIsLeftAlone(t *testing.T) {
	pod := aPod("p", "", inGroup("g"))
	missing := withGroups(groups{"other/g": gangOf(1), "default/another": gangOf(1)}, pod)
	none := missing
	none.Groups = nil
	for name, input := range map[string]snapshot.Input{"its object is missing": missing, "no groups are known": none} {
		s := snapshot.Build(input)
		of := classOf(t, s, pod)
		if !slices.Equal(of.Unsupported, []string{"pod-group"}) || of.Gang != "" || len(s.Message.Gangs) > 0 {
			t.Errorf("where %s, it is unsupported for %q, of the gangs %v", name, of.Unsupported, s.Message.Gangs)
		}
	}
}

// A pod of a gang that plans keep is planned for like any other; its group may change between a plan and its evictions.
func TestPodsOfAGangAreDisruptedWhilePlansKeepIt(t *testing.T) {
	runs, waits := aPod("runs", "n1", inGroup("g")), aPod("waits", "", inGroup("g"))
	for want, group := range map[string]minor.Group{"": gangOf(2), snapshot.Unsupported: {Gang: true, MinCount: 2, Parent: "all"}} {
		input := withGroups(groups{"default/g": group}, runs, waits)
		s := snapshot.Build(input)
		if got := s.Pods[runs.UID].Immovable; got != want || s.Pods[waits.UID].Unsupported != (want != "") {
			t.Errorf("%+v: immovable for %q; the waiting pod is left alone: %t", group, got, s.Pods[waits.UID].Unsupported)
		}
		if got := snapshot.ProtectedNow(runs, nil, input.Groups, nil, noon, rules()); got != want {
			t.Errorf("%+v: right before its eviction it stays for %q, want %q", group, got, want)
		}
	}
}

// Pods of a group come all at once, and shared devices are known in advance only where one comes after the other.
func TestAGroupWithSharedDevicesIsLeftAlone(t *testing.T) {
	waits, alone := aPod("waits", "", claiming("third"), inGroup("g")), aPod("alone", "", claiming("third"))
	input := withBook(t, []*v1.Pod{waits, alone}, ofModel("any", ""), shared("a", "b"), shareOf("third", "33"))
	input.Groups = groups{"default/g": gangOf(1)}.find
	s := snapshot.Build(input)

	if of := classOf(t, s, waits); !slices.Contains(of.Unsupported, "pod-group-shared-devices") || len(of.DeviceRequests) > 0 {
		t.Errorf("the group's pod is unsupported for %q, and asks for %v", of.Unsupported, of.DeviceRequests)
	}
	if of := classOf(t, s, alone); len(of.Unsupported) > 0 || len(of.DeviceRequests) != 1 {
		t.Errorf("the other pod is unsupported for %q, and asks for %v", of.Unsupported, of.DeviceRequests)
	}
}

// A group's minimum may change while its pods wait, and decides whether they have a place. No object of theirs changes then.
func TestTheFingerprintTellsHowManyPodsOfAGangAreEnough(t *testing.T) {
	printOf := func(group minor.Group) string {
		input := withGroups(groups{"default/g": group}, aPod("p", "", inGroup("g")))
		return snapshot.Build(input).Fingerprint()
	}
	prints := map[string]bool{}
	for _, group := range []minor.Group{gangOf(2), gangOf(3), {Gang: true, MinCount: 3, LeavesWhole: true}} {
		first, again := printOf(group), printOf(group)
		if first != again {
			t.Errorf("%+v: one state has two fingerprints", group)
		}
		prints[first] = true
	}
	if len(prints) != 3 {
		t.Errorf("3 states have %d fingerprints", len(prints))
	}
}

// A gang of which a class cannot be sent must not pass for a smaller gang.
func TestAClassThatIsTooLargeKeepsItsGang(t *testing.T) {
	odd := aPod("odd", "", inGroup("g"), requiring(v1.NodeSelectorRequirement{
		Key: "k", Operator: v1.NodeSelectorOpIn, Values: tooMany()}))
	s := snapshot.Build(withGroups(groups{"default/g": gangOf(2)}, odd, aPod("p", "", inGroup("g"))))

	if got := classOf(t, s, odd); got.Gang != "default/g" || !slices.Contains(got.Unsupported, "selectors-too-large") {
		t.Errorf("its gang is %q, and it is unsupported for %q", got.Gang, got.Unsupported)
	}
}

// A cluster without groups must get the answers that it got before there were any: the same message.
func TestWithoutGroupsTheMessageIsTheSame(t *testing.T) {
	input := withGroups(groups{"default/g": gangOf(2)}, aPod("runs", "n1"), aPod("waits", ""))
	known := snapshot.Build(input)
	input.Groups = nil
	if unknown := snapshot.Build(input); !proto.Equal(known.Message, unknown.Message) || known.Fingerprint() != unknown.Fingerprint() {
		t.Errorf("the message is %v where groups are known, else %v", known.Message, unknown.Message)
	}
}

// A plan under way survives an update of the scheduler only if its classes have the same IDs.
func TestIDsOfClassesWithoutGroupsStayTheSame(t *testing.T) {
	s := build(n1(), aPod("p", "n1"))
	if got, want := s.Pods["uid-p"].Class, "f702715cbd57e9a5"; got != want {
		t.Errorf("the class is %s, want %s", got, want)
	}
}
