package resources_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const gpuDriver, nicDriver = "gpu.example.com", "nic.example.com"

// binFleet is random nodes with devices that pods share or that overlap, and templates of claims for them.
type binFleet struct {
	*rand.Rand
	nodes     []*v1.Node
	slices    []*resourceapi.ResourceSlice
	classes   map[string]*resourceapi.DeviceClass
	templates []*resourceapi.ResourceClaimTemplate
	pods      int
}

func newBinFleet(seed uint64) *binFleet {
	f := &binFleet{Rand: rand.New(rand.NewPCG(seed, 0)), classes: map[string]*resourceapi.DeviceClass{}}
	for name, of := range map[string]string{"gpu": "", "nic": "", "a": `== "a"`, "not-b": `!= "b"`, "half": `== "half"`, "quarter": `== "quarter"`} {
		driver := gpuDriver
		if name == "nic" {
			driver = nicDriver
		}
		text := fmt.Sprintf("device.driver == %q", driver)
		if of != "" {
			text += fmt.Sprintf(" && device.attributes[%q].model %s", driver, of)
		}
		f.classes[name] = &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: resourceapi.DeviceClassSpec{
			Selectors: []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: text}}}}}
	}
	for i := range 1 + f.IntN(2) {
		f.addNode(fmt.Sprintf("n%d", i))
	}
	for i := range 2 + f.IntN(5) {
		made := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: fmt.Sprintf("t%d", i)}}
		for j := range 1 + f.IntN(2)*f.IntN(2) {
			made.Spec.Spec.Devices.Requests = append(made.Spec.Spec.Devices.Requests, f.newRequest(fmt.Sprintf("r%d", j)))
		}
		f.templates = append(f.templates, made)
	}
	return f
}

// in says yes in one of so many cases.
func (f *binFleet) in(cases int) bool { return f.IntN(cases) == 0 }

func some[T any](f *binFleet, of ...T) T { return of[f.IntN(len(of))] }

// addNode adds one with one or two pools of GPUs, and one of NICs that is called like the first.
func (f *binFleet) addNode(name string) {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
		v1.ResourcePods: resource.MustParse("110")}}}
	f.nodes = append(f.nodes, node)
	if name == "n1" && f.in(2) { // it is like the other
		for _, one := range slices.Clone(f.slices) {
			one = one.DeepCopy()
			one.Name, one.Spec.NodeName, one.Spec.Pool.Name = name+one.Name[2:], &node.Name, name+one.Spec.Pool.Name[2:]
			f.slices = append(f.slices, one)
		}
		return
	}
	for i := range 1 + f.IntN(2) {
		f.addPool(gpuDriver, name, fmt.Sprint(name, []string{"", "-x"}[i]))
	}
	if f.in(2) {
		f.addPool(nicDriver, name, name)
	}
}

// addPool publishes devices of all sorts, of which the counters are in a slice of their own.
func (f *binFleet) addPool(driver, node, name string) {
	var devices []resourceapi.Device
	var sets []resourceapi.CounterSet
	for i := range 2 + f.IntN(4) {
		switch kind := f.IntN(4); {
		case kind == 0 && driver == gpuDriver:
			set := fmt.Sprintf("gpu%d", i)
			sets = append(sets, f.newCounters(set))
			devices = append(devices, f.newPartitions(set)...)
		case kind == 1 || driver == nicDriver && !f.in(4):
			devices = append(devices, f.newDevice(fmt.Sprintf("d%d", i)))
		default:
			device := f.newDevice(fmt.Sprintf("s%d", i))
			f.share(&device)
			devices = append(devices, device)
		}
	}
	f.Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
	var made []*resourceapi.ResourceSlice
	add := func(slice string) *resourceapi.ResourceSlice {
		one := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + slice}, Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, NodeName: &node, Pool: resourceapi.ResourcePool{Name: name, Generation: 1}}}
		one.Name += "-" + driver[:3]
		made = append(made, one)
		return one
	}
	if len(sets) > 0 {
		add("-counters").Spec.SharedCounters = sets
	}
	cut := f.IntN(len(devices) + 1)
	for i, of := range [][]resourceapi.Device{devices[:cut], devices[cut:]} {
		if len(of) > 0 {
			add([]string{"-z", "-a"}[(i+f.IntN(2))%2] + fmt.Sprint(i)).Spec.Devices = of
		}
	}
	f.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	for _, one := range made {
		one.Spec.Pool.ResourceSliceCount = int64(len(made))
	}
	f.slices = append(f.slices, made...)
}

func (f *binFleet) newDevice(name string) resourceapi.Device {
	return f.ofModel(name, some(f, "a", "b", "c"))
}

func (f *binFleet) ofModel(name, model string) resourceapi.Device {
	made := resourceapi.Device{Name: name, Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: &model}}}
	if f.in(10) {
		made.Taints = []resourceapi.DeviceTaint{{Key: "health", TimeAdded: &metav1.Time{}, Effect: some(f,
			resourceapi.DeviceTaintEffectNone, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute)}}
	}
	if f.in(4) {
		made.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(some(f, "40", "80"))}}
	}
	return made
}

func (f *binFleet) newCounters(name string) resourceapi.CounterSet {
	return resourceapi.CounterSet{Name: name, Counters: map[string]resourceapi.Counter{
		"slices": {Value: resource.MustParse(some(f, "4", "3", "4500m"))}, "memory": {Value: resource.MustParse(some(f, "40Gi", "35Gi"))}}}
}

