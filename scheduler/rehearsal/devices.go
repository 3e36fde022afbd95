package rehearsal

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/utils/ptr"
)

// deviceManager is what the plugins see of devices. They keep a reference to it, so its claims are switched: those of the
// scheduler, or those of a cluster copy.
type deviceManager struct {
	fwk.SharedDRAManager
	claims *claims // nil: the scheduler's
	// plugin chooses the devices. Only its Reserve is run: other plugins reserve what belongs to the scheduler.
	plugin fwk.ReservePlugin
}

func (m *deviceManager) ResourceClaims() fwk.ResourceClaimTracker {
	if m.claims != nil {
		return m.claims
	}
	return m.SharedDRAManager.ResourceClaims()
}

// keepPlugin keeps the instance of DynamicResources that the registry will make.
func (m *deviceManager) keepPlugin(registry frameworkruntime.Registry) {
	factory := registry[names.DynamicResources]
	registry[names.DynamicResources] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := factory(ctx, args, handle)
		m.plugin, _ = plugin.(fwk.ReservePlugin)
		return plugin, err
	}
}

// claims are those of a cluster copy, and the devices that they hold: the scheduler's claims without those of pods that have
// left, and with the devices of pods that have come. The scheduler's own do not change. Nil is none, where no plugin allocates
// devices.
type claims struct {
	plugin fwk.ReservePlugin
	// known are all claims by namespace and name; ofPods are the names of those that were made for a pod, by its UID.
	known  map[string]*resourceapi.ResourceClaim
	ofPods map[types.UID][]string
	// allocated is handed out as it is: who asked before a pod came or left asks again.
	allocated *structured.AllocatedState
	// before are the claims that a pod changed when it came or left, as they were until then; nil is one that was not there.
	before map[types.UID]map[string]*resourceapi.ResourceClaim
	// coming is the pod for which devices are reserved.
	coming types.UID
}

// maxConflicts is how often the scheduler may change a claim while its devices are read.
const maxConflicts = 100

// newClaims are the scheduler's.
func (m *deviceManager) newClaims() (*claims, error) {
	if m.plugin == nil {
		return nil, nil
	}
	of := m.SharedDRAManager.ResourceClaims()
	// The claims come first: of those that are allocated in the meantime, the devices are then known to be allocated.
	listed, err := of.List()
	if err != nil {
		return nil, fmt.Errorf("listing resource claims: %w", err)
	}
	c := &claims{plugin: m.plugin, known: make(map[string]*resourceapi.ResourceClaim, len(listed)), ofPods: map[types.UID][]string{},
		before: map[types.UID]map[string]*resourceapi.ResourceClaim{}}
	for _, claim := range listed {
		if claim.Status.Allocation == nil {
			if pending := of.GetPendingAllocation(claim.UID); pending != nil {
				claim = claim.DeepCopy()
				claim.Status.Allocation = pending
			}
		}
		key := claimKey(claim.Namespace, claim.Name)
		c.known[key] = claim
		if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
			c.ofPods[owner.UID] = append(c.ofPods[owner.UID], key)
		}
	}
	for range maxConflicts {
		if c.allocated, err = of.GatherAllocatedState(); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("reading which devices are allocated: %w", err)
}

func claimKey(namespace, name string) string { return namespace + "/" + name }

// leave takes the claims away that were made for the pod. If the pod came before, its claims are what they were until then.
func (c *claims) leave(pod *v1.Pod) {
	if c == nil || c.undo(pod) {
		return
	}
	c.before[pod.UID] = map[string]*resourceapi.ResourceClaim{}
	for _, key := range c.ofPods[pod.UID] {
		c.change(pod.UID, key, nil)
	}
}

// reserve gives the pod that comes the devices that the plugin chose on the node when the pod was last tried there.
func (c *claims) reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	c.before[pod.UID], c.coming = map[string]*resourceapi.ResourceClaim{}, pod.UID
	return c.plugin.Reserve(ctx, state, pod, node)
}

// undo gives the claims back their state before the pod came or left, and reports whether it did either.
func (c *claims) undo(pod *v1.Pod) bool {
	if c == nil {
		return false
	}
	before, changed := c.before[pod.UID]
	for key, claim := range before {
		c.set(key, claim)
	}
	delete(c.before, pod.UID)
	return changed
}

