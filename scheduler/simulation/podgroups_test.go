package simulation_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

// gang is a pod group that needs so many of its pods at once.
func gang(t *testing.T, name string, minCount int) simulation.Object {
	t.Helper()
	kind := schema.FromAPIVersionAndKind("scheduling.k8s.io/v1beta1", "PodGroup")
	if !scheme.Scheme.Recognizes(kind) {
		t.Skip("this minor has no pod groups of this version")
	}
	var object simulation.Object
	text := fmt.Sprintf(`{"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": %q},
		"spec": {"schedulingPolicy": {"gang": {"minCount": %d}}}}`, name, minCount)
	testobjects.Must(t, json.Unmarshal([]byte(text), &object))
	return object
}

func memberOf(group string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: ptr.To(group)} }
}

// Such an attempt ends for several pods at once. A simulation that waits for one end an attempt never ends.
func TestPodGroupsArePlacedAsTheSchedulerDoes(t *testing.T) {
	groups := []simulation.Object{gang(t, "fitting", 3), gang(t, "large", 3), gang(t, "spare", 2)}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	for _, profile := range []string{"default", "deterministic", "score-cache"} {
		for _, arrival := range []simulation.Arrival{simulation.InTurn, simulation.AtOnce} {
			t.Run(profile+" "+string(arrival), func(t *testing.T) {
				instance := simulation.Instance{ID: "gangs", Nodes: nodes(4, 1000, gib), Arrival: arrival, Objects: groups}
				for i, cpu := range []int64{600, 600, 600, 900, 900, 900, 400, 400, 400} {
					group := []string{"fitting", "large", "spare"}[i/3]
					instance.Pods = append(instance.Pods, pod(fmt.Sprintf("%s-%d", group, i%3), cpu, 1, memberOf(group)))
				}
				instance.Pods = append(instance.Pods, pod("alone", 100, 1))
				result := place(t, profile, instance)
				for name, node := range result.Placements {
					if pending := strings.HasPrefix(name, "default/large"); pending != (node == "") {
						t.Errorf("%s is on %q", name, node)
					}
				}
				if why := result.Reasons["default/large-0"]; why == "" {
					t.Error("nobody says why large-0 is pending")
				}
			})
		}
	}
}

// A plan keeps the gangs that its snapshot tells of, so these must be the groups that the scheduler keeps.
func TestTheSnapshotTellsOfTheGroupsThatTheSchedulerKeeps(t *testing.T) {
	groups := []simulation.Object{gang(t, "gang", 2), gang(t, "unused", 3)}
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, true)
	message := &contract.Snapshot{}
	testobjects.Must(t, protojson.Unmarshal(answered(t, question(simulation.Instance{Nodes: nodes(2, 1000, gib), Objects: groups,
		Pods: []v1.Pod{pod("member-0", 600, 1, memberOf("gang")), pod("member-1", 600, 1, memberOf("gang"))}})).Snapshot, message))

	if len(message.Gangs) != 1 || !proto.Equal(message.Gangs[0], &contract.Gang{Id: "default/gang", MinCount: 2}) {
		t.Errorf("the gangs are %v", message.Gangs)
	}
	for _, class := range message.PodClasses {
		if class.Gang != "default/gang" {
			t.Errorf("class %s is of gang %q", class.Id, class.Gang)
		}
	}
}

// A scheduler that knows of no groups would place their pods one by one, and that is told as what fits.
func TestNoMemberOfAPodGroupIsPlacedWithoutItsGroup(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, false)
	members := func() simulation.Instance {
		return simulation.Instance{ID: "gang", Nodes: nodes(2, 1000, gib), Pods: []v1.Pod{
			pod("member-0", 600, 1, memberOf("gang")), pod("member-1", 600, 1, memberOf("gang")), pod("alone", 100, 1)}}
	}
	check := func(t *testing.T, placements, reasons map[string]string) {
		t.Helper()
		if placements["default/alone"] == "" {
			t.Error("the pod without a group should have a node")
		}
		for _, name := range []string{"default/member-0", "default/member-1"} {
			if placements[name] != "" || !strings.Contains(reasons[name], "pod group") {
				t.Errorf("%s is on %q: %s", name, placements[name], reasons[name])
			}
		}
	}
	for _, profile := range []string{"default", "deterministic"} {
		for _, arrival := range []simulation.Arrival{simulation.InTurn, simulation.AtOnce} {
			t.Run(profile+" "+string(arrival), func(t *testing.T) {
				instance := members()
				instance.Arrival = arrival
				result := place(t, profile, instance)
				check(t, result.Placements, result.Reasons)
			})
		}
	}
	t.Run("asked what fits", func(t *testing.T) {
		answer, err := simulatorOf(t, profileFolder+"/deterministic.yaml").Answer(t.Context(),
			simulation.Question{Instance: members(), Continue: 60})
		testobjects.Must(t, err)
		check(t, answer.Continued.Placements, answer.Continued.Reasons)
	})
}
