package plugins_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/yaml"

	"github.com/stowage/stowage/scheduler/plugins"
)

const (
	profileFolder = "../../charts/stowage/profiles"
	schedulerName = "default-scheduler"
)

// TestTheStockProfileIsTheStockScheduler: the baseline of every comparison must not be ours.
func TestTheStockProfileIsTheStockScheduler(t *testing.T) {
	stock, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	want := listPlugins(t, startWith(t, map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
	}))
	configuration, scheduler := start(t, "default")
	if got := listPlugins(t, scheduler); !slices.Equal(names(got.Filter), names(want.Filter)) ||
		!slices.Equal(names(got.Score), names(want.Score)) || !slices.Equal(names(got.PostFilter), names(want.PostFilter)) {
		t.Errorf("plugins differ from the stock scheduler's: %+v", got)
	}
	if configuration.Parallelism != stock.Parallelism || configuration.ClientConnection.QPS != stock.ClientConnection.QPS ||
		*configuration.PercentageOfNodesToScore != *stock.PercentageOfNodesToScore {
		t.Errorf("settings differ from the stock scheduler's: %+v", configuration)
	}
}

// TestDeterministicProfilesAreDeterministic names each setting that a placement could depend on.
func TestDeterministicProfilesAreDeterministic(t *testing.T) {
	for _, profile := range []string{"deterministic", "optimizer-deterministic"} {
		configuration, scheduler := start(t, profile)
		enabled := listPlugins(t, scheduler)
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

// TestPreemptionIsOffWhereItWouldInterfere: two plugins that make room would undo each other's work.
func TestPreemptionIsOffWhereItWouldInterfere(t *testing.T) {
	for profile, want := range map[string][]string{
		"default":       {"DynamicResources", "DefaultPreemption"},
		"deterministic": {"DynamicResources"},
		// Reservations makes no room either: it remembers the pods that wait for reserved room.
		"optimizer":               {"DynamicResources", "PriorityOptimizer", "Reservations"},
		"optimizer-deterministic": {"DynamicResources", "PriorityOptimizer", "Reservations"},
		// The cache makes no room: it activates a pod whose cached node was refused.
		"score-cache": {"ScoreCache", "DynamicResources", "DefaultPreemption"},
	} {
		_, scheduler := start(t, profile)
		if got := names(listPlugins(t, scheduler).PostFilter); !slices.Equal(got, want) {
			t.Errorf("%s: postFilter is %v, should be %v", profile, got, want)
		}
	}
}

// TestTheScoreCacheIsTheStockSchedulerAndTheCache: their difference is what is compared, so there must be no other.
func TestTheScoreCacheIsTheStockSchedulerAndTheCache(t *testing.T) {
	stockConfiguration, stock := start(t, "default")
	configuration, scheduler := start(t, "score-cache")
	want, got := listPlugins(t, stock), listPlugins(t, scheduler)
	for point, sets := range map[string][2]config.PluginSet{
		"filter": {want.Filter, got.Filter}, "score": {want.Score, got.Score}, "bind": {want.Bind, got.Bind},
	} {
		if !slices.Equal(names(sets[0]), names(sets[1])) {
			t.Errorf("%s: plugins differ from the stock scheduler's: %v", point, names(sets[1]))
		}
	}
	if preFilter := names(got.PreFilter); !slices.Equal(preFilter, append(names(want.PreFilter), "ScoreCache")) {
		t.Errorf("preFilter should be the stock scheduler's and the cache as the last: %v", preFilter)
	}
	if configuration.Parallelism != stockConfiguration.Parallelism ||
		configuration.ClientConnection.QPS != stockConfiguration.ClientConnection.QPS ||
		*configuration.PercentageOfNodesToScore != *stockConfiguration.PercentageOfNodesToScore {
		t.Errorf("settings differ from the stock scheduler's: %+v", configuration)
	}
}

// TestOptimizerIsAtAllItsExtensionPoints: the paper names five, and one missing would go unnoticed.
func TestOptimizerIsAtAllItsExtensionPoints(t *testing.T) {
	for _, profile := range []string{"optimizer", "optimizer-deterministic"} {
		_, scheduler := start(t, profile)
		enabled := listPlugins(t, scheduler)
		for point, set := range map[string]config.PluginSet{
			"preEnqueue": enabled.PreEnqueue, "preFilter": enabled.PreFilter, "postFilter": enabled.PostFilter,
			"reserve": enabled.Reserve, "postBind": enabled.PostBind,
		} {
			if !slices.Contains(names(set), "PriorityOptimizer") {
				t.Errorf("%s: PriorityOptimizer is missing at %s: %v", profile, point, names(set))
			}
		}
	}
}

// start sets the real scheduler up with a shipped profile, as the command does, short of connecting.
func start(t *testing.T, profile string) (*config.KubeSchedulerConfiguration, framework.Framework) {
	t.Helper()
	completed, scheduler, err := setup(t, optionsOf(t, shipped(t, profile)))
	if err != nil {
		t.Fatalf("%s: %v", profile, err)
	}
	return completed, scheduler
}

func startWith(t *testing.T, content map[string]any) framework.Framework {
	t.Helper()
	_, scheduler, err := setup(t, optionsOf(t, content))
	if err != nil {
		t.Fatal(err)
	}
	return scheduler
}

func setup(t *testing.T, opts *options.Options) (*config.KubeSchedulerConfiguration, framework.Framework, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	var registered []app.Option
	for name, factory := range plugins.Registry() {
		registered = append(registered, app.WithPlugin(name, factory))
	}
	completed, scheduler, err := app.Setup(ctx, opts, registered...)
	if err != nil {
		return nil, nil, err
	}
	return &completed.ComponentConfig, scheduler.Profiles[schedulerName], nil
}

func listPlugins(t *testing.T, scheduler framework.Framework) *config.Plugins {
	t.Helper()
	if scheduler == nil {
		t.Fatalf("the profile should be named %s", schedulerName)
	}
	return scheduler.ListPlugins()
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
	data, err := os.ReadFile(filepath.Join(profileFolder, profile+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict(data, &content); err != nil {
		t.Fatal(err)
	}
	return content
}

// optionsOf merges into the profile what the chart merges: a kubeconfig, here of an API server that cannot be
// reached, and the leader election.
func optionsOf(t *testing.T, content map[string]any) *options.Options {
	t.Helper()
	folder := t.TempDir()
	connection, _ := content["clientConnection"].(map[string]any)
	if connection == nil {
		connection = map[string]any{}
	}
	connection["kubeconfig"] = write(t, folder, "kubeconfig", map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": "https://127.0.0.1:1"}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]any{"token": "t"}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "u"}}},
	})
	content["clientConnection"] = connection
	content["leaderElection"] = map[string]any{"leaderElect": false}
	opts := options.NewOptions()
	opts.SecureServing.BindPort = 0
	opts.ConfigFile = write(t, folder, "profile.yaml", content)
	return opts
}

func write(t *testing.T, folder, name string, content any) string {
	t.Helper()
	data, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
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
	defer listening.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opts := optionsOf(t, withSecondProfile(t, shipped(t, "optimizer")))
	opts.Master = listening.URL
	installation := plugins.NewInstallation()
	var registered []app.Option
	for name, factory := range installation.Registry() {
		registered = append(registered, app.WithPlugin(name, factory))
	}
	completed, scheduler, err := app.Setup(ctx, opts, registered...)
	if err != nil {
		t.Fatal(err)
	}

	if err := installation.Attach(ctx, scheduler, completed.ComponentConfig.Profiles, nil); err != nil {
		t.Fatal(err)
	}

	err = wait.PollUntilContextTimeout(ctx, time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return server.count(folder+"reservations", 0) > 0 && server.count(folder+"packingplans", 0) > 0, nil
	})
	if plans := server.count(folder+"packingplans", 0); err != nil || len(scheduler.Profiles) != 2 || plans != 1 {
		t.Errorf("%d profiles, %d watches of plans: %v", len(scheduler.Profiles), plans, err)
	}
}

// withSecondProfile adds a copy of the first profile under another name.
func withSecondProfile(t *testing.T, content map[string]any) map[string]any {
	t.Helper()
	first := content["profiles"].([]any)[0]
	encoded, err := yaml.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	var second map[string]any
	if err := yaml.Unmarshal(encoded, &second); err != nil {
		t.Fatal(err)
	}
	second["schedulerName"] = "second"
	content["profiles"] = []any{first, second}
	return content
}
