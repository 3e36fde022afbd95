package scorecache

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/utils/lru"

	"github.com/stowage/stowage/scheduler/cachebypass"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/resources"
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

func plain() *v1.Pod { return testobjects.Pod("plain", "", "").Obj() }

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
		{"pod group", func(p *v1.Pod) { p.Spec.SchedulingGroup = &v1.PodSchedulingGroup{} }, "pod-group"},
		{"nominated", func(p *v1.Pod) { p.Status.NominatedNodeName = "n" }, "nominated"},
		{"affinity", affinity(v1.Affinity{PodAffinity: &v1.PodAffinity{}}), "pod-affinity"},
		{"anti-affinity", affinity(v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}), "pod-affinity"},
		{"node affinity", onFields(v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{name}}), ""},
		{"node by name", onFields(v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{name}}), "node-name"},
		{"node name", func(p *v1.Pod) { p.Spec.NodeName = "n" }, "node-name"},
		{"hard spread", zone(v1.DoNotSchedule), "topology-spread"},
		{"soft spread", zone(v1.ScheduleAnyway), ""},
		{"claim", volume(v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{}}), "volumes"},
		{"ephemeral claim", volume(v1.VolumeSource{Ephemeral: &v1.EphemeralVolumeSource{}}), "volumes"},
		{"disk", volume(v1.VolumeSource{AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{}}), "volumes"},
		{"image volume", volume(v1.VolumeSource{Image: &v1.ImageVolumeSource{}}), "volumes"},
		{"config map", volume(v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}), ""},
		{"secret", volume(v1.VolumeSource{Secret: &v1.SecretVolumeSource{}}), ""},
		{"projected token", volume(v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{}}), ""},
		{"empty dir", volume(v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}), ""},
		{"resource claim", func(p *v1.Pod) { p.Spec.ResourceClaims = []v1.PodResourceClaim{{}} }, "devices"},
		{"device", func(p *v1.Pod) { p.Spec.Containers[0].Resources.Requests = gpu }, "devices"},
		{"device of an init container", func(p *v1.Pod) {
			p.Spec.InitContainers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: gpu}}}
		}, "devices"},
	} {
		pod := plain()
		row.change(pod)
		if got := pluginWith(handle{devices: devices{}}).bypass(framework.NewCycleState(), pod); got != row.want {
			t.Errorf("%s: want reason %q, got %q", row.name, row.want, got)
		}
	}
}

// TestOthersKeepPodsFromTheCache: plugins do not see the results of extenders, so these can be neither cached nor
// checked; reservations and plans treat each pod individually; and whatever kept a pod from its cached node would keep it
// from it again.
func TestOthersKeepPodsFromTheCache(t *testing.T) {
	asked := func(by extender) *Plugin { return pluginWith(handle{extenders: []fwk.Extender{by}}) }
	again, required := pluginWith(handle{}), framework.NewCycleState()
	again.served.Add(plain().UID, nil)
	cachebypass.Require(required)
	for name, row := range map[string]struct {
		plugin *Plugin
		state  fwk.CycleState
		want   string
	}{
		"an extender that filters":     {asked(extender{filters: true, interested: true}), nil, "extender"},
		"an extender that prioritises": {asked(extender{prioritises: true, interested: true}), nil, "extender"},
		"an extender for others":       {asked(extender{filters: true}), nil, ""},
		"one that binds or preempts":   {asked(extender{interested: true}), nil, ""},
		"another plugin":               {pluginWith(handle{}), required, "plugin"},
		"the pod comes again":          {again, nil, "retry"},
	} {
		if row.state == nil {
			row.state = framework.NewCycleState()
		}
		if got := row.plugin.bypass(row.state, plain()); got != row.want {
			t.Errorf("%s: want reason %q, got %q", name, row.want, got)
		}
	}
}

func pluginWith(h handle) *Plugin {
	return &Plugin{handle: h, book: resources.NewBook(h, nil), profile: func() profile { return profile{} }, served: lru.New(1)}
}

func unknown(text string) runtime.Object { return &runtime.Unknown{Raw: []byte(text)} }

// TestArgumentsHaveTheDefaultsOfThePaper: tau is 0.5 there.
func TestArgumentsHaveTheDefaultsOfThePaper(t *testing.T) {
	for _, object := range []runtime.Object{nil, unknown("{}")} {
		args := testobjects.Value(DecodeArgs(object))(t)
		if args.RefreshThreshold != 0.5 || args.MaxEntries != DefaultMaxEntries {
			t.Errorf("unexpected defaults: %+v", args)
		}
	}
}

// TestErrorsOfArgumentsAreReportedTogether: who repairs a configuration wants to do it once.
func TestErrorsOfArgumentsAreReportedTogether(t *testing.T) {
	_, err := DecodeArgs(unknown(`{"kind":"ScoreCacheArgs","refreshThreshold":0,"maxEntries":0,"colour":"red","trustedPlugins":[""]}`))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"ScoreCache", "refreshThreshold", "maxEntries", "colour", "trustedPlugins[0]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error should name %s: %v", want, err)
		}
	}
}

// TestLimitsOfArgumentsAreIncluded: tau of 1 uses a ranking up, more than that has no meaning.
func TestLimitsOfArgumentsAreIncluded(t *testing.T) {
	for text, valid := range map[string]bool{
		`{"refreshThreshold":1}`: true, `{"refreshThreshold":1.01}`: false, `{"refreshThreshold":-0.1}`: false,
		`{"maxEntries":1}`: true, `{"maxEntries":10000}`: true, `{"maxEntries":10001}`: false,
		`{"kind":"OtherArgs"}`: false,
	} {
		if _, err := DecodeArgs(unknown(text)); (err == nil) != valid {
			t.Errorf("%s: valid should be %t, got %v", text, valid, err)
		}
	}
}

// TestAnUnavailableReasonSaysWhatToDo: the plugin is off, and only one log line says why.
func TestAnUnavailableReasonSaysWhatToDo(t *testing.T) {
	set := func(plugins ...string) (made config.PluginSet) {
		for _, name := range plugins {
			made.Enabled = append(made.Enabled, config.Plugin{Name: name})
		}
		return made
	}
	for _, row := range []struct {
		preFilter, postFilter config.PluginSet
		want                  string
	}{
		{set("NodePorts", Name), set(Name, "DefaultPreemption"), ""},
		{set("NodePorts", Name), set(Name), ""},
		{set("Unknown", Name), set(Name), "trustedPlugins"},
		{set(Name, "NodePorts"), set(Name), "last plugin at preFilter"},
		{set("NodePorts", Name), set("DefaultPreemption", Name), "first plugin at postFilter"},
		{set("NodePorts", Name), set("DefaultPreemption"), "first plugin at postFilter"},
		{set("NodePorts", Name), set(), "first plugin at postFilter"},
	} {
		reason := unavailableReason(&config.Plugins{PreFilter: row.preFilter, PostFilter: row.postFilter}, nil)
		if (reason == "") != (row.want == "") || !strings.Contains(reason, row.want) {
			t.Errorf("%v, %v: the reason should contain %q: %q", row.preFilter, row.postFilter, row.want, reason)
		}
	}
}
