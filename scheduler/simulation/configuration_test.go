package simulation_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

// TestABrokenConfigurationNamesFileAndField: the reader must not have to search for the error.
func TestABrokenConfigurationNamesFileAndField(t *testing.T) {
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	for want, text := range map[string]string{
		`unknown field "parallel"`: head + "parallel: 1\n",
		"parallelism":              head + "parallelism: -1\n",
		"percentageOfNodesToScore": head + "percentageOfNodesToScore: 101\n",
		"no kind":                  "kind: Nothing\napiVersion: v1\n",
		"yaml":                     "a: [\n",
	} {
		path := filepath.Join(t.TempDir(), "profile.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := simulation.LoadConfiguration(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("want an error with %s and %q, got %v", path, want, err)
		}
	}
}

// TestAMissingConfigurationIsNamed: the path is all there is to say.
func TestAMissingConfigurationIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nowhere.yaml")
	if _, err := simulation.LoadConfiguration(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("want an error with %s, got %v", path, err)
	}
}

// TestAnUnknownPluginIsFoundBeforeTheFirstInstance: not once for every line.
func TestAnUnknownPluginIsFoundBeforeTheFirstInstance(t *testing.T) {
	configuration, err := simulation.LoadConfiguration(filepath.Join(profileFolder, "deterministic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	registry := plugins.Registry()
	delete(registry, "LexicographicOrder")
	_, err = simulation.New(context.Background(), configuration, registry)
	if err == nil || !strings.Contains(err.Error(), "LexicographicOrder") {
		t.Errorf("want an error that names the plugin, got %v", err)
	}
}

// TestTheOptimizerIsRefused: its moves need a cluster, and leaving them out silently would give wrong results.
func TestTheOptimizerIsRefused(t *testing.T) {
	for _, profile := range []string{"optimizer", "optimizer-deterministic"} {
		configuration, err := simulation.LoadConfiguration(filepath.Join(profileFolder, profile+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = simulation.New(context.Background(), configuration, plugins.Registry())
		if err == nil || !strings.Contains(err.Error(), "simulate a profile without it") {
			t.Errorf("%s: want a refusal, got %v", profile, err)
		}
	}
}
