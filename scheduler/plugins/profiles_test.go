package plugins_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
)

const profileFolder = "../../charts/stowage/profiles"

// TestTheStockProfileIsTheStockScheduler: the baseline of every comparison must not be ours. The score cache's profile is
// the same and the cache: their difference is what is compared, so there must be no other.
func TestTheStockProfileIsTheStockScheduler(t *testing.T) {
	stock := testobjects.Value(latest.Default())(t)
	_, plain := startWith(t, map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
	})
	for profile, added := range map[string][]string{"default": nil, "score-cache": {"ScoreCache"}} {
		configuration, got := start(t, profile)
		for point, sets := range map[string][2]config.PluginSet{
			"filter": {plain.Filter, got.Filter}, "score": {plain.Score, got.Score}, "bind": {plain.Bind, got.Bind},
		} {
			if !slices.Equal(names(sets[0]), names(sets[1])) {
				t.Errorf("%s: plugins at %s differ from the stock scheduler's: %v", profile, point, names(sets[1]))
			}
		}
		if preFilter := names(got.PreFilter); !slices.Equal(preFilter, append(names(plain.PreFilter), added...)) {
			t.Errorf("%s: preFilter should be the stock scheduler's and %v last: %v", profile, added, preFilter)
		}
		if postFilter := names(got.PostFilter); !slices.Equal(postFilter, append(added, names(plain.PostFilter)...)) {
			t.Errorf("%s: postFilter should be %v and the stock scheduler's: %v", profile, added, postFilter)
		}
		if configuration.Parallelism != stock.Parallelism || configuration.ClientConnection.QPS != stock.ClientConnection.QPS ||
			*configuration.PercentageOfNodesToScore != *stock.PercentageOfNodesToScore {
			t.Errorf("%s: settings differ from the stock scheduler's: %+v", profile, configuration)
		}
	}
}

// TestDeterministicProfilesAreDeterministic names each setting that a placement could depend on.
func TestDeterministicProfilesAreDeterministic(t *testing.T) {
	for _, profile := range []string{"deterministic", "optimizer-deterministic"} {
		configuration, enabled := start(t, profile)
		if configuration.Parallelism != 1 {
			t.Errorf("%s: parallelism is %d, should be 1", profile, configuration.Parallelism)
		}
		if percentage := configuration.PercentageOfNodesToScore; percentage == nil || *percentage != 100 {
			t.Errorf("%s: percentageOfNodesToScore should be 100", profile)
		}
		if configuration.ClientConnection.QPS < 1000 || configuration.ClientConnection.Burst < 1000 {
			t.Errorf("%s: the client's rate is limited: %+v", profile, configuration.ClientConnection)
		}
		if score := names(enabled.Score); score[len(score)-1] != "LexicographicOrder" {
			t.Errorf("%s: LexicographicOrder should have the last word: %v", profile, score)
		}
	}
}

// TestPreemptionIsOffWhereItWouldInterfere: two plugins that make room would undo each other's work. The paper names five
// extension points of the optimiser, and one missing would go unnoticed.
func TestPreemptionIsOffWhereItWouldInterfere(t *testing.T) {
	for profile, want := range map[string][]string{
		"default":       {"DynamicResources", "DefaultPreemption"},
		"deterministic": {"DynamicResources"},
		"devices":       {"DynamicResources", "DefaultPreemption"},
		// Reservations makes no room either: it remembers the pods that wait for reserved room.
		"optimizer":               {"DynamicResources", "PriorityOptimizer", "Reservations"},
		"optimizer-deterministic": {"DynamicResources", "PriorityOptimizer", "Reservations"},
		// The cache makes no room: it activates a pod whose cached node was refused.
		"score-cache": {"ScoreCache", "DynamicResources", "DefaultPreemption"},
	} {
		_, enabled := start(t, profile)
		if got := names(enabled.PostFilter); !slices.Equal(got, want) {
			t.Errorf("%s: postFilter is %v, should be %v", profile, got, want)
		}
		for _, set := range []config.PluginSet{enabled.PreEnqueue, enabled.PreFilter, enabled.Reserve, enabled.PostBind} {
			if slices.Contains(names(set), "PriorityOptimizer") != slices.Contains(want, "PriorityOptimizer") {
				t.Errorf("%s: PriorityOptimizer is at postFilter, or among %v, alone", profile, names(set))
			}
		}
	}
}