// newPartitions are a whole GPU, halves and quarters, some of which pods may share.
func (f *binFleet) newPartitions(set string) (devices []resourceapi.Device) {
	for i, slice := range []int{4, 2, 2, 1, 1, 1, 1} {
		one := f.ofModel(fmt.Sprintf("%s-%d", set, i), map[int]string{4: "a", 2: "half", 1: "quarter"}[slice])
		one.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: set, Counters: map[string]resourceapi.Counter{
			"slices": {Value: resource.MustParse(fmt.Sprint(slice))}}}}
		if f.in(2) {
			one.ConsumesCounters[0].Counters["memory"] = resourceapi.Counter{Value: resource.MustParse(fmt.Sprint(10*slice, "Gi"))}
		}
		if f.in(4) {
			f.share(&one)
		}
		if !f.in(4) {
			devices = append(devices, one)
		}
	}
	return devices
}

// share lets pods share the device, under some policy for each of its capacities.
func (f *binFleet) share(device *resourceapi.Device) {
	device.AllowMultipleAllocations = ptr.To(true)
	device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{}
	for _, name := range []resourceapi.QualifiedName{"memory", "cores"} {
		if name == "memory" || f.in(3) {
			device.Capacity[name] = f.newCapacity()
		}
	}
	if f.in(30) {
		device.Capacity = nil // as many as there are
	}
}

func (f *binFleet) newCapacity() resourceapi.DeviceCapacity {
	quantity := func(of ...string) *resource.Quantity { return ptr.To(resource.MustParse(some(f, of...))) }
	made := resourceapi.DeviceCapacity{Value: *quantity("40", "80", "80", "100")}
	if f.in(3) {
		return made
	}
	made.RequestPolicy = &resourceapi.CapacityRequestPolicy{}
	switch f.IntN(4) {
	case 0:
		made.RequestPolicy.Default = quantity("20", "40")
	case 1:
		made.RequestPolicy.Default = quantity("10", "20")
		made.RequestPolicy.ValidValues = []resource.Quantity{resource.MustParse("10"), resource.MustParse("20"), resource.MustParse("40")}
	default:
		of := &resourceapi.CapacityRequestPolicyRange{Min: quantity("5", "10")}
		made.RequestPolicy.ValidRange, made.RequestPolicy.Default = of, of.Min
		if f.in(2) {
			of.Max = quantity("40", "60")
		}
		if f.in(2) {
			of.Step = quantity("5", "10", "15")
		}
		if f.in(8) {
			of.Min, of.Step, made.RequestPolicy.Default = quantity("1500m"), quantity("500m"), quantity("1500m")
		}
	}
	return made
}

func (f *binFleet) newRequest(name string) resourceapi.DeviceRequest {
	made := resourceapi.DeviceRequest{Name: name}
	if !f.in(4) {
		made.Exactly = f.newExactly()
		return made
	}
	for i := range 2 + f.IntN(2) {
		one := f.newExactly()
		made.FirstAvailable = append(made.FirstAvailable, resourceapi.DeviceSubRequest{Name: fmt.Sprintf("s%d", i), Count: one.Count,
			DeviceClassName: one.DeviceClassName, AllocationMode: one.AllocationMode, Tolerations: one.Tolerations, Capacity: one.Capacity})
	}
	return made
}

func (f *binFleet) newExactly() *resourceapi.ExactDeviceRequest {
	made := &resourceapi.ExactDeviceRequest{AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + f.IntN(2)*f.IntN(2)*f.IntN(3)),
		DeviceClassName: some(f, "gpu", "gpu", "gpu", "a", "not-b", "not-b", "half", "quarter", "nic")}
	if f.in(4) {
		made.Tolerations = []resourceapi.DeviceToleration{{Operator: resourceapi.DeviceTolerationOpExists}}
	}
	if f.in(2) {
		made.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{}}
		made.Capacity.Requests["memory"] = resource.MustParse(some(f, "1", "7", "10", "10", "11", "20", "30", "40", "45", "2500m", "90"))
		if f.in(8) {
			made.Capacity.Requests["cores"] = resource.MustParse("10")
		}
	}
	return made
}

// mostDevices of a pod: the allocator tries all combinations before it gives up.
const mostDevices = 4

// newPod has one to three claims.
func (f *binFleet) newPod() *v1.Pod {
	name := fmt.Sprintf("p%d", f.pods)
	f.pods++
	made := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name)}}
	made.Spec.SchedulerName = v1.DefaultSchedulerName
	made.Spec.Containers = []v1.Container{{Name: "c"}}
	devices := int64(0)
	for i := range 1 + f.IntN(2)*f.IntN(3) {
		template := some(f, f.templates...)
		for _, request := range template.Spec.Spec.Devices.Requests {
			if request.Exactly != nil {
				devices += request.Exactly.Count
			}
			for _, one := range request.FirstAvailable {
				devices += one.Count
			}
		}
		if i > 0 && devices > mostDevices {
			break
		}
		made.Spec.ResourceClaims = append(made.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprintf("c%d", i),
			ResourceClaimTemplateName: &template.Name})
	}
	return made
}

// claimsOf are those that the controller manager makes for the pod.
func (f *binFleet) claimsOf(pod *v1.Pod) (claims []*resourceapi.ResourceClaim) {
	for _, of := range pod.Spec.ResourceClaims {
		at := slices.IndexFunc(f.templates, func(one *resourceapi.ResourceClaimTemplate) bool { return one.Name == *of.ResourceClaimTemplateName })
		name := pod.Name + "-" + of.Name
		claims = append(claims, &resourceapi.ResourceClaim{Spec: *f.templates[at].Spec.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))}}})
	}
	return claims
}
