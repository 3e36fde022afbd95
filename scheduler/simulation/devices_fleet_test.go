package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	gpuDriver, nicDriver = "gpu.example.com", "nic.example.com"
	gpuName              = "example.com/gpu"
	modelName            = "deviceclass.resource.kubernetes.io/model-a"
)

// wish is what a request asks of each of its devices. It is written as classes and selectors for the scheduler, and read here
// without them.
type wish struct {
	class     string
	large     bool
	tolerates bool
}

// accepts says whether the device satisfies the wish.
func (w wish) accepts(driver string, of *resourceapi.Device) bool {
	model, memory := of.Attributes["model"].StringValue, of.Capacity["memory"].Value
	byClass := map[string]bool{"gpu": driver == gpuDriver, "nic": driver == nicDriver,
		"model-a": driver == gpuDriver && ptr.Deref(model, "") == "a", "not-b": driver == gpuDriver && ptr.Deref(model, "") != "b"}
	keepsOff := func(taint resourceapi.DeviceTaint) bool { return taint.Effect != resourceapi.DeviceTaintEffectNone }
	return byClass[w.class] && (!w.large || memory.Value() >= 80<<30) && (w.tolerates || !slices.ContainsFunc(of.Taints, keepsOff))
}

func (w wish) request(name string, count int64) resourceapi.DeviceRequest {
	made := &resourceapi.ExactDeviceRequest{DeviceClassName: w.class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count}
	if w.large {
		made.Selectors = selecting(`device.capacity["` + gpuDriver + `"].memory.compareTo(quantity("80Gi")) >= 0`)
	}
	if w.tolerates {
		made.Tolerations = []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}}
	}
	return resourceapi.DeviceRequest{Name: name, Exactly: made}
}

func selecting(expressions ...string) (selectors []resourceapi.DeviceSelector) {
	for _, one := range expressions {
		selectors = append(selectors, resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: one}})
	}
	return selectors
}

// wanted is what a pod asks for: so many devices of each sort, of which one may be an extended resource.
type wanted struct {
	wishes   []wish
	extended v1.ResourceName
}

// fleet is a random cluster with devices.
type fleet struct {
	*rand.Rand
	nodes   []*v1.Node
	objects []apiObject
	slices  []*resourceapi.ResourceSlice
	// templates are the wishes by template, one for each device.
	templates map[string][]wish
	pods      int
	// bins: there are devices that pods share or that overlap, and requests for them.
	bins bool
}

func newDeviceFleet(random *rand.Rand, bins bool) *fleet {
	f := &fleet{Rand: random, templates: map[string][]wish{}, bins: bins}
	ofDriver := func(driver string) string { return `device.driver == "` + driver + `"` }
	model := func(of string) string { return `device.attributes["` + gpuDriver + `"].model ` + of }
	for name, selectors := range map[string][]resourceapi.DeviceSelector{
		"gpu": selecting(ofDriver(gpuDriver)), "nic": selecting(ofDriver(nicDriver)),
		"model-a": selecting(ofDriver(gpuDriver), model(`== "a"`)), "not-b": selecting(ofDriver(gpuDriver), model(`!= "b"`)),
	} {
		class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{Selectors: selectors}}
		if name == "gpu" {
			class.Spec.ExtendedResourceName = ptr.To(gpuName)
		}
		f.objects = append(f.objects, class)
	}
	for i := range 2 + f.IntN(3) {
		f.addNode(fmt.Sprintf("n%d", i))
	}
	for i := range 4 {
		f.addTemplate(fmt.Sprintf("t%d", i))
	}
	f.addOddTemplates()
	if f.in(20) {
		f.slices = append(f.slices, &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "of-all"}, Spec: resourceapi.ResourceSliceSpec{
			Driver: nicDriver, AllNodes: ptr.To(true), Devices: []resourceapi.Device{f.newDevice("d0")},
			Pool: resourceapi.ResourcePool{Name: "of-all", Generation: 1, ResourceSliceCount: 1}}})
	}
	for _, slice := range f.slices {
		f.objects = append(f.objects, slice)
	}
	return f
}

// in says yes in one of so many cases.
func (f *fleet) in(cases int) bool { return f.IntN(cases) == 0 }

func some[T any](f *fleet, of []T) T { return of[f.IntN(len(of))] }