// TestOneStepOfADevicesCostOutweighsAllOtherScores: else pods would be spread, and devices wasted, by the stock scores.
func TestOneStepOfADevicesCostOutweighsAllOtherScores(t *testing.T) {
	_, enabled := start(t, "devices")
	others, own := int64(0), int64(0)
	for _, plugin := range enabled.Score.Enabled {
		if plugin.Name == "Devices" {
			own = int64(plugin.Weight)
		} else {
			others += fwk.MaxScore * int64(plugin.Weight)
		}
	}
	if own <= others {
		t.Errorf("a point of Devices counts %d, and those of the others up to %d", own, others)
	}
}

// start sets the real scheduler up with a shipped profile, as the command does, short of connecting. It returns the
// settings and the enabled plugins.
func start(t *testing.T, profile string) (*config.KubeSchedulerConfiguration, *config.Plugins) {
	t.Helper()
	return startWith(t, shipped(t, profile))
}

func startWith(t *testing.T, content map[string]any) (*config.KubeSchedulerConfiguration, *config.Plugins) {
	t.Helper()
	completed, made := setUp(t, optionsOf(t, content), plugins.Registry())
	profile := made.Profiles["default-scheduler"]
	if profile == nil {
		t.Fatal("the profile should be named default-scheduler")
	}
	return completed, profile.ListPlugins()
}

func setUp(
	t *testing.T, opts *options.Options, registry frameworkruntime.Registry,
) (*config.KubeSchedulerConfiguration, *scheduler.Scheduler) {
	t.Helper()
	var registered []app.Option
	for name, factory := range registry {
		registered = append(registered, app.WithPlugin(name, factory))
	}
	completed, made, err := app.Setup(t.Context(), opts, registered...)
	testobjects.Must(t, err)
	return &completed.ComponentConfig, made
}

func names(set config.PluginSet) []string {
	list := make([]string, len(set.Enabled))
	for i, plugin := range set.Enabled {
		list[i] = plugin.Name
	}
	return list
}

// shipped is the content of a profile's file.
func shipped(t *testing.T, profile string) map[string]any {
	t.Helper()
	data := testobjects.Value(os.ReadFile(filepath.Join(profileFolder, profile+".yaml")))(t)
	var content map[string]any
	testobjects.Must(t, yaml.UnmarshalStrict(data, &content))
	return content
}

// optionsOf merges into the profile what the chart merges: a kubeconfig, here of an API server that cannot be
// reached, and the leader election.
func optionsOf(t *testing.T, content map[string]any) *options.Options {
	t.Helper()
	folder := t.TempDir()
	kubeconfig := write(t, folder, "kubeconfig", map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": "https://127.0.0.1:1"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	testobjects.Must(t, unstructured.SetNestedField(content, kubeconfig, "clientConnection", "kubeconfig"))
	content["leaderElection"] = map[string]any{"leaderElect": false}
	opts := options.NewOptions()
	opts.SecureServing.BindPort = 0
	opts.ConfigFile = write(t, folder, "profile.yaml", content)
	return opts
}

func write(t *testing.T, folder, name string, content any) string {
	t.Helper()
	data := testobjects.Value(yaml.Marshal(content))(t)
	path := filepath.Join(folder, name)
	testobjects.Must(t, os.WriteFile(path, data, 0o600))
	return path
}

// watched is an API server without any object, which counts the watches that are open.
type watched struct {
	mu   sync.Mutex
	open map[string]int
}

func (w *watched) count(path string, change int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[path] += change
	return w.open[path]
}

func (w *watched) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	if request.URL.Query().Get("watch") == "" {
		answer.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(answer, `{"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": []}`)
		return
	}
	w.count(request.URL.Path, 1)
	defer w.count(request.URL.Path, -1)
	answer.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(answer).Flush()
	<-request.Context().Done()
}

