package simulation

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/scheme"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// deviceCluster is a fleet in a simulation, with what a profile knows of it.
type deviceCluster struct {
	*run
	*fleet
	book      *resources.Book
	catalogue *resources.Catalogue
	rehearser *rehearsal.Framework
	view      *clusterview.View
	// binding is the node of the pod whose binding is under way.
	binding map[types.UID]string
	story   []string
	faults  []string
}

func (c *deviceCluster) tell(format string, args ...any) {
	c.story = append(c.story, fmt.Sprintf(format, args...))
}

func (c *deviceCluster) fail(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
	c.tell("FAULT %s", c.faults[len(c.faults)-1])
}

// tryFleets tries plans on random fleets, until three have shown a fault, and counts what happened. By the name, a run of one
// fleet finds the test.
func tryFleets(
	t *testing.T, bins bool, name string, tryPlan func(c *deviceCluster, counts map[string]int),
) map[string]int {
	t.Helper()
	// Without shares, the allocator gives out amounts.
	featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, features.DRAConsumableCapacity, bins)
	counts := map[string]int{}
	configuration, err := LoadConfiguration("")
	must(t, err)
	simulator, err := New(t.Context(), configuration, nil)
	must(t, err)
	faults := 0
	for seed := *seed; counts["plans"] < *runs && faults < 3; seed++ {
		c, err := simulator.newDeviceCluster(t.Context(), seed, bins)
		must(t, err)
		for range plansPerFleet {
			tryPlan(c, counts)
		}
		c.stop()
		if len(c.faults) > 0 {
			faults++
			t.Errorf("%s\n\n%s\ngo test ./simulation -run %s -args -runs=1 -seed=%d",
				strings.Join(c.faults, "\n"), strings.Join(c.story, "\n"), name, seed)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%s: %d", what, counts[what])
	}
	return counts
}

func (s *Simulator) newDeviceCluster(ctx context.Context, seed uint64, bins bool) (*deviceCluster, error) {
	random := newDeviceFleet(rand.New(rand.NewPCG(seed, 0)), bins)
	instance := Instance{ID: "i"}
	for _, object := range random.objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			return nil, err
		}
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
		instance.Objects = append(instance.Objects, Object{object})
	}
	instance.Pods = []v1.Pod{*random.newPod("")} // of which the namespace is needed
	r, err := s.start(ctx, instance, nil)
	if err != nil {
		return nil, err
	}
	profile := s.configuration.Profiles[0]
	handle := r.scheduler.Profiles[profile.SchedulerName]
	c := &deviceCluster{run: r, fleet: random, catalogue: resources.NewCatalogue(), binding: map[types.UID]string{}}
	if c.view, err = clusterview.New(handle, snapshot.Rules{SchedulerName: profile.SchedulerName}, c.catalogue); err != nil {
		return nil, err
	}
	c.book, c.view.InFlight = c.view.Book, func() map[types.UID]string { return maps.Clone(c.binding) }
	if c.rehearser, err = rehearsal.NewFramework(r.ctx, rehearsal.Profile{Original: handle, Configuration: profile,
		Without: []string{names.DefaultPreemption}, Devices: c.catalogue}, r.scheduler.Cache); err != nil {
		return nil, err
	}
	if err := r.watch(); err != nil {
		return nil, err
	}
	if err := r.addNodes(Instance{Nodes: nodesOf(random.nodes)}); err != nil {
		return nil, err
	}
	return c, c.fill()
}

func nodesOf(nodes []*v1.Node) (values []v1.Node) {
	for _, node := range nodes {
		values = append(values, *node)
	}
	return values
}

// fill has pods come, some with their node, and other claims.
func (c *deviceCluster) fill() error {
	for i := range c.IntN(3) {
		if err := c.holdByName(fmt.Sprintf("held%d", i)); err != nil {
			return err
		}
	}
	for range 4 + c.IntN(20) {
		node := some(c.fleet, c.nodes)
		pod := c.newPod(node.Name)
		if !c.bins && !c.takes(node, c.staying(&plan.Plan{}, node.Name), c.held(), pod) {
			continue
		}
		if err := c.add(pod); err != nil {
			return err
		}
	}
	if c.in(4) {
		if err := c.change(); err != nil {
			return err
		}
	}
	if c.in(3) {
		return c.beginToBind()
	}
	return nil
}

// add has a pod come; one that lacks devices on its node does not stay.
func (c *deviceCluster) add(pod *v1.Pod) error {
	before := len(c.reading.LeftOut)
	if err := c.storePod(pod); err != nil {
		return err
	}
	if len(c.reading.LeftOut) > before {
		return c.remove(podResource, pod.Namespace, pod.Name)
	}
	c.tell("%s on %q wants %v", pod.Name, pod.Spec.NodeName, c.wantedBy(pod))
	return nil
}

