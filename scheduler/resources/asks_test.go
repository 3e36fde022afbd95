package resources

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
)

// changed is a request for one device of the class "gpu" with a change.
func changed(change func(*resourceapi.ExactDeviceRequest)) resourceapi.DeviceRequest {
	request := exactly("gpu", 1)
	change(request.Exactly)
	return request
}

// A pod that waits in silence, because a plan counts what it does not understand, is worse than a refusal.
func TestEachKindOfClaimThatIsNoAmountIsRefusedByItsName(t *testing.T) {
	counted, bound := aSlice("c", "counted"), aSlice("b", "bound")
	counted.Spec.Devices[0].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "x"}}
	counted.Spec.Devices[0].AllowMultipleAllocations = ptr.To(true)
	bound.Spec.Devices[0].BindingConditions = []string{"attached"}
	far := aSlice("f", "far")
	far.Spec.NodeName, far.Spec.AllNodes = nil, ptr.To(true)
	constrained := aTemplate("t", exactly("gpu", 1))
	constrained.Spec.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To[resourceapi.FullyQualifiedName]("a/b")}}
	ofModel := func(model string) *resourceapi.ResourceClaimTemplate {
		return aTemplate("t", exactly("gpu", 1, `device.attributes["`+driver+`"].model == "`+model+`"`))
	}
	rows := map[string]*resourceapi.ResourceClaimTemplate{
		templateMissing + " t":        nil,
		requestOfAll + " gpu":         aTemplate("t", changed(func(r *resourceapi.ExactDeviceRequest) { r.AllocationMode, r.Count = "All", 0 })),
		adminAccess + " gpu":          aTemplate("t", changed(func(r *resourceapi.ExactDeviceRequest) { r.AdminAccess = ptr.To(true) })),
		constraints:                   constrained,
		unknownKind:                   aTemplate("t", resourceapi.DeviceRequest{Name: "r"}),
		partitionedDevice + " gpu":    ofModel("counted"),
		bindingConditions + " gpu":    ofModel("bound"),
		beyondOneNode + " gpu":        ofModel("far"),
		unreadableSelectors + " gpu":  aTemplate("t", exactly("gpu", 1, `device.attributes["`+driver+`"].nothing`)),
		"":                            aTemplate("t", exactly("gpu", 32)),
		unknownKind + " ":             aTemplate("t", exactly("gpu", 20), exactly("gpu", 20)),
		unknownKind + "  ":            aTemplate("t", changed(func(r *resourceapi.ExactDeviceRequest) { r.AllocationMode = "Some" })),
		unreadableSelectors + "  gpu": aTemplate("t", exactly("gpu", 1, `no expression`)),
	}
	for want, template := range rows {
		objects := []runtime.Object{aClass("gpu", ""), aSlice("n", "plain"), counted, bound, far}
		if template != nil {
			objects = append(objects, template)
		}
		if want == "" || strings.HasPrefix(want, unknownKind) {
			objects = append(objects[:2:2], template) // whole devices alone
		}
		c, pod := newCluster(t, objects...), aPod("p", "", "t")
		asked := c.book.Devices(pod)
		got := asked.Refused
		if len(got) == 0 {
			got = c.book.DevicesRefused(asked.Asks)
		}
		if want = strings.Join(strings.Fields(want), " "); want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("refused for %q, want %q", got, want)
		}
	}

	// The other reasons need more than a template; the rest of these tests has them.
	rows[namedClaim], rows[closedDevice], rows[alreadyAllocated], rows[devicesOverlap] = nil, nil, nil, nil
	rows[requestNotRead], rows[withNodeResources], rows[derivedAttributes] = nil, nil, nil // the last two are alpha
	rows[alternatives], rows[requestOfCapacity], rows[sharedDevice] = nil, nil, nil        // where the allocator does not know them
	for _, reason := range reasons(t) {
		if !slices.ContainsFunc(rowsOf(rows), func(row string) bool { return strings.HasPrefix(row, reason) }) {
			t.Errorf("no row for the reason %q", reason)
		}
	}
}

func rowsOf[V any](rows map[string]V) (names []string) {
	for name := range rows {
		names = append(names, name)
	}
	return names
}

// reasons are those that the code declares.
func reasons(t *testing.T) (found []string) {
	t.Helper()
	for _, file := range []string{"asks.go", "inventory.go"} {
		parsed := testobjects.Value(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
		ast.Inspect(parsed, func(node ast.Node) bool {
			if declared, ok := node.(*ast.GenDecl); ok && declared.Tok == token.CONST {
				for _, spec := range declared.Specs {
					value := spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit)
					found = append(found, testobjects.Value(strconv.Unquote(value.Value))(t))
				}
			}
			return true
		})
	}
	if len(found) < 15 {
		t.Fatalf("reasons %v", found)
	}
	return found
}

