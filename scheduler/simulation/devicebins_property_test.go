package simulation

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/snapshot"
)

// share lets pods share the device's memory.
func (f *fleet) share(device *resourceapi.Device) {
	device.AllowMultipleAllocations = ptr.To(true)
	device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: device.Capacity["memory"].Value,
		RequestPolicy: &resourceapi.CapacityRequestPolicy{Default: ptr.To(resource.MustParse("10Gi")),
			ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: ptr.To(resource.MustParse("10Gi")), Step: ptr.To(resource.MustParse("10Gi"))}}}}
}

// partition has some of the GPUs consume counters together, and returns these.
func (f *fleet) partition(driver string, devices []resourceapi.Device) (all []resourceapi.CounterSet) {
	if !f.bins || driver != gpuDriver || !f.in(2) {
		return nil
	}
	for i := range devices {
		if f.in(2) {
			devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "card",
				Counters: map[string]resourceapi.Counter{"slices": {Value: resource.MustParse(some(f, []string{"1", "2", "4"}))}}}}
		}
	}
	return []resourceapi.CounterSet{{Name: "card", Counters: map[string]resourceapi.Counter{"slices": {Value: resource.MustParse("5")}}}}
}

// binned makes it, sometimes, a request for some of a device, or one with an alternative.
func (f *fleet) binned(request resourceapi.DeviceRequest) resourceapi.DeviceRequest {
	if !f.bins {
		return request
	}
	if exactly := request.Exactly; f.in(2) {
		exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"memory": resource.MustParse(some(f, []string{"5Gi", "15Gi", "30Gi", "50Gi"}))}}
		if f.in(3) {
			request.Exactly = nil
			for i, class := range []string{exactly.DeviceClassName, "nic"} {
				request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{Name: []string{"a", "b"}[i],
					DeviceClassName: class, AllocationMode: exactly.AllocationMode, Count: exactly.Count, Capacity: exactly.Capacity})
			}
		}
	}
	return request
}

// The plugin chooses, for each pod that comes in its turn, the devices of the first fit in the layout that the snapshot tells;
// in a rehearsal and in the cluster, and a rehearsal changes nothing.
func TestPodsThatComeInTurnGetTheDevicesThatTheSnapshotForetells(t *testing.T) {
	counts := tryFleets(t, true, "InTurnGet", (*deviceCluster).tryPlanInTurn)
	if counts["devices as foretold"] < *runs || counts["pairs that do not fit"] == 0 {
		t.Error("hardly any device is foretold: the test shows less than it says")
	}
}

// tryPlanInTurn makes a plan that fits by the snapshot, rehearses it and carries it out.
func (c *deviceCluster) tryPlanInTurn(counts map[string]int) {
	for range 1 + c.IntN(4) {
		if err := c.add(c.newPod("")); err != nil {
			c.fail("%v", err)
		}
	}
	c.catalogue.Refresh()
	seen := c.view.Snapshot("s")
	c.compareFits(counts, seen)
	made := c.newPlan(seen)
	devices, misfit := c.foretell(seen, made)
	for ; misfit != nil; devices, misfit = c.foretell(seen, made) {
		made = planOf(seen, slices.DeleteFunc(made.Steps(), func(one plan.Step) bool { return one.Pod == misfit }))
	}
	if made.Empty() || len(c.shortByBook(made)) > 0 {
		return
	}
	counts["plans"]++
	c.tell("plan %v is to give %v", describe(made), devices)

	before := c.everything()
	outcome, err := c.rehearser.Replay(c.ctx, made)
	if after := c.everything(); after != before {
		c.fail("the rehearsal has changed the cluster from\n%s\nto\n%s", before, after)
	}
	if err != nil {
		c.fail("the rehearsal fails: %v", err)
		return
	}
	for _, refusal := range outcome.Refusals {
		if refusal.Plugin == names.DynamicResources && len(c.book.Requests(refusal.Pod.Object)) > 0 && len(c.amountsOf(refusal.Pod)) == 0 {
			c.fail("refused: %v", refusal.Error())
		}
		counts["refused for others' amounts"]++
	}
	if len(outcome.Refusals) > 0 {
		return
	}
	for uid, want := range devices {
		layout, got := sets.New(seen.DevicesOf(want.node)...), []string(nil)
		for _, claim := range outcome.Claims[uid] {
			got = append(got, slices.DeleteFunc(idsOf(claim), func(id string) bool { return !layout.Has(id) })...)
		}
		slices.Sort(got) // the claims are in no order
		if !slices.Equal(got, slices.Sorted(slices.Values(want.devices))) {
			c.fail("%s on %s gets %v, and was to get %v", uid, want.node, got, want.devices)
		}
		counts["devices as foretold"] += len(got)
	}
	c.carryOutAsRehearsed(made, outcome)
}