// holdByName has a claim that no pod of the cluster owns hold a device.
func (c *deviceCluster) holdByName(name string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name)}}
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{c.newWish().request("r", 1)}
	if err := c.put(deviceClaimResource, claim); err != nil {
		return err
	}
	pod.Spec = v1.PodSpec{NodeName: some(c.fleet, c.nodes).Name, Containers: []v1.Container{{Name: "c", Image: "i"}},
		ResourceClaims: []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &name}}}
	if err := c.add(pod); err != nil || c.in(2) {
		return err
	}
	// The controller has not noticed yet that the pod is gone.
	return utilerrors.FilterOut(c.api.tracker.Delete(podResource, pod.Namespace, pod.Name), apierrors.IsNotFound)
}

// change has something happen to devices that pods may have.
func (c *deviceCluster) change() error {
	at := c.IntN(len(c.slices))
	changed := c.slices[at].DeepCopy()
	switch devices := changed.Spec.Devices; {
	case len(devices) == 0 || c.in(3):
		changed.Spec.Pool.ResourceSliceCount++
		for i, other := range c.slices {
			if i != at && other.Spec.Driver == changed.Spec.Driver && other.Spec.Pool.Name == changed.Spec.Pool.Name {
				return nil // they would contradict each other
			}
		}
	case c.in(2):
		devices[c.IntN(len(devices))].Taints = []resourceapi.DeviceTaint{c.newTaint()}
	default:
		changed.Spec.Devices = devices[1:]
	}
	c.slices[at] = changed
	c.tell("slice %s changes", changed.Name)
	return c.put(resourceOf(versioned("resource.k8s.io/v1", "ResourceSlice")), changed.DeepCopy())
}

// beginToBind has the scheduler choose devices for a pod that it does not bind yet.
func (c *deviceCluster) beginToBind() error {
	pod := c.newPod("")
	if err := c.add(pod); err != nil {
		return err
	}
	pod, _ = c.api.pod(key(pod))
	plugin, err := c.devicePlugin()
	if err != nil {
		return err
	}
	state, info := framework.NewCycleState(), framework.NewNodeInfo()
	info.SetNode(some(c.fleet, c.nodes))
	if _, status := plugin.PreFilter(c.ctx, state, pod, []fwk.NodeInfo{info}); !status.IsSuccess() ||
		!plugin.Filter(c.ctx, state, pod, info).IsSuccess() || !plugin.Reserve(c.ctx, state, pod, info.Node().Name).IsSuccess() {
		return nil
	}
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = info.Node().Name
	c.binding[pod.UID] = assumed.Spec.NodeName
	c.tell("%s is being bound to %s", pod.Name, assumed.Spec.NodeName)
	return c.scheduler.Cache.AssumePod(klog.FromContext(c.ctx), assumed)
}

// held are all devices that the scheduler takes for allocated.
func (c *deviceCluster) held() sets.Set[string] {
	held := sets.New[string]()
	for id := range c.allocated().AllocatedDevices {
		held.Insert(id.String())
	}
	return held
}

func (c *deviceCluster) allocated() *structured.AllocatedState {
	state, err := c.claims().GatherAllocatedState()
	if err != nil {
		c.fail("%v", err)
		return &structured.AllocatedState{}
	}
	return state
}

func (c *deviceCluster) claims() fwk.ResourceClaimTracker {
	return c.scheduler.Profiles[v1.DefaultSchedulerName].SharedDRAManager().ResourceClaims()
}

// list are all claims.
func (c *deviceCluster) list() []*resourceapi.ResourceClaim {
	claims, err := c.claims().List()
	if err != nil {
		c.fail("%v", err)
	}
	return claims
}

// devicesHeld are those of the claims that were made for the pod.
func (c *deviceCluster) devicesHeld(uid types.UID) sets.Set[string] {
	held := sets.New[string]()
	for _, claim := range c.list() {
		if owner := metav1.GetControllerOf(claim); owner != nil && owner.UID == uid {
			held.Insert(idsOf(claim)...)
		}
	}
	return held
}

func idsOf(claim *resourceapi.ResourceClaim) (ids []string) {
	if claim.Status.Allocation != nil {
		for _, result := range claim.Status.Allocation.Devices.Results {
			ids = append(ids, strings.Join([]string{result.Driver, result.Pool, result.Device}, "/"))
		}
	}
	return ids
}

// allocatedBy says which device each request of the claims has.
func allocatedBy(claims []*resourceapi.ResourceClaim) (all []string) {
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for i, id := range idsOf(claim) {
			all = append(all, claim.Status.Allocation.Devices.Results[i].Request+"="+id)
		}
	}
	slices.Sort(all)
	return all
}

// everything is what a rehearsal must not change.
func (c *deviceCluster) everything() string {
	state := c.allocated()
	return fmt.Sprint(c.api.version, sets.List(c.held()), len(state.AllocatedSharedDeviceIDs), state.AggregatedCapacity,
		c.claimsAsTheyAre())
}

func (c *deviceCluster) claimsAsTheyAre() []string {
	var all []string
	for _, claim := range c.list() {
		all = append(all, fmt.Sprint(claim.Namespace, claim.Name, claim.UID, claim.ResourceVersion, allocatedBy([]*resourceapi.ResourceClaim{claim}),
			c.claims().GetPendingAllocation(claim.UID)))
	}
	slices.Sort(all)
	return all
}
