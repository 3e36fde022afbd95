package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	resourcev1 "k8s.io/kubernetes/pkg/apis/resource/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/utils/ptr"
)

var (
	deviceClaimResource    = resourceapi.SchemeGroupVersion.WithResource("resourceclaims")
	deviceTemplateResource = resourceapi.SchemeGroupVersion.WithResource("resourceclaimtemplates")
	deviceClassResource    = resourceapi.SchemeGroupVersion.WithResource("deviceclasses")
)

// makeClaims does what the controller of resource claims does for a new pod: it makes a claim from each template that the
// pod names, and notes it in the pod's status. Without the template, the scheduler leaves the pod alone, as in a cluster.
func (a *api) makeClaims(pod *v1.Pod) error {
	for i := range pod.Spec.ResourceClaims {
		asked := &pod.Spec.ResourceClaims[i]
		if _, _, err := resourceclaim.Name(pod, asked); err == nil || asked.ResourceClaimTemplateName == nil {
			continue
		}
		template, there := find[*resourceapi.ResourceClaimTemplate](
			&a.tracker, deviceTemplateResource, pod.Namespace, *asked.ResourceClaimTemplateName)
		if !there {
			continue
		}
		claim := &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: pod.Namespace, GenerateName: pod.Name + "-" + asked.Name + "-",
				Labels: template.Spec.Labels, Annotations: template.Spec.Annotations,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, podKind)},
			},
			Spec: template.Spec.Spec,
		}
		if err := a.Create(deviceClaimResource, claim, claim.Namespace); err != nil {
			return fmt.Errorf("claim of template %s: %w", template.Name, err)
		}
		pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses,
			v1.PodResourceClaimStatus{Name: asked.Name, ResourceClaimName: &claim.Name})
	}
	return nil
}

// makeClaimsFrom makes the claims of pods that came before their template.
func (r *run) makeClaimsFrom(template *resourceapi.ResourceClaimTemplate) error {
	for _, pod := range list[*v1.Pod](r.api, podResource) {
		lacks := func(asked v1.PodResourceClaim) bool {
			_, _, err := resourceclaim.Name(pod, &asked)
			return err != nil && ptr.Deref(asked.ResourceClaimTemplateName, "") == template.Name
		}
		if pod.Namespace != template.Namespace || !slices.ContainsFunc(pod.Spec.ResourceClaims, lacks) {
			continue
		}
		pod = pod.DeepCopy()
		if err := errors.Join(r.api.makeClaims(pod), r.put(podResource, pod)); err != nil {
			return err
		}
	}
	return nil
}

// nameClaim gives a claim the name and the UID that the API server gives to each. The scheduler tells claims apart by UID.
func (a *api) nameClaim(claim *resourceapi.ResourceClaim) {
	if claim.Name == "" {
		claim.Name = claim.GenerateName + strconv.FormatInt(a.claims.Add(1), 10)
	}
	if claim.UID == "" {
		claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
	}
}

// complete does what the API server and drivers do with objects about devices that are written.
func (a *api) complete(object runtime.Object) {
	switch written := object.(type) {
	case *resourceapi.ResourceClaim:
		resourcev1.SetObjectDefaults_ResourceClaim(written)
		a.makeReady(written)
	case *resourceapi.ResourceClaimTemplate:
		resourcev1.SetObjectDefaults_ResourceClaimTemplate(written)
	case *resourceapi.ResourceSlice:
		resourcev1.SetObjectDefaults_ResourceSlice(written)
	}
}

// makeReady does what a driver does with a device that must be made ready before its pod is bound. The scheduler would wait
// for minutes.
func (a *api) makeReady(claim *resourceapi.ResourceClaim) {
	if claim.Status.Allocation == nil {
		return
	}
	for _, device := range claim.Status.Allocation.Devices.Results {
		if len(device.BindingConditions) == 0 {
			continue
		}
		place := slices.IndexFunc(claim.Status.Devices, func(one resourceapi.AllocatedDeviceStatus) bool {
			return one.Driver == device.Driver && one.Pool == device.Pool && one.Device == device.Device
		})
		if place < 0 {
			place = len(claim.Status.Devices)
			claim.Status.Devices = append(claim.Status.Devices,
				resourceapi.AllocatedDeviceStatus{Driver: device.Driver, Pool: device.Pool, Device: device.Device})
		}
		for _, condition := range device.BindingConditions {
			apimeta.SetStatusCondition(&claim.Status.Devices[place].Conditions, metav1.Condition{
				Type: condition, Status: metav1.ConditionTrue, Reason: "Simulated", LastTransitionTime: metav1.NewTime(a.now())})
		}
	}
}

// claimNames are the claims of a pod: those that it names, those that were made from templates, and the one that the
// scheduler made for its extended resources.
func claimNames(pod *v1.Pod) (names []string) {
	for i := range pod.Spec.ResourceClaims {
		if name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[i]); err == nil && name != nil {
			names = append(names, *name)
		}
	}
	if extended := pod.Status.ExtendedResourceClaimStatus; extended != nil {
		names = append(names, extended.ResourceClaimName)
	}
	return names
}