// amountsOf are the devices that the pod needs and that are no bins.
func (c *deviceCluster) amountsOf(pod *snapshot.Pod) v1.ResourceList {
	return pod.Requests.Minus(pod.Requests.WithoutDevices()).List()
}

// foretold is where a pod is to come to, and the devices that it is to get there.
type foretold struct {
	node    string
	devices []string
}

// foretell gives turns to those who ask for devices that pods share or that overlap, and says what they get by the snapshot; or
// a pod that gets none.
func (c *deviceCluster) foretell(seen *snapshot.Snapshot, made *plan.Plan) (map[types.UID]foretold, *snapshot.Pod) {
	leaving := sets.New[string]()
	for _, pod := range made.Disrupted() {
		leaving.Insert(string(pod.Object.UID))
	}
	after := &contract.Snapshot{Nodes: seen.Message.Nodes, DeviceLayouts: seen.Message.DeviceLayouts}
	after.DeviceHoldings = slices.DeleteFunc(slices.Clone(seen.Message.DeviceHoldings),
		func(one *contract.DeviceHolding) bool { return leaving.Has(one.PodUid) })
	left, found, turn := map[string]*testobjects.DevicesLeft{}, map[types.UID]foretold{}, int32(0)
	for _, node := range c.nodes {
		left[node.Name] = testobjects.DevicesLeftOn(node.Name, after)
	}
	for _, steps := range [][]plan.Step{made.Placements, made.Moves} {
		for i := range steps {
			step := &steps[i]
			step.Unit = ""
			requests := requestsOf(seen, step.Pod)
			if len(requests) == 0 {
				continue
			}
			if left[step.To] == nil {
				return nil, step.Pod
			}
			chosen, fits := left[step.To].Allocate(requests)
			if !fits {
				return nil, step.Pod
			}
			turn++
			step.Turn = turn
			of, known := foretold{node: step.To}, seen.DevicesOf(step.To)
			for _, one := range chosen {
				of.devices = append(of.devices, known[one.Device])
			}
			step.Devices = of.devices
			found[step.Pod.Object.UID] = of
		}
	}
	return found, nil
}

// requestsOf are those of the pod's class in the message.
func requestsOf(seen *snapshot.Snapshot, pod *snapshot.Pod) (requests []*contract.DeviceRequest) {
	at := slices.IndexFunc(seen.Message.PodClasses, func(one *contract.PodClass) bool { return one.Id == pod.Class })
	for _, id := range seen.Message.PodClasses[at].DeviceRequests {
		of := slices.IndexFunc(seen.Message.DeviceRequests, func(one *contract.DeviceRequest) bool { return one.Id == id })
		requests = append(requests, seen.Message.DeviceRequests[of])
	}
	return requests
}

// compareFits asks snapshot and plugin whether each pod that waits fits on each node as it is now.
func (c *deviceCluster) compareFits(counts map[string]int, seen *snapshot.Snapshot) {
	plugin, err := c.devicePlugin()
	if err != nil {
		c.fail("%v", err)
		return
	}
	for _, pod := range seen.Pods {
		if pod.Node != "" || c.binding[pod.Object.UID] != "" || pod.Unsupported || len(requestsOf(seen, pod)) == 0 {
			continue
		}
		for _, node := range c.nodes {
			left := testobjects.DevicesLeftOn(node.Name, seen.Message)
			if left == nil && c.book.Layout(node.Name).Message != nil {
				counts["pairs with a node that is not told"]++
				continue
			}
			info, state := framework.NewNodeInfo(c.staying(&plan.Plan{}, node.Name)...), framework.NewCycleState()
			info.SetNode(node)
			_, status := plugin.PreFilter(c.ctx, state, pod.Object, []fwk.NodeInfo{info})
			if status.IsSuccess() {
				status = plugin.Filter(c.ctx, state, pod.Object, info)
			}
			short := pod.Requests.ShortOf(c.book.Free(info))
			fits := (short == "" || short == string(v1.ResourceCPU)) && left != nil
			if fits {
				_, fits = left.Allocate(requestsOf(seen, pod))
			}
			if short == string(v1.ResourceCPU) && len(c.amountsOf(pod)) > 0 {
				continue
			}
			if fits != status.IsSuccess() {
				c.fail("%s on %s fits by the snapshot: %t, and the plugin says %v", pod.Object.Name, node.Name, fits, status)
			}
			if counts["pairs that fit"]++; !fits {
				counts["pairs that do not fit"]++
			}
		}
	}
}
