package resources

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// Devices is what the pod asks for in devices.
func (b *Book) Devices(pod *v1.Pod) PodDevices {
	if !b.AsksForDevices(pod) {
		return PodDevices{}
	}
	found, _ := b.devices.devicesOf(pod, b.at)
	return found.PodDevices
}

// DevicesRefused are the reasons, in order, for which no plan can give the devices that match the asks as they are now.
func (b *Book) DevicesRefused(asks []string) (reasons []string) {
	now := b.state()
	if now == nil {
		return nil
	}
	for _, one := range asks {
		name, _, _ := strings.Cut(one, "×")
		if known := now.asks[name]; known != nil {
			reasons = append(reasons, known.refused...)
		}
	}
	return reasons
}

// DevicesOn is a digest of the node's devices; it does not change with what pods ask of them.
func (b *Book) DevicesOn(node string) string {
	if now := b.state(); now == nil || !now.some {
		return ""
	}
	return b.devices.digestOn(node)
}

// HasDevices says whether any node has devices that pods could be given.
func (b *Book) HasDevices() bool {
	now := b.state()
	return now != nil && len(now.nodes) > 0
}

// CountsDevices says whether it is known what claims ask for.
func (b *Book) CountsDevices() bool { return b.state() != nil }

// IncompletePools is the number of pools of devices that their drivers are still publishing.
func (b *Book) IncompletePools() int {
	if now := b.state(); now != nil {
		return now.incomplete
	}
	return 0
}

// ClaimsOf are the claims that were made for the pod.
func (b *Book) ClaimsOf(pod *v1.Pod) []*resourceapi.ResourceClaim {
	if b.state() == nil {
		return nil
	}
	return b.devices.claimsOf(pod)
}

// TemplateOf is the template of that name, or nil.
func (b *Book) TemplateOf(namespace, name string) *resourceapi.ResourceClaimTemplate {
	if b.state() == nil {
		return nil
	}
	return b.devices.templateOf(namespace, name)
}

// HeldBeside are the devices of the node that the pods on it do not account for by what they need: a claim holds them that
// is none of theirs, or they hold others than they need.
func (b *Book) HeldBeside(node string, pods []*v1.Pod) Vector {
	now := b.state()
	if now == nil || len(now.nodes[node]) == 0 {
		return Vector{}
	}
	taken := b.devices.taken(now, node, b.devices.listedOn(now, node), pods)
	own, held := taken.own, taken.others
	for _, pod := range pods {
		if b.AsksForDevices(pod) {
			found, _ := b.devices.devicesOf(pod, now)
			for i, amount := range now.wanted(found) {
				own[i] -= amount
			}
		}
	}
	for i := range held {
		held[i] += max(0, own[i])
	}
	return now.with(Vector{}, held)
}

// AwaitingDeallocation are the devices on the node that Free counts as taken although the pods for which their claims were
// made are gone, or go before they have come to a node. What the pods on the node have is not among them.
func (b *Book) AwaitingDeallocation(node fwk.NodeInfo) Vector {
	now := b.state()
	if now == nil || len(now.nodes[node.Node().Name]) == 0 {
		return Vector{}
	}
	taken := b.devices.taken(now, node.Node().Name, now.listedBy(node.Node()), podsOn(node))
	return now.with(Vector{}, taken.ending)
}

// Allocated are the devices that the claims of a waiting pod have already, as after a failed binding, and their node; "" if
// they have none. For all others these are taken.
func (b *Book) Allocated(pod *v1.Pod) (node string, devices Vector) {
	if pod.Spec.NodeName != "" || !b.AsksForDevices(pod) {
		return "", Vector{}
	}
	now := b.state()
	amounts := make([]int64, len(now.family.dimensions))
	for _, claim := range b.devices.claimsOf(pod) {
		of := nodeOf(claim)
		if of == "" {
			continue
		}
		node = of // claims of one pod have devices of one node
		listed := b.devices.listedOn(now, node)
		for i := range claim.Status.Allocation.Devices.Results {
			if mask, counted := now.devices[deviceOf(&claim.Status.Allocation.Devices.Results[i])]; counted {
				now.family.count(amounts, mask.without(listed), 1)
			}
		}
	}
	return node, now.with(Vector{}, amounts)
}

// FreeFor is the room on a node for the pod: with what its own claims have there already.
func (b *Book) FreeFor(pod *v1.Pod, node fwk.NodeInfo) Vector {
	free := b.Free(node)
	if of, own := b.Allocated(pod); of == node.Node().Name {
		return free.Plus(own)
	}
	return free
}

// State changes whenever devices come to be counted in another way; 0: none are counted.
func (b *Book) State() uint64 {
	if now := b.state(); now != nil {
		return now.number
	}
	return 0
}

// Recounted is the amount of an earlier state in the dimensions of this one, which has others since pods ask for other sets
// of devices. shared says that some of its devices are no amounts any more, as pods share them or the sets overlap.
func (b *Book) Recounted(before Vector) (now Vector, shared bool) {
	of := b.state()
	if of == nil {
		return before, false
	}
	if of.bins != nil {
		for ask := range of.bins.asks {
			shared = shared || before.extended[DevicePrefix+ask] > 0
		}
	}
	return of.with(before.WithoutDevices(), of.family.recounted(before)), shared
}