// releaseClaims frees the devices of a pod that is gone: claims that were made for it go with it, and those that it shared
// stay, with their devices as long as another pod uses them. A claim loses its devices first, which is what wakes pods that
// wait for some.
func (a *api) releaseClaims(pod *v1.Pod) error {
	var errs []error
	for _, name := range claimNames(pod) {
		claim, there := find[*resourceapi.ResourceClaim](&a.tracker, deviceClaimResource, pod.Namespace, name)
		if !there {
			continue
		}
		if isReservedFor(claim, pod) {
			claim.Status.ReservedFor = slices.DeleteFunc(claim.Status.ReservedFor,
				func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod.UID })
			if len(claim.Status.ReservedFor) == 0 {
				claim.Status = resourceapi.ResourceClaimStatus{}
			}
			errs = append(errs, a.Update(deviceClaimResource, claim, claim.Namespace))
		}
		if metav1.IsControlledBy(claim, pod) {
			errs = append(errs, a.Delete(deviceClaimResource, claim.Namespace, claim.Name))
		}
	}
	return errors.Join(errs...)
}

func isReservedFor(claim *resourceapi.ResourceClaim, pod *v1.Pod) bool {
	return slices.ContainsFunc(claim.Status.ReservedFor,
		func(user resourceapi.ResourceClaimConsumerReference) bool { return user.UID == pod.UID })
}

// lacksDevices says whether the claims of a pod that has a node may still have to be given devices. A claim that is not
// listed is none to give devices to.
func (a *api) lacksDevices(pod *v1.Pod) bool {
	if pod.Spec.NodeName == "" || podutil.IsPodTerminal(pod) {
		return false
	}
	for _, name := range claimNames(pod) {
		claim, there := find[*resourceapi.ResourceClaim](&a.tracker, deviceClaimResource, pod.Namespace, name)
		if there && !isReservedFor(claim, pod) {
			return true
		}
	}
	return pod.Status.ExtendedResourceClaimStatus == nil && len(a.informers[deviceClassResource].GetStore().ListKeys()) > 0
}

// giveDevices has a pod that came with its node take devices there, as it did when the scheduler placed it. One
// for which there are none keeps its place, and the reading says so.
func (r *run) giveDevices(name string) error {
	pod, there := r.api.pod(name)
	if !there || !r.api.lacksDevices(pod) {
		return nil
	}
	node, there := find[*v1.Node](&r.api.tracker, nodeResource, "", pod.Spec.NodeName)
	if !there {
		return nil
	}
	plugin, err := r.devicePlugin()
	if err != nil {
		return err
	}
	info, state := framework.NewNodeInfo(), framework.NewCycleState()
	info.SetNode(node)
	_, status := plugin.PreFilter(r.ctx, state, pod, []fwk.NodeInfo{info})
	if status.IsSkip() {
		return nil
	}
	if status.IsSuccess() {
		status = plugin.Filter(r.ctx, state, pod, info)
	}
	if status.IsSuccess() {
		if status = plugin.Reserve(r.ctx, state, pod, node.Name); status.IsSuccess() {
			status = plugin.PreBind(r.ctx, state, pod, node.Name)
		}
		if !status.IsSuccess() {
			plugin.Unreserve(r.ctx, state, pod, node.Name)
		}
	}
	r.events.deliver()
	if status.IsSuccess() {
		return nil
	}
	r.reading.leaveOut("Pod", name, fmt.Sprintf("its node %q does not have the devices that it claims: %s", node.Name, status.Message()))
	return nil
}

// devicePlugin is the scheduler's plugin for devices, of which the run has one of its own.
func (r *run) devicePlugin() (*dynamicresources.DynamicResources, error) {
	if r.devices == nil {
		profile := slices.Sorted(maps.Keys(r.scheduler.Profiles))[0] // all share the claims
		made, err := dynamicresources.New(r.ctx, &config.DynamicResourcesArgs{}, placedPods{r.scheduler.Profiles[profile]},
			feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
		if err != nil {
			return nil, err
		}
		r.devices = made.(*dynamicresources.DynamicResources)
	}
	return r.devices, nil
}

// placedPods is the handle of a profile under another name, by which the plugin indexes pods once more.
type placedPods struct{ framework.Framework }

func (p placedPods) ProfileName() string { return p.Framework.ProfileName() + "-placed" }

// noteMissingClaims says why the scheduler does not try a pod whose claims are not there.
func (r *run) noteMissingClaims(pod *v1.Pod) {
	for i := range pod.Spec.ResourceClaims {
		asked := &pod.Spec.ResourceClaims[i]
		name, _, err := resourceclaim.Name(pod, asked)
		switch {
		case err != nil && asked.ResourceClaimTemplateName != nil:
			r.reasons[key(pod)] = fmt.Sprintf("there is no ResourceClaimTemplate %q to make its claim from", *asked.ResourceClaimTemplateName)
		case name != nil:
			if _, there := find[*resourceapi.ResourceClaim](&r.api.tracker, deviceClaimResource, pod.Namespace, *name); !there {
				r.reasons[key(pod)] = fmt.Sprintf("there is no ResourceClaim %q", *name)
			}
		}
	}
}