func (f *fleet) addNode(name string) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("12"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110")}}}
	if f.in(5) { // the resource is a device plugin's there
		node.Status.Allocatable[gpuName] = *resource.NewQuantity(int64(f.IntN(4)), resource.DecimalSI)
	}
	f.nodes = append(f.nodes, node)
	for _, driver := range []string{gpuDriver, nicDriver} {
		var devices []resourceapi.Device
		for i := range f.IntN(9) {
			devices = append(devices, f.newDevice(fmt.Sprintf("d%d", i)))
		}
		f.publish(driver, name, devices)
	}
}

func (f *fleet) newDevice(name string) resourceapi.Device {
	made := resourceapi.Device{Name: name,
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To(some(f, []string{"a", "b", "c"}))}},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"memory": {Value: resource.MustParse(some(f, []string{"40Gi", "80Gi"}))}}}
	if f.in(8) {
		made.Taints = []resourceapi.DeviceTaint{f.newTaint()}
	}
	if f.in(60) {
		made.AllowMultipleAllocations = ptr.To(true)
	}
	if f.bins && f.in(2) {
		f.share(&made)
	}
	return made
}

func (f *fleet) newTaint() resourceapi.DeviceTaint {
	return resourceapi.DeviceTaint{Key: "health", TimeAdded: &metav1.Time{}, Effect: some(f, []resourceapi.DeviceTaintEffect{
		resourceapi.DeviceTaintEffectNone, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute})}
}

// publish makes a pool in one or two slices, of which one may be missing, or an older one left over.
func (f *fleet) publish(driver, node string, devices []resourceapi.Device) {
	count := 1
	if len(devices) > 1 && f.in(2) {
		count = 2
	}
	sets := f.partition(driver, devices)
	if len(sets) > 0 {
		defer func() {
			last := f.slices[len(f.slices)-1].DeepCopy()
			last.Name, last.Spec.Pool.Generation, last.Spec.Devices, last.Spec.SharedCounters = driver+"-"+node+"-counters", 2, nil, sets
			f.slices = append(f.slices, last)
		}()
	}
	slice := func(name string, generation int64, of []resourceapi.Device) {
		f.slices = append(f.slices, &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: driver + "-" + node + "-" + name},
			Spec: resourceapi.ResourceSliceSpec{Driver: driver, NodeName: &node, Devices: of,
				Pool: resourceapi.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: int64(count + len(sets))}}})
	}
	names := []string{"x", "y"}
	f.Shuffle(2, func(i, j int) { names[i], names[j] = names[j], names[i] })
	middle := len(devices) / count
	slice(names[0], 2, devices[:middle])
	if count == 2 && !f.in(10) {
		slice(names[1], 2, devices[middle:])
	}
	if f.in(6) {
		slice("old", 1, []resourceapi.Device{f.newDevice("d0"), f.newDevice("gone")})
	}
}

func (f *fleet) addTemplate(name string) {
	made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	for i := range 1 + f.IntN(2) {
		one, count := f.newWish(), 1+f.IntN(3)*f.IntN(2)
		made.Spec.Spec.Devices.Requests = append(made.Spec.Spec.Devices.Requests, f.binned(one.request(fmt.Sprintf("r%d", i), int64(count))))
		f.templates[name] = append(f.templates[name], slices.Repeat([]wish{one}, count)...)
	}
	f.objects = append(f.objects, made)
}

// addOddTemplates adds those of claims that are no amounts, and that plans leave alone.
func (f *fleet) addOddTemplates() {
	all, either, alike := wish{class: "model-a"}.request("r", 0), resourceapi.DeviceRequest{Name: "r"}, wish{class: "gpu"}.request("r", 2)
	all.Exactly.AllocationMode = resourceapi.DeviceAllocationModeAll
	for i, class := range []string{"model-a", "gpu"} {
		either.FirstAvailable = append(either.FirstAvailable, resourceapi.DeviceSubRequest{Name: fmt.Sprintf("s%d", i), DeviceClassName: class,
			AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1})
	}
	for i, request := range []resourceapi.DeviceRequest{all, either, alike} {
		made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("odd%d", i), Namespace: metav1.NamespaceDefault}}
		made.Spec.Spec.Devices.Requests = []resourceapi.DeviceRequest{request}
		if request.Exactly == alike.Exactly {
			made.Spec.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{
				{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(gpuDriver + "/model"))}}
		}
		f.objects = append(f.objects, made)
	}
}

