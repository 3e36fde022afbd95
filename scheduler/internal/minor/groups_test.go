//go:build !k8s136

package minor_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	st "k8s.io/kubernetes/pkg/scheduler/testing"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// The scheduler asks a plugin that embeds it.
var _ fwk.PodGroupPostFilterPlugin = struct {
	fwk.Plugin
	minor.GroupPostFilter
}{}

// named is a pod group of that name.
func named(name string) *st.PodGroupWrapper { return st.MakePodGroup().Namespace("default").Name(name) }

// What the scheduler does with a group's pods is up to the group's object, so plans depend on what is read of it.
func TestAGroupIsWhatItsObjectSays(t *testing.T) {
	for _, gate := range []featuregate.Feature{features.GenericWorkload, features.TopologyAwareWorkloadScheduling} {
		featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, gate, true)
	}
	claim := schedulingv1beta1.PodGroupResourceClaim{Name: "gpus"}
	rows := map[string]struct {
		object *st.PodGroupWrapper
		want   minor.Group
	}{
		"gang":   {named("gang").MinCount(3).Priority(5), minor.Group{Gang: true, MinCount: 3, Priority: 5}},
		"basic":  {named("basic").BasicPolicy(), minor.Group{MinCount: 1}},
		"whole":  {named("whole").MinCount(2).DisruptionModeAll(), minor.Group{Gang: true, MinCount: 2, LeavesWhole: true}},
		"single": {named("single").BasicPolicy().DisruptionModeSingle(), minor.Group{MinCount: 1}},
		"rack":   {named("rack").MinCount(2).TopologyKey("rack"), minor.Group{Gang: true, MinCount: 2, TopologyKey: "rack"}},
		"child":  {named("child").BasicPolicy().ParentCompositePodGroup("all"), minor.Group{MinCount: 1, Parent: "all"}},
		"claims": {named("claims").BasicPolicy().ResourceClaims(claim), minor.Group{MinCount: 1, HasClaims: true}},
		"never": {named("never").BasicPolicy().PreemptionPolicy(schedulingv1beta1.PreemptNever),
			minor.Group{MinCount: 1, PreemptionPolicy: v1.PreemptNever}},
	}
	var objects []runtime.Object
	for _, row := range rows {
		objects = append(objects, row.object.Obj())
	}
	for _, policies := range []bool{false, true} {
		t.Run(fmt.Sprintf("groups have preemption policies %t", policies), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.PodGroupPreemptionPolicy, policies)
			handle := testobjects.NewHandle(objects...)
			find := minor.Groups(handle)
			handle.Sync(t)
			for name, row := range rows {
				want := row.want
				switch {
				case !policies: // the scheduler takes that of the pods
					want.PreemptionPolicy = ""
				case want.PreemptionPolicy == "":
					want.PreemptionPolicy = v1.PreemptLowerPriority
				}
				if got, known := find("default", name); !known || got != want {
					t.Errorf("group %s: known %t, %+v, want %+v", name, known, got, want)
				}
			}
			if _, known := find("other", "gang"); known {
				t.Error("a group is found in a namespace that has none")
			}
		})
	}
}

// Where the feature is off, no groups may be served: a scheduler that asks for them waits for ever.
func TestNoGroupsAreKnownWithoutTheFeature(t *testing.T) {
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.GenericWorkload, false)
	handle := testobjects.NewHandle()
	find := minor.Groups(handle)
	handle.Sync(t)
	if find != nil || len(handle.Informers.WaitForCacheSync(t.Context().Done())) > 0 {
		t.Error("groups are watched")
	}
}