// A plan of hundreds of pods is a large object: each further watch of the plans sends and keeps them once more.
func TestAllProfilesShareOneWatchOfThePlans(t *testing.T) {
	const folder = "/apis/stowage.dev/v1alpha1/"
	server := &watched{open: map[string]int{}}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close) // after the context has ended, and with it the watches
	content := shipped(t, "optimizer")
	first := content["profiles"].([]any)[0].(map[string]any)
	second := runtime.DeepCopyJSON(first)
	second["schedulerName"] = "second"
	content["profiles"] = []any{first, second}
	opts := optionsOf(t, content)
	opts.Master = listening.URL
	installation := plugins.NewInstallation()
	completed, made := setUp(t, opts, installation.Registry())

	testobjects.Must(t, installation.Attach(t.Context(), made, completed.Profiles, nil))

	testobjects.Eventually(t, "both are watched", func() bool {
		return server.count(folder+"reservations", 0) > 0 && server.count(folder+"packingplans", 0) > 0
	})
	if plans := server.count(folder+"packingplans", 0); len(made.Profiles) != 2 || plans != 1 {
		t.Errorf("%d profiles, %d watches of plans", len(made.Profiles), plans)
	}
}

// In the wrong order, the pods of a plan would be bound without the annotation that names it, and a process that takes over
// would keep their room twice. That is said before anything is scheduled.
func TestAProfileThatReservesBeforeThePlanIsRefused(t *testing.T) {
	both := []any{map[string]any{"name": "Reservations"}, map[string]any{"name": "PriorityOptimizer"}}
	for text, c := range map[string]struct {
		point   string
		enabled []any
		refused bool
	}{
		"at all extension points":    {"multiPoint", both, true},
		"at reserve alone":           {"reserve", both, true},
		"the other way round":        {"reserve", []any{both[1], both[0]}, false},
		"reservations and no plans":  {"multiPoint", both[:1], false},
		"plans and no reservations":  {"multiPoint", both[1:], false},
		"at an extension point else": {"preFilter", both, false},
	} {
		content := shipped(t, "optimizer")
		profile := content["profiles"].([]any)[0].(map[string]any)
		testobjects.Must(t, unstructured.SetNestedSlice(profile, c.enabled, "plugins", c.point, "enabled"))
		unstructured.RemoveNestedField(profile, "plugins", "bind")
		installation := plugins.NewInstallation()
		completed, made := setUp(t, optionsOf(t, content), installation.Registry())

		err := installation.Attach(t.Context(), made, completed.Profiles, nil)

		says := err != nil && strings.Contains(err.Error(), "profile default-scheduler: Reservations reserves before PriorityOptimizer")
		if says != c.refused || !says && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// theirs is a plugin of the program that embeds the scheduler.
type theirs struct{}

func (theirs) Name() string { return "Theirs" }

func (theirs) PreEnqueue(context.Context, *v1.Pod) *fwk.Status { return nil }

// A plugin that is registered and not attached makes no plans and says nothing of it.
func TestAnEmbeddedSchedulerHasItsOwnPluginsAndOursAttached(t *testing.T) {
	const plans = "/apis/stowage.dev/v1alpha1/packingplans"
	server := &watched{open: map[string]int{}}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close) // after the context has ended, and with it the watches
	completed, _ := start(t, "optimizer")
	profile := completed.Profiles[0]
	profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, config.Plugin{Name: "Theirs"})
	own := frameworkruntime.Registry{
		"Theirs": func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) { return theirs{}, nil },
	}
	client := fake.NewClientset()

	made, err := plugins.Embed(t.Context(), own, nil, func(options ...scheduler.Option) (*scheduler.Scheduler, error) {
		return scheduler.New(t.Context(), client, minor.NewInformerFactory(client, 0), nil,
			func(string) events.EventRecorderLogger { return &events.FakeRecorder{} },
			append([]scheduler.Option{
				scheduler.WithProfiles(profile), scheduler.WithKubeConfig(&rest.Config{Host: listening.URL}),
			}, options...)...)
	})
	testobjects.Must(t, err)

	if enabled := names(made.Profiles["default-scheduler"].ListPlugins().PreEnqueue); !slices.Contains(enabled, "Theirs") {
		t.Errorf("the program's own plugin is missing: %v", enabled)
	}
	testobjects.Eventually(t, "the plans are watched", func() bool { return server.count(plans, 0) == 1 })
}