func (f *fleet) newWish() wish {
	one := wish{class: some(f, []string{"gpu", "gpu", "model-a", "not-b", "nic"}), tolerates: f.in(4)}
	one.large = one.class != "nic" && f.in(3)
	return one
}

// newPod asks for devices in one of the ways, on a node or on none yet.
func (f *fleet) newPod(node string) *v1.Pod {
	name := fmt.Sprintf("p%d", f.pods)
	f.pods++
	list := v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID("of-" + name), Controller: ptr.To(true)}
	made := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name),
		OwnerReferences: []metav1.OwnerReference{owner}, Labels: map[string]string{}}, Spec: v1.PodSpec{NodeName: node}}
	switch f.IntN(8) {
	case 0: // none
	case 1:
		list[gpuName] = *resource.NewQuantity(1+int64(f.IntN(2)), resource.DecimalSI)
	case 2:
		list[modelName] = resource.MustParse("1")
	case 3:
		made.Spec.ResourceClaims = append(f.claim(), f.claim()...)
		made.Spec.ResourceClaims[1].Name = "also"
	default:
		made.Spec.ResourceClaims = f.claim()
		if f.in(8) {
			made.Spec.ResourceClaims[0].ResourceClaimTemplateName = ptr.To(fmt.Sprintf("odd%d", f.IntN(3)))
		}
	}
	container := v1.Container{Name: "c", Image: "i", Resources: v1.ResourceRequirements{Requests: list, Limits: list}}
	for _, one := range made.Spec.ResourceClaims {
		container.Resources.Claims = append(container.Resources.Claims, v1.ResourceClaim{Name: one.Name})
	}
	made.Spec.Containers = []v1.Container{container}
	return made
}

func (f *fleet) claim() []v1.PodResourceClaim {
	return []v1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: ptr.To(fmt.Sprintf("t%d", f.IntN(len(f.templates))))}}
}

// wantedBy is what the pod asks for.
func (f *fleet) wantedBy(pod *v1.Pod) (all wanted) {
	for _, claim := range pod.Spec.ResourceClaims {
		all.wishes = append(all.wishes, f.templates[ptr.Deref(claim.ResourceClaimTemplateName, "")]...)
	}
	for name, class := range map[v1.ResourceName]string{gpuName: "gpu", modelName: "model-a"} {
		if quantity, asks := pod.Spec.Containers[0].Resources.Requests[name]; asks {
			all.extended = name
			all.wishes = append(all.wishes, slices.Repeat([]wish{{class: class}}, int(quantity.Value()))...)
		}
	}
	return all
}

// published is a device that the scheduler may give.
type published struct {
	id     string
	driver string
	*resourceapi.Device
}

// devicesOf are the devices of a node in pools of which all slices of the newest generation are there.
func devicesOf(node string, all []*resourceapi.ResourceSlice) (devices []published) {
	for _, driver := range []string{gpuDriver, nicDriver} {
		var newest []*resourceapi.ResourceSlice
		for _, slice := range all {
			if slice.Spec.Driver != driver || slice.Spec.Pool.Name != node {
				continue
			}
			if len(newest) > 0 && newest[0].Spec.Pool.Generation != slice.Spec.Pool.Generation {
				if newest[0].Spec.Pool.Generation > slice.Spec.Pool.Generation {
					continue
				}
				newest = nil
			}
			newest = append(newest, slice)
		}
		if len(newest) == 0 || int64(len(newest)) != newest[0].Spec.Pool.ResourceSliceCount {
			continue
		}
		for _, slice := range newest {
			for i := range slice.Spec.Devices {
				one := &slice.Spec.Devices[i]
				devices = append(devices, published{strings.Join([]string{driver, node, one.Name}, "/"), driver, one})
			}
		}
	}
	return devices
}

// canHave says whether each wish can have a device of its own.
func canHave(wishes []wish, devices []published) bool {
	of := make([]int, len(devices)) // one more than the place of its wish
	var give func(wish int, tried []bool) bool
	give = func(wish int, tried []bool) bool {
		for i, device := range devices {
			if tried[i] || !wishes[wish].accepts(device.driver, device.Device) {
				continue
			}
			tried[i] = true
			if of[i] == 0 || give(of[i]-1, tried) {
				of[i] = wish + 1
				return true
			}
		}
		return false
	}
	for i := range wishes {
		if !give(i, make([]bool, len(devices))) {
			return false
		}
	}
	return true
}