// state is that of the devices; nil where none are counted.
func (b *Book) state() *state {
	if b == nil || b.devices == nil || b.devices.sources.Load() == nil {
		return nil
	}
	if b.at != nil {
		return b.at
	}
	return b.devices.state.Load()
}

// AsksForDevices says whether what the pod needs depends on the state of the devices. It is quick, as most pods ask for none.
func (b *Book) AsksForDevices(pod *v1.Pod) bool {
	now := b.state()
	return now != nil && (len(pod.Spec.ResourceClaims) > 0 || now.some && len(b.devices.extendedOf(pod)) > 0)
}

// with adds the amounts of the dimensions.
func (s *state) with(vector Vector, amounts []int64) Vector {
	for i, amount := range amounts {
		if amount != 0 {
			vector.set(v1.ResourceName(DevicePrefix+s.family.dimensions[i].name), amount)
		}
	}
	return vector
}

// wanted is what the pod needs in each dimension.
func (s *state) wanted(by *podDevices) []int64 {
	amounts := make([]int64, len(s.family.dimensions))
	if !by.closed() {
		for ask, count := range by.counts {
			s.family.take(amounts, ask, count)
		}
	}
	return amounts
}

// listedBy are the asks for which the node counts what it lists itself, and no devices.
func (s *state) listedBy(node *v1.Node) (listed asksMask) {
	for _, one := range s.extended {
		if lists(node, one.extended) {
			listed = listed.with(maskOf(one.bit))
		}
	}
	return listed
}

// listedOn are those of the node of that name.
func (c *Catalogue) listedOn(now *state, node string) asksMask {
	if object, err := c.sources.Load().nodes.Get(node); err == nil {
		return now.listedBy(object)
	}
	return asksMask{}
}

// capacity is what the node has in each dimension; nil if it has nothing to count in any.
func (s *state) capacity(node *v1.Node) []int64 {
	listed, masks := s.listedBy(node), s.nodes[node.Name]
	if len(masks) == 0 && listed == (asksMask{}) {
		return nil
	}
	amounts := make([]int64, len(s.family.dimensions))
	for mask, count := range masks {
		s.family.count(amounts, mask.without(listed), count)
	}
	for _, one := range s.extended {
		if listed.has(one.bit) {
			quantity := node.Status.Allocatable[one.extended]
			s.family.count(amounts, maskOf(one.bit), quantity.Value())
		}
	}
	return amounts
}

// holding is the devices of the claims of one pod.
type holding struct {
	claims int
	masks  []asksMask
}

// takenDevices are those of one node, in each dimension.
type takenDevices struct {
	// own are those that the pods on the node have or are about to get.
	own []int64
	// others are those that other claims hold: named ones, those of pods that have just gone, and of pods that wait again after
	// they could not be bound.
	others []int64
	// ending are those of the others whose claims go with pods that are gone or about to go.
	ending []int64
}

// taken are the devices of the node that are taken, where these pods are on it. A pod that is elsewhere by now, or leaves in a
// rehearsal, holds none.
func (c *Catalogue) taken(now *state, node string, listed asksMask, pods []*v1.Pod) takenDevices {
	dimensions := len(now.family.dimensions)
	found := takenDevices{make([]int64, dimensions), make([]int64, dimensions), make([]int64, dimensions)}
	holdings := make(map[types.UID]*holding, len(pods))
	for _, pod := range pods {
		holdings[pod.UID] = nil
	}
	for _, claim := range c.claimsBy(nodeIndex, node) {
		owner := metav1.GetControllerOfNoCopy(claim)
		var of *holding
		ends := false
		if owner != nil {
			held, here := holdings[owner.UID]
			switch {
			case held != nil:
				of = held
			case here:
				of = &holding{}
				holdings[owner.UID] = of
			default:
				var lives bool
				if lives, ends = c.ownerLives(claim, owner); lives {
					continue
				}
			}
		}
		if of != nil {
			of.claims++
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			mask, counted := now.devices[deviceOf(result)]
			switch mask = mask.without(listed); {
			case !counted || result.AdminAccess != nil && *result.AdminAccess:
			case of != nil:
				of.masks = append(of.masks, mask)
			default:
				now.family.count(found.others, mask, 1)
				if ends {
					now.family.count(found.ending, mask, 1)
				}
			}
		}
	}
	for _, pod := range pods {
		c.takenBy(now, node, pod, holdings[pod.UID], found.own)
	}
	return found
}

// takenBy counts what one pod has: its devices one by one, or what it asks for as long as not all of its claims have any.
func (c *Catalogue) takenBy(now *state, node string, pod *v1.Pod, held *holding, into []int64) {
	claims := len(pod.Spec.ResourceClaims)
	if now.asksExtended(pod) {
		claims++
	}
	if claims == 0 {
		return
	}
	if held == nil || held.claims != claims {
		if found, _ := c.devicesOf(pod, now); found.node != node {
			for ask, count := range found.counts {
				now.family.take(into, ask, count)
			}
			return
		}
	}
	if held != nil {
		for _, mask := range held.masks {
			now.family.count(into, mask, 1)
		}
	}
}

// asksExtended says whether the pod asks for an extended resource that devices may give.
func (s *state) asksExtended(pod *v1.Pod) bool {
	for _, one := range s.extended {
		for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
			for i := range containers {
				if _, asks := containers[i].Resources.Requests[one.extended]; asks {
					return true
				}
			}
		}
	}
	return false
}
