package simulation

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/snapshot"
)

var (
	runs = flag.Int("runs", 60, "how many random plans with devices are tried")
	seed = flag.Uint64("seed", 1, "the seed of the first fleet")
)

// notEnough counts plans that ask for more devices than there are, and are refused.
const notEnough = "refused, as there are not enough devices"

// plansPerFleet is how many plans are carried out one after the other.
const plansPerFleet = 4

// explanation is why a rehearsal refuses a plan for which there is room.
type explanation string

const (
	// firstFit: a pod that came before took a device that this one needs, where it could have taken another.
	firstFit explanation = "first fit"
	// firstFitInUnit: one of its unit did, and gave it back, as the unit did not come whole.
	firstFitInUnit explanation = "first fit in a unit"
	// inFlight: of a pod that is being bound, the book counts what it asks for, as its claim shows no devices yet.
	inFlight explanation = "a binding under way"
	// heldOtherwise: a pod that leaves has a device for which it does not ask in particular, or one that is not to be had
	// now. The checker lets nobody count on that.
	heldOtherwise explanation = "devices held otherwise"
)

// The real plugin allows what the amounts of the book allow; of a plan, what differs is explained. The devices that a rehearsal
// foretells are those that pods get when its events happen. No device is allocated twice, and a rehearsal changes nothing.
func TestPlansAgreeWithTheAllocatorOfDevices(t *testing.T) {
	counts := tryFleets(t, false, "PlansAgree", (*deviceCluster).tryPlan)
	if counts["devices allocated"] == 0 || counts[notEnough] == 0 {
		t.Error("no plan allocates devices, or none asks for too many: the test shows less than it says")
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tryPlan makes a plan, rehearses it, and carries it out if it is not refused.
func (c *deviceCluster) tryPlan(counts map[string]int) {
	for range 1 + c.IntN(4) {
		if err := c.add(c.newPod("")); err != nil {
			c.fail("%v", err)
		}
	}
	c.catalogue.Refresh()
	seen := c.view.Snapshot("s")
	c.compareOneByOne(counts, seen)
	made := c.newPlan(seen)
	if made.Empty() {
		return
	}
	counts["plans"]++
	byBook, byModel, byChecker := c.shortByBook(made), c.shortByModel(made), c.shortByChecker(made, seen)
	c.tell("plan %v, short by the book: %v, in the model: %v, by the checker: %v", describe(made), byBook, byModel, byChecker)
	for node := range byBook.SymmetricDifference(byModel) {
		if !c.isBindingTo(node) {
			c.fail("%s is short of room by the book: %v, and of devices: %v", node, byBook.Has(node), byModel.Has(node))
		}
		counts["explained by "+string(inFlight)]++
	}

	differing := byModel // unless the checker refuses the plan, for one node
	if byChecker != "" {
		differing = sets.New(byChecker).Difference(byModel)
	}
	for node := range differing {
		switch {
		case c.isBindingTo(node):
			counts["room explained by "+string(inFlight)]++
		case byChecker != "" && c.holdsOtherwise(made, node):
			counts["room explained by "+string(heldOtherwise)]++
		default:
			c.fail("%s is short of room by the plan's checker: %v, and of devices: %v", node, byChecker != "", byModel.Has(node))
		}
	}
	inTheModel := len(byModel) == 0

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
		c.tell("refused: %v", refusal.Error())
	}
	accepted := len(outcome.Refusals) == 0
	switch {
	case accepted && !inTheModel:
		c.fail("a plan is accepted for which there are not enough devices")
	case !accepted && inTheModel:
		counts["explained by "+string(c.explain(made, outcome))]++
	case !accepted:
		counts[notEnough]++
	}
	if accepted {
		c.rehearseInAnotherOrder(made, outcome, counts)
		counts["carried out"]++
		counts["devices allocated"] += c.carryOutAsRehearsed(made, outcome)
	}
}

func describe(of *plan.Plan) (steps []string) {
	for _, one := range of.Steps() {
		steps = append(steps, fmt.Sprintf("%s:%s>%s%s", one.Pod.Object.Name, one.From, one.To, one.Unit))
	}
	return steps
}

// refused says whether snapshots leave the pod alone.
func (c *deviceCluster) refused(pod *v1.Pod) bool {
	devices := c.book.Devices(pod)
	return len(devices.Refused)+len(c.book.DevicesRefused(devices.Asks)) > 0
}

// newPlan is a plan of random steps, most of which fit.
func (c *deviceCluster) newPlan(seen *snapshot.Snapshot) *plan.Plan {
	var steps []plan.Step
	pods := map[bool][]*snapshot.Pod{} // by whether they run
	for _, uid := range slices.Sorted(maps.Keys(seen.Pods)) {
		if pod := seen.Pods[uid]; c.binding[uid] == "" && !c.refused(pod.Object) {
			pods[pod.Node != ""] = append(pods[pod.Node != ""], pod)
		}
	}
	take := func(runs bool) (pod *snapshot.Pod) {
		if len(pods[runs]) > 0 {
			at := c.IntN(len(pods[runs]))
			pod = pods[runs][at]
			pods[runs] = slices.Delete(pods[runs], at, at+1)
		}
		return pod
	}
	node := func() string { return some(c.fleet, c.nodes).Name }
	for range 1 + c.IntN(7) {
		switch c.IntN(6) {
		case 0, 1, 2:
			if pod := take(false); pod != nil {
				steps = append(steps, plan.Step{Pod: pod, To: node()})
			}
		case 3:
			if pod, to := take(true), node(); pod != nil && pod.Node != to {
				steps = append(steps, plan.Step{Pod: pod, From: pod.Node, To: to})
			}
		case 4:
			if one, other := take(true), take(true); one != nil && other != nil && one.Node != other.Node {
				steps = append(steps, plan.Step{Pod: one, From: one.Node, To: other.Node}, plan.Step{Pod: other, From: other.Node, To: one.Node})
			}
		case 5:
			if pod := take(true); pod != nil {
				steps = append(steps, plan.Step{Pod: pod, From: pod.Node})
			}
		}
	}
	if len(steps) > 2 && c.in(6) {
		steps[0].Unit, steps[1].Unit = "unit", "unit"
	}
	made := planOf(seen, steps)
	for !c.in(12) && !made.Empty() && len(c.shortByBook(made)) > 0 {
		at := c.IntN(len(steps))
		steps = slices.Delete(steps, at, at+1)
		made = planOf(seen, steps)
	}
	return made
}

func planOf(seen *snapshot.Snapshot, steps []plan.Step) *plan.Plan {
	made := &plan.Plan{Classes: seen.Classes}
	for _, one := range steps {
		switch {
		case one.From == "":
			made.Placements = append(made.Placements, one)
		case one.To == "":
			made.Evictions = append(made.Evictions, one)
		default:
			made.Moves = append(made.Moves, one)
		}
	}
	return made
}

// staying are the pods that are on the node, or about to be, and that the plan leaves there.
func (c *deviceCluster) staying(made *plan.Plan, node string) (pods []*v1.Pod) {
	leaving := sets.New[types.UID]()
	for _, pod := range made.Disrupted() {
		leaving.Insert(pod.Object.UID)
	}
	for _, object := range c.informers.Core().V1().Pods().Informer().GetStore().List() {
		pod := object.(*v1.Pod)
		if to := c.binding[pod.UID]; to != "" {
			pod = pod.DeepCopy()
			pod.Spec.NodeName = to
		}
		if pod.Spec.NodeName == node && !leaving.Has(pod.UID) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// arriving are the pods that the plan sends to the node.
func arriving(made *plan.Plan, node string) (pods []*snapshot.Pod) {
	for _, step := range made.Steps() {
		if step.To == node {
			pods = append(pods, step.Pod)
		}
	}
	return pods
}

// shortByBook are the nodes without room for those who come beside those who stay.
func (c *deviceCluster) shortByBook(made *plan.Plan) sets.Set[string] {
	short := sets.New[string]()
	for _, node := range c.nodes {
		info := framework.NewNodeInfo(c.staying(made, node.Name)...)
		info.SetNode(node)
		need := resources.Vector{}
		for _, pod := range arriving(made, node.Name) {
			need = need.Plus(c.book.Needs(pod.Object))
		}
		if !need.FitsIn(c.book.Free(info)) {
			short.Insert(node.Name)
		}
	}
	return short
}

// shortByModel are the same, device by device.
func (c *deviceCluster) shortByModel(made *plan.Plan) sets.Set[string] {
	short := sets.New[string]()
	for _, node := range c.nodes {
		var pods []*v1.Pod
		for _, pod := range arriving(made, node.Name) {
			pods = append(pods, pod.Object)
		}
		held := c.held()
		for _, pod := range made.Disrupted() {
			held = held.Difference(c.devicesHeld(pod.Object.UID))
		}
		if !c.takes(node, c.staying(made, node.Name), held, pods...) {
			short.Insert(node.Name)
		}
	}
	return short
}

// shortByChecker is the node for whose lack of room the checker of plans refuses the plan, or "".
func (c *deviceCluster) shortByChecker(made *plan.Plan, seen *snapshot.Snapshot) string {
	var steps []*packingplan.Step
	for _, step := range made.Steps() {
		steps = append(steps, &packingplan.Step{PodUID: string(step.Pod.Object.UID), From: step.From, To: step.To})
	}
	_, err := plan.Check(steps, seen, plan.Paper)
	refused, is := errors.AsType[*plan.RefusedError](err)
	if !is || refused.Reason != plan.OverCapacity {
		return ""
	}
	at := slices.IndexFunc(c.nodes, func(node *v1.Node) bool {
		return strings.Contains(refused.Detail, fmt.Sprintf("node %q", node.Name))
	})
	return c.nodes[at].Name
}

// holdsOtherwise says whether a pod leaves the node with devices for which it does not account there.
func (c *deviceCluster) holdsOtherwise(made *plan.Plan, node string) bool {
	return slices.ContainsFunc(made.Disrupted(), func(pod *snapshot.Pod) bool {
		held := c.book.HeldBeside(node, append(c.staying(made, node), pod.Object))
		return pod.Node == node && !held.Equal(c.book.HeldBeside(node, c.staying(made, node)))
	})
}

// takes says whether the node takes these pods beside those that stay, where these devices are held.
func (c *deviceCluster) takes(node *v1.Node, staying []*v1.Pod, held sets.Set[string], pods ...*v1.Pod) bool {
	var wishes []wish
	plain := node.Status.Allocatable[gpuName]
	left, lists, cpu := plain.Value(), !plain.IsZero(), int64(12)
	for _, pod := range staying {
		if c.wantedBy(pod).extended == gpuName {
			left -= int64(len(c.wantedBy(pod).wishes))
		}
		quantity := pod.Spec.Containers[0].Resources.Requests[v1.ResourceCPU]
		cpu -= quantity.Value()
	}
	for _, pod := range pods {
		all := c.wantedBy(pod)
		cpu--
		if all.extended == gpuName && lists {
			left -= int64(len(all.wishes))
			if left < 0 {
				return false
			}
		} else {
			wishes = append(wishes, all.wishes...)
		}
	}
	free := slices.DeleteFunc(devicesOf(node.Name, c.slices), func(one published) bool {
		return held.Has(one.id) || ptr.Deref(one.AllowMultipleAllocations, false)
	})
	return (cpu >= 0 || len(pods) == 0) && canHave(wishes, free)
}

// compareOneByOne asks book and plugin whether each pod that waits fits on each node as it is now.
func (c *deviceCluster) compareOneByOne(counts map[string]int, seen *snapshot.Snapshot) {
	plugin, err := c.devicePlugin()
	if err != nil {
		c.fail("%v", err)
		return
	}
	for _, pod := range seen.Pods {
		if pod.Node != "" || c.binding[pod.Object.UID] != "" || c.refused(pod.Object) {
			continue
		}
		for _, node := range c.nodes {
			info, state := framework.NewNodeInfo(c.staying(&plan.Plan{}, node.Name)...), framework.NewCycleState()
			info.SetNode(node)
			_, status := plugin.PreFilter(c.ctx, state, pod.Object, []fwk.NodeInfo{info})
			if status.IsSuccess() {
				status = plugin.Filter(c.ctx, state, pod.Object, info)
			}
			if status.IsSkip() {
				continue
			}
			short := c.book.Needs(pod.Object).ShortOf(c.book.Free(info))
			lacksDevices := short != "" && short != string(v1.ResourceCPU)
			counts["pairs of pod and node"]++
			lists := node.Status.Allocatable[gpuName]
			if c.wantedBy(pod.Object).extended == gpuName && !lists.IsZero() {
				continue // NodeResourcesFit looks at it
			}
			if lacksDevices != !status.IsSuccess() && short != string(v1.ResourceCPU) {
				if c.isBindingTo(node.Name) {
					counts["pairs explained by "+string(inFlight)]++
					continue
				}
				c.fail("%s on %s: the book lacks %q, and the plugin says %v", pod.Object.Name, node.Name, short, status)
			}
		}
	}
}

// isBindingTo: as long as a pod is being bound to the node, the book counts there what it asks for, and not its devices.
func (c *deviceCluster) isBindingTo(node string) bool {
	return slices.Contains(slices.Collect(maps.Values(c.binding)), node)
}

// explain says why a plan is refused for which there are enough devices.
func (c *deviceCluster) explain(made *plan.Plan, outcome rehearsal.Outcome) explanation {
	held := c.held()
	for _, event := range outcome.Events {
		if event.To == "" {
			held = held.Difference(c.devicesHeld(event.Pod.Object.UID))
		}
	}
	for _, claims := range outcome.Claims {
		for _, claim := range claims {
			held.Insert(idsOf(claim)...)
		}
	}
	reason := firstFit
	for _, refusal := range outcome.Refusals {
		at := slices.IndexFunc(c.nodes, func(node *v1.Node) bool { return node.Name == refusal.Node })
		switch {
		case refusal.Plugin == names.DynamicResources && !c.takes(c.nodes[at], nil, held, refusal.Pod.Object):
		case refusal.Plugin == names.DynamicResources && c.cameInUnit(made, refusal):
			reason = firstFitInUnit
		default:
			c.fail("unexplained: %v", refusal.Error())
		}
	}
	return reason
}

// cameInUnit says whether another pod of the refused pod's unit is sent to the same node for devices.
func (c *deviceCluster) cameInUnit(made *plan.Plan, refusal rehearsal.Refusal) bool {
	steps := made.Steps()
	at := slices.IndexFunc(steps, func(step plan.Step) bool { return step.Pod == refusal.Pod })
	return steps[at].Unit != "" && slices.ContainsFunc(steps, func(step plan.Step) bool {
		return step.Unit == steps[at].Unit && step.Pod != refusal.Pod && step.To == refusal.Node && len(c.wantedBy(step.Pod.Object).wishes) > 0
	})
}

// carryOutAsRehearsed has the events of the rehearsal happen, and counts the devices that were allocated.
func (c *deviceCluster) carryOutAsRehearsed(made *plan.Plan, outcome rehearsal.Outcome) (count int) {
	for _, event := range outcome.Events {
		if err := c.have(event); err != nil {
			c.fail("%v", err)
		}
		c.checkThatNoDeviceIsAllocatedTwice()
	}
	if err := c.carryOut(checkedPlan{Plan: *made}); err != nil {
		c.fail("%v", err)
	}
	for _, step := range made.Steps() {
		uid := step.Pod.Object.UID
		var own []*resourceapi.ResourceClaim
		for _, claim := range c.list() {
			if owner := metav1.GetControllerOf(claim); owner != nil && owner.UID == uid {
				own = append(own, claim)
			}
		}
		got, expected := allocatedBy(own), allocatedBy(outcome.Claims[uid])
		if !slices.Equal(got, expected) {
			c.fail("%s has %v, and was to have %v", step.Pod.Object.Name, got, expected)
		}
		count += len(got)
	}
	return count
}

// rehearseInAnotherOrder counts what the order of the steps decides.
func (c *deviceCluster) rehearseInAnotherOrder(made *plan.Plan, before rehearsal.Outcome, counts map[string]int) {
	other := *made
	for _, steps := range []*[]plan.Step{&other.Placements, &other.Moves} {
		*steps = slices.Clone(*steps)
		slices.Reverse(*steps)
	}
	outcome, err := c.rehearser.Replay(c.ctx, &other)
	if err != nil {
		c.fail("in another order, the rehearsal fails: %v", err)
	} else if len(outcome.Refusals) > 0 {
		counts["refused in another order"]++
	} else if slices.ContainsFunc(made.Steps(), func(step plan.Step) bool {
		uid := step.Pod.Object.UID
		return !slices.Equal(allocatedBy(before.Claims[uid]), allocatedBy(outcome.Claims[uid]))
	}) {
		counts["other devices in another order"]++
	}
}

func (c *deviceCluster) checkThatNoDeviceIsAllocatedTwice() {
	seen := map[string]string{}
	for _, claim := range c.list() {
		if claim.Status.Allocation == nil {
			continue
		}
		for i, id := range idsOf(claim) {
			if claim.Status.Allocation.Devices.Results[i].ShareID != nil {
				continue
			}
			if other := seen[id]; other != "" {
				c.fail("%s is allocated to %s and %s", id, other, claim.Name)
			}
			seen[id] = claim.Name
		}
	}
}
