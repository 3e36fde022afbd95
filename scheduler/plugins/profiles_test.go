package plugins_test

import (
	"context"
	"slices"
	"testing"

	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/profiletest"
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
	completed, scheduler, err := setup(t, profiletest.Options(t, profiletest.Shipped(t, profileFolder, profile)))
	if err != nil {
		t.Fatalf("%s: %v", profile, err)
	}
	return completed, scheduler
}

func startWith(t *testing.T, content map[string]any) framework.Framework {
	t.Helper()
	_, scheduler, err := setup(t, profiletest.Options(t, content))
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
