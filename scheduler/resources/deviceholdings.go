package resources

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/utils/ptr"

	"github.com/stowage/stowage/scheduler/contract"
)

// Layout is the devices of a node that pods share or that overlap.
type Layout struct {
	// Message is that of all nodes whose devices are alike; nil if the node has no such devices.
	Message *contract.DeviceLayout
	// Names are those of the devices as DeviceName gives them, in the order of the message.
	Names []string
}

// DeviceName is the name, in the cluster, of the device that a request of a claim got.
func DeviceName(result *resourceapi.DeviceRequestAllocationResult) string {
	return deviceOf(result).full()
}

func (d deviceID) full() string { return d.driver + "/" + d.pool + "/" + d.name }

// Layout is that of the node.
func (b *Book) Layout(node string) (found Layout) {
	if now := b.state(); now != nil && now.bins != nil && now.bins.nodes[node] != nil {
		of := now.bins.nodes[node]
		found.Message = of.layout.message
		for _, device := range of.devices {
			found.Names = append(found.Names, device.full())
		}
	}
	return found
}

// Holdings are the devices of the node's layout that are allocated where these pods are on it, as indices into the layout. All
// of them are told, except if the scheduler is choosing some for a pod, or if they are held in a way in which no pod could
// get them now: then no pod can be sent there by what is told. A pod that is elsewhere by now holds none.
func (b *Book) Holdings(node string, pods []*v1.Pod) (held []*contract.DeviceHolding, all bool) {
	now := b.state()
	if now == nil || now.bins == nil || now.bins.nodes[node] == nil {
		return nil, true
	}
	claims := make(map[types.UID]int, len(pods)) // with devices, by pod
	for _, pod := range pods {
		claims[pod.UID] = 0
	}
	reader := &holdingsReader{of: now.bins.nodes[node], node: node, all: true, holders: map[int]int{}}
	for _, claim := range b.devices.claimsBy(nodeIndex, node) {
		uid := types.UID("")
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
			_, here := claims[owner.UID]
			if lives, _ := b.devices.ownerLives(claim, owner); lives && !here {
				continue
			}
			if here {
				claims[owner.UID]++
				uid = owner.UID
			}
		}
		reader.read(claim, uid)
	}
	for _, pod := range pods {
		switch asked := b.Devices(pod); {
		case len(asked.Requests) > 0:
			expected := len(pod.Spec.ResourceClaims)
			if now.asksExtended(pod) {
				expected++
			}
			reader.all = reader.all && claims[pod.UID] == expected
		case len(asked.Refused) > 0: // it may have asked for any device
			reader.all = reader.all && b.devices.haveDevices(pod)
		}
	}
	return reader.held, reader.all && reader.countersSuffice()
}

// haveDevices says that all claims of a pod on a node have their devices: the scheduler is choosing none for it.
func (c *Catalogue) haveDevices(pod *v1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ResourceClaims, func(of v1.PodResourceClaim) bool {
		name, _, err := resourceclaim.Name(pod, &of)
		if err != nil || name == nil {
			return err != nil // else it needs none
		}
		claim := c.claim(pod.Namespace, *name)
		return claim == nil || claim.Status.Allocation == nil
	})
}

// holdingsReader reads the claims of a node.
type holdingsReader struct {
	of   *nodeBins
	node string
	held []*contract.DeviceHolding
	all  bool
	// holders are how many hold each device.
	holders map[int]int
}

func (r *holdingsReader) read(claim *resourceapi.ResourceClaim, uid types.UID) {
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		at := slices.Index(r.of.devices, deviceOf(result))
		if at < 0 || ptr.Deref(result.AdminAccess, false) {
			continue
		}
		device := r.of.layout.message.Devices[at]
		made := &contract.DeviceHolding{Node: r.node, Device: int32(at), PodUid: string(uid), Amounts: map[string]int64{}} // few devices
		switch {
		case device.Shared != (result.ShareID != nil):
			r.all = false // it was published otherwise then
		case !device.Shared:
			made.Amounts[wholeDevice] = 1
			r.all = r.all && r.holders[at] == 0
		default:
			for name, consumed := range result.ConsumedCapacity {
				if _, has := device.Capacity[string(name)]; has {
					amount, counted := heldAmount(consumed, r.of.layout.milli[at])
					made.Amounts[string(name)], r.all = amount, r.all && counted
				}
			}
		}
		r.holders[at]++
		r.held = append(r.held, made)
	}
}

// heldAmount is the quantity as a number, rounded up.
func heldAmount(of resource.Quantity, milli bool) (int64, bool) {
	if milli {
		amount, _ := amountOf(of, true)
		return amount, of.Sign() >= 0 && of.CmpInt64(largestAmount/1000) <= 0
	}
	return amountOf(of, false)
}

// countersSuffice says that no more is consumed of any counter than there is: else the scheduler allocates no device of the
// pool that consumes any.
func (r *holdingsReader) countersSuffice() bool {
	consumed := map[string]int64{}
	for at := range r.holders {
		for name, amount := range r.of.layout.message.Devices[at].Counters {
			consumed[name] += amount
			if consumed[name] > r.of.layout.message.Counters[name] {
				return false
			}
		}
	}
	return true
}