func (c *claims) change(pod types.UID, key string, to *resourceapi.ResourceClaim) {
	c.before[pod][key] = c.known[key]
	c.set(key, to)
}

func (c *claims) set(key string, claim *resourceapi.ResourceClaim) {
	c.hold(c.known[key], false)
	c.hold(claim, true)
	if claim == nil {
		delete(c.known, key)
	} else {
		c.known[key] = claim
	}
}

// hold counts the devices of a claim as allocated, or as free, as the scheduler's own tracker does.
func (c *claims) hold(claim *resourceapi.ResourceClaim, allocated bool) {
	if claim == nil || claim.Status.Allocation == nil {
		return
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		switch {
		case ptr.Deref(result.AdminAccess, false): // takes nothing from others
		case result.ShareID == nil:
			put(c.allocated.AllocatedDevices, device, allocated)
		default:
			put(c.allocated.AllocatedSharedDeviceIDs, structured.MakeSharedDeviceID(device, result.ShareID), allocated)
			consumed := structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity)
			if allocated {
				c.allocated.AggregatedCapacity.Insert(consumed)
			} else {
				c.allocated.AggregatedCapacity.Remove(consumed)
			}
		}
	}
}

func put[T comparable](into sets.Set[T], one T, in bool) {
	if in {
		into.Insert(one)
	} else {
		into.Delete(one)
	}
}

// copyFor makes the claims of a pod's replacement, which ask for what those of the pod do. The controller makes them from
// the same templates.
func (c *claims) copyFor(pod, replacement *v1.Pod) {
	if c == nil {
		return
	}
	for _, one := range pod.Spec.ResourceClaims {
		name, made, err := resourceclaim.Name(pod, &one)
		if err != nil || !made {
			continue // a claim that is not there yet is missed by the plugin; one that was made by hand is the replacement's, too
		}
		status := v1.PodResourceClaimStatus{Name: one.Name}
		if name != nil {
			status.ResourceClaimName = ptr.To(replacement.Name + "-" + one.Name)
			if own := c.known[claimKey(pod.Namespace, *name)]; own != nil {
				c.known[claimKey(pod.Namespace, *status.ResourceClaimName)] = &resourceapi.ResourceClaim{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: *status.ResourceClaimName,
						UID:             replacement.UID + types.UID("/"+one.Name),
						OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(replacement, v1.SchemeGroupVersion.WithKind("Pod"))}},
					Spec: own.Spec}
			}
		}
		replacement.Status.ResourceClaimStatuses = append(replacement.Status.ResourceClaimStatuses, status)
	}
}

// of are the claims that got their devices when the pod came.
func (c *claims) of(pod *v1.Pod) (made []*resourceapi.ResourceClaim) {
	if c == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.before[pod.UID])) {
		made = append(made, c.known[key])
	}
	return made
}

func (c *claims) List() ([]*resourceapi.ResourceClaim, error) {
	return slices.Collect(maps.Values(c.known)), nil
}

func (c *claims) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	claim := c.known[claimKey(namespace, name)]
	if claim == nil {
		return nil, apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), name)
	}
	return claim, nil
}

func (c *claims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	return c.allocated.AllocatedDevices, nil
}

func (c *claims) GatherAllocatedState() (*structured.AllocatedState, error) { return c.allocated, nil }

// SignalClaimPendingAllocation is how Reserve tells which devices the pod gets.
func (c *claims) SignalClaimPendingAllocation(_ types.UID, allocated *resourceapi.ResourceClaim) error {
	key := claimKey(allocated.Namespace, allocated.Name)
	if c.known[key] == nil { // that of extended resources, which all have the same name until they are created
		key = claimKey(key, string(c.coming))
	}
	c.change(c.coming, key, allocated)
	return nil
}

// GetPendingAllocation has none: an allocation that was pending is in its claim.
func (c *claims) GetPendingAllocation(types.UID) *resourceapi.AllocationResult { return nil }

// What follows belongs to binding, which is not rehearsed.

func (c *claims) MaybeRemoveClaimPendingAllocation(types.UID, bool) bool { return false }

func (c *claims) AssumeClaimAfterAPICall(*resourceapi.ResourceClaim) error { return nil }

func (c *claims) AssumedClaimRestore(string, string) {}