// It keeps its users on one node, and outlives them.
func TestANamedClaimIsRefused(t *testing.T) {
	c, pod := newCluster(t, aSlice("n1", "a")), aPod("p", "", "t")
	pod.Spec.ResourceClaims[0] = v1.PodResourceClaim{Name: "c", ResourceClaimName: ptr.To("mine")}

	if got := c.book.Devices(pod).Refused; !slices.Equal(got, []string{namedClaim + " mine"}) {
		t.Errorf("refused for %v", got)
	}
}

// A replacement is told by what it asks for when it comes, and its claim is made later.
func TestAPodAsksTheSameBeforeAndAfterItsClaimIsMade(t *testing.T) {
	template := aTemplate("t", exactly("gpu", 2, `device.attributes["`+driver+`"].model == "a"`), exactly("gpu", 1))
	template.Spec.Spec.Devices.Requests[1].Exactly.Tolerations = []resourceapi.DeviceToleration{{Operator: "Exists"}}
	comes, waits := aPod("p", "", "t"), aPod("p", "", "t")
	claim := claimOf(waits, template, "")
	c := newCluster(t, aClass("gpu", ""), aSlice("n1", "a", "b"), template, claim)

	before, after := c.book.Devices(comes), c.book.Devices(waits)
	if !slices.Equal(before.Asks, after.Asks) || len(before.Asks) != 2 || len(before.Refused)+len(after.Refused) > 0 {
		t.Errorf("it asks for %+v, then for %+v", before, after)
	}
	if !c.book.Needs(comes).Equal(c.book.Needs(waits)) {
		t.Error("it needs something else when its claim is made")
	}
	if none := testobjects.With(aPod("p", "", "t"), func(pod *v1.Pod) {
		pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "t"}}
	}); len(c.book.Devices(none).Asks) > 0 {
		t.Error("a pod that needs no claim asks for devices")
	}
}

// The order of requests, and whether they are in one claim, decide nothing: equal pods are of one class.
func TestPodsThatAskForTheSameAreAlike(t *testing.T) {
	one, other := exactly("gpu", 1), exactly("a", 2)
	c := newCluster(t, aClass("gpu", ""), aClass("a", "a"), aSlice("n1", "a", "a", "b"), aTemplate("both", one, other),
		aTemplate("reversed", other, one), aTemplate("first", one), aTemplate("second", other))
	want := []string{"a×2", "gpu×1"}

	for _, templates := range [][]string{{"both"}, {"reversed"}, {"first", "second"}, {"second", "first"}} {
		if got := c.book.Devices(aPod("p", "", templates...)).Asks; !slices.Equal(got, want) {
			t.Errorf("%v asks for %v, want %v", templates, got, want)
		}
	}
}

// Init containers run before the others and give their devices on; sidecars keep theirs.
func TestExtendedResourceCountsAsTheSchedulersOwnClaimDoes(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	container := func(amount string, policy *v1.ContainerRestartPolicy) v1.Container {
		return v1.Container{Name: "c", RestartPolicy: policy,
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{gpu: resource.MustParse(amount)}}}
	}
	for name, row := range map[string]struct {
		init, main []v1.Container
		want       string
	}{
		"two containers":         {nil, []v1.Container{container("1", nil), container("2", nil)}, "example.com_gpu×3"},
		"a large init container": {[]v1.Container{container("4", nil)}, []v1.Container{container("1", nil)}, "example.com_gpu×4"},
		"a sidecar":              {[]v1.Container{container("2", &always)}, []v1.Container{container("1", nil)}, "example.com_gpu×3"},
		"none of it":             {nil, []v1.Container{container("0", nil)}, ""},
	} {
		c, pod := newCluster(t, aNode("n1"), served(aClass("gpu", "")), aSlice("n1", "a", "a", "a", "a", "a")), aPod("p", "")
		pod.Spec.InitContainers, pod.Spec.Containers = row.init, row.main

		asked := c.book.Devices(pod)
		if got := strings.Join(asked.Asks, " "); got != row.want || len(asked.Refused) > 0 {
			t.Errorf("%s asks for %q, want %q; refused for %v", name, got, row.want, asked.Refused)
		}
	}
}

// A class may serve a resource of which drivers have published no device yet: nodes that list it count it.
func TestAResourceOfAClassWithoutDevicesIsAPlainAmount(t *testing.T) {
	c, pod := newCluster(t, aNode("n1"), served(aClass("gpu", "no such model")), aSlice("n1", "a")), extended(aPod("p", ""), "2")

	if needs := c.book.Needs(pod); needs.Of(gpu) != 2 || !needs.WithoutDevices().Equal(needs) || len(c.book.Devices(pod).Asks) > 0 {
		t.Errorf("the pod needs %+v and asks for %v", needs, c.book.Devices(pod).Asks)
	}
}
