package simulation_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/simulation"
)

// The next minor may list a kind that this one did not: what-if must read it, and say what it cannot judge where it may
// not, and the simulation must let it in.
func TestEveryKindThatTheSchedulerListsIsRead(t *testing.T) {
	listed := testobjects.Value(simulatorOf(t, profileFolder+"/deterministic.yaml").Listed(t.Context()))(t)
	listed.Delete(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	listed.Delete(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	known, names := sets.New[schema.GroupVersionResource](), sets.New[string]()
	for kind := range simulation.Kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		known.Insert(resource)
	}
	for kind := range simulation.KindsOfAnyMinor {
		names.Insert(kind.Kind)
	}
	if !known.Equal(listed) {
		t.Errorf("listed, and not in Kinds: %v; in Kinds, and not listed: %v",
			listed.Difference(known).UnsortedList(), known.Difference(listed).UnsortedList())
	}
	content := testobjects.Value(os.ReadFile("../../testbed/stowage_testbed/whatif/objects.yaml"))(t)
	var read struct {
		Kinds map[string]string `json:"kinds"`
	}
	testobjects.Must(t, yaml.Unmarshal(content, &read))
	if of := sets.New(slices.Collect(maps.Keys(read.Kinds))...); !of.Equal(names) {
		t.Errorf("what-if reads %v, the simulations let in %v", sets.List(of), sets.List(names))
	}
}
