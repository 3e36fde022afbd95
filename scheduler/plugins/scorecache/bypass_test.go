package scorecache

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/cachebypass"
)

// handle is a framework's handle with what the rules ask for.
type handle struct {
	fwk.Handle
	extenders []fwk.Extender
	devices   fwk.SharedDRAManager
}

func (h handle) Extenders() []fwk.Extender              { return h.extenders }
func (h handle) SharedDRAManager() fwk.SharedDRAManager { return h.devices }

type extender struct {
	fwk.Extender
	filters, prioritises, interested bool
}

func (e extender) IsFilter() bool            { return e.filters }
func (e extender) IsPrioritizer() bool       { return e.prioritises }
func (e extender) IsInterested(*v1.Pod) bool { return e.interested }

// devices knows one extended resource that is made of devices.
type devices struct{ fwk.SharedDRAManager }

func (d devices) DeviceClassResolver() fwk.DeviceClassResolver { return resolver{} }

type resolver struct{ fwk.DeviceClassResolver }

func (resolver) GetDeviceClass(name v1.ResourceName) *resourceapi.DeviceClass {
	if name == "example.com/gpu" {
		return &resourceapi.DeviceClass{}
	}
	return nil
}

func plain() *v1.Pod {
	pod := &v1.Pod{}
	pod.UID = types.UID("plain")
	pod.Spec.Containers = []v1.Container{{Name: "c", Image: "i"}}
	return pod
}

func volume(source v1.VolumeSource) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: source}} }
}

// TestPodsThatBypassTheCache has a row for each kind of pod that another pod's ranking may not be valid for, and for
// similar pods that it is valid for.
func TestPodsThatBypassTheCache(t *testing.T) {
	zone := func(action v1.UnsatisfiableConstraintAction) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{TopologyKey: "zone", WhenUnsatisfiable: action}}
		}
	}
	affinity := func(a v1.Affinity) func(*v1.Pod) { return func(p *v1.Pod) { p.Spec.Affinity = &a } }
	onFields := func(terms ...v1.NodeSelectorTerm) func(*v1.Pod) {
		return affinity(v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}})
	}
	name := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{"n"}}
	gpu := v1.ResourceList{"example.com/gpu": {}}
	for _, row := range []struct {
		name   string
		change func(*v1.Pod)
		want   string
	}{
		{"plain", func(*v1.Pod) {}, ""},
		{"pod group", func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{} }, bypassGroup},
		{"nominated", func(p *v1.Pod) { p.Status.NominatedNodeName = "n" }, bypassNominated},
		{"affinity", affinity(v1.Affinity{PodAffinity: &v1.PodAffinity{}}), bypassPodAffinity},
		{"anti-affinity", affinity(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}), bypassPodAffinity},
		{"node affinity", onFields(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{name}}), ""},
		{"node by name", onFields(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{name}}), bypassNodeName},
		{"node name", func(p *v1.Pod) { p.Spec.NodeName = "n" }, bypassNodeName},
		{"hard spread", zone(v1.DoNotSchedule), bypassSpread},
		{"soft spread", zone(v1.ScheduleAnyway), ""},
		{"claim", volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}), bypassVolumes},
		{"ephemeral claim", volume(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}), bypassVolumes},
		{"disk", volume(v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}}), bypassVolumes},
		{"image volume", volume(v1.VolumeSource{Image: &v1.ImageVolumeSource{}}), bypassVolumes},
		{"config map", volume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), ""},
		{"secret", volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), ""},
		{"projected token", volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}), ""},
		{"empty dir", volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), ""},
		{"resource claim", func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{}} }, bypassDevices},
		{"device", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = gpu }, bypassDevices},
		{"device of an init container", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: gpu}}}
		}, bypassDevices},
	} {
		pod := plain()
		row.change(pod)
		p := &Plugin{handle: handle{devices: devices{}}, profile: func() profile { return profile{} }, served: newServedPods()}
		if got := p.bypass(framework.NewCycleState(), pod); got != row.want {
			t.Errorf("%s: want reason %q, got %q", row.name, row.want, got)
		}
	}
}

// TestExtendersKeepTheirPodsFromTheCache: plugins do not see the results of extenders, so these can be neither cached
// nor checked.
func TestExtendersKeepTheirPodsFromTheCache(t *testing.T) {
	for _, row := range []struct {
		extender extender
		want     string
	}{
		{extender{filters: true, interested: true}, bypassExtender},
		{extender{prioritises: true, interested: true}, bypassExtender},
		{extender{filters: true}, ""},
		{extender{interested: true}, ""}, // it only binds or preempts
	} {
		p := &Plugin{handle: handle{extenders: []fwk.Extender{row.extender}}, profile: func() profile { return profile{} }, served: newServedPods()}
		if got := p.bypass(framework.NewCycleState(), plain()); got != row.want {
			t.Errorf("%+v: want reason %q, got %q", row.extender, row.want, got)
		}
	}
}

// TestOtherPluginsCanRequireABypass: reservations and plans treat each pod individually.
func TestOtherPluginsCanRequireABypass(t *testing.T) {
	p := &Plugin{handle: handle{}, profile: func() profile { return profile{} }, served: newServedPods()}
	state := framework.NewCycleState()
	cachebypass.Require(state, "Reservations")
	if got := p.bypass(state, plain()); got != bypassPlugin {
		t.Errorf("want reason %q, got %q", bypassPlugin, got)
	}
}

// TestAPodThatComesAgainBypassesTheCache: whatever kept it from its cached node would keep it from it again.
func TestAPodThatComesAgainBypassesTheCache(t *testing.T) {
	p := &Plugin{handle: handle{}, profile: func() profile { return profile{} }, served: newServedPods()}
	p.served.add("plain")
	if got := p.bypass(framework.NewCycleState(), plain()); got != bypassRetry {
		t.Errorf("want reason %q, got %q", bypassRetry, got)
	}
}
