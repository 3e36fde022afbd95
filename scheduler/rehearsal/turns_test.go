package rehearsal_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/resources"
)

// Two pods wait for most of a device each, and one leaves the first of the two. The scheduler gives each the first that fits:
// only in their turns, after the one has left, do they get the devices of the plan. Other devices than those are told.
func TestPodsThatShareDevicesComeInTurn(t *testing.T) {
	fleet := newFleet(byShare, gpusOf("a1", sharedGPU("g0"), sharedGPU("g1")), gpusOf("a2", sharedGPU("g2"))).
		with("leaves", "a1", "g0").with("one", "", "").with("two", "", "")
	at := newClusterCounting(t, resources.NewCatalogue(), &refusing{}, fleet.objects, nodes("a1", "a2"), fleet.pods...)
	for text, c := range map[string]struct {
		one, two    int32 // turns
		device      map[string]string
		differences int
	}{
		"as planned":           {2, 1, map[string]string{"one": "a1/g1", "two": "a1/g0", "leaves": "a2/g2"}, 0},
		"in the other's turn":  {1, 2, map[string]string{"one": "a1/g0", "two": "a1/g1", "leaves": "a2/g2"}, 2},
		"the order is of none": {0, 0, nil, 0},
	} {
		of := at.planOf("one>a1 two>a1 leaves>a2")
		give := func(step *plan.Step, turn int32, device string) {
			if turn > 0 {
				step.Turn, step.Devices = turn, []string{driver + "/" + device}
			}
		}
		give(&of.Placements[0], c.one, "a1/g1")
		give(&of.Placements[1], c.two, "a1/g0")
		if c.one > 0 {
			give(&of.Moves[0], 3, "a2/g2")
		}

		outcome := at.outcome(t, of)

		devices := map[string]string{}
		for uid, claims := range outcome.Claims {
			for _, result := range claims[0].Status.Allocation.Devices.Results {
				devices[string(uid)] = result.Pool + "/" + result.Device
			}
		}
		if len(outcome.Refusals) > 0 || c.device != nil && !maps.Equal(devices, c.device) || len(outcome.Differences) != c.differences {
			t.Errorf("%s: refused %v, devices %v, differences %v", text, outcome.Refusals, devices, outcome.Differences)
		}
		for _, one := range outcome.Differences {
			if want := fmt.Sprint([]string{driver + "/" + c.device[string(one.Pod.Object.UID)]}); fmt.Sprint(one.Came) != want || one.Node != "a1" {
				t.Errorf("%s: %+v, want %s", text, one, want)
			}
		}
	}
}

// Who is refused in its turn keeps those after it away: what they would get without it is none of the plan.
func TestWhoIsRefusedInItsTurnIsTheOneThatIsNamed(t *testing.T) {
	fleet := newFleet(byShare, gpusOf("a1", sharedGPU("g0"), sharedGPU("g1"))).with("one", "", "").with("two", "", "")
	at := fleet.cluster(t, &refusing{app: "two", node: "a1"}, "a1")
	of := at.planOf("one>a1 two>a1")
	of.Placements[0].Turn, of.Placements[1].Turn = 2, 1

	if got := at.replay(t, of); !maps.Equal(got, map[string]string{"two on a1": "Refusing"}) {
		t.Errorf("refused %v", got)
	}
}
