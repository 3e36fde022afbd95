package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage/stowage/scheduler/internal/testobjects"
	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

const (
	goodLine = `{"id":"good","nodes":[{"metadata":{"name":"n"},"status":{"capacity":{"cpu":"1","pods":"10"}}}],` +
		`"pods":[{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}]}`
	emptyLine = `{"id":"empty","nodes":[],"pods":[]}`
)

// TestABadLineIsAnErrorOfThatLineOnly: one broken instance among thousands must not cost the others.
func TestABadLineIsAnErrorOfThatLineOnly(t *testing.T) {
	failed, results := stream(t, strings.Join([]string{goodLine, `{"id":`, "", goodLine}, "\n"))
	if failed != 1 || len(results) != 3 {
		t.Fatalf("want 3 results, 1 failed; got %d, %d", len(results), failed)
	}
	if !strings.Contains(results[1].Error, "line 2") {
		t.Errorf("the error should name line 2: %q", results[1].Error)
	}
	for _, i := range []int{0, 2} {
		if results[i].Placements["default/p"] != "n" || results[i].Error != "" {
			t.Errorf("result %d should be a placement: %+v", i, results[i])
		}
	}
}

// TestErrorsAreReportedTogetherWithTheirFields: one run should be enough to find all errors of a file.
func TestErrorsAreReportedTogetherWithTheirFields(t *testing.T) {
	line := `{"nodes":[{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"-1"}}},{"metadata":{"name":"n"}}],` +
		`"pods":[{"metadata":{"name":"p"},"spec":{"nodeName":"m","colour":"red"}},{"metadata":{}}]}`
	_, results := stream(t, line)
	for _, want := range []string{
		`id: missing`, `nodes[0].status.allocatable.cpu: -1 is negative`, `nodes[1].metadata.name: "n" appears twice`,
		`pods[0].spec.nodeName: the instance has no node "m"`, `unknown field "pods[0].spec.colour"`,
		`pods[1].metadata.name: missing`,
	} {
		if !strings.Contains(results[0].Error, want) {
			t.Errorf("the error should contain %s:\n%s", want, results[0].Error)
		}
	}
}

// TestNoNodesMeansNoPlacements: an empty cluster is an instance like any other.
func TestNoNodesMeansNoPlacements(t *testing.T) {
	failed, results := stream(t, emptyLine+"\n"+strings.Replace(goodLine, `"nodes":[{`, `"nodes":[],"pods":[],"x":[{`, 1))
	if failed != 1 || results[0].Error != "" || len(results[0].Placements) != 0 {
		t.Errorf("want an empty result and one with an unknown field, got %+v", results)
	}
}

// TestABrokenOutputEndsTheStream: results that cannot be written are not worth computing.
func TestABrokenOutputEndsTheStream(t *testing.T) {
	simulator := simulatorOf(t, profileFolder+"/deterministic.yaml")
	_, err := simulator.Stream(context.Background(), strings.NewReader(goodLine), brokenWriter{})
	if err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("want an error that names line 1, got %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func stream(t *testing.T, in string) (failed int, results []simulation.Result) {
	t.Helper()
	var out bytes.Buffer
	failed, err := simulatorOf(t, profileFolder+"/deterministic.yaml").Stream(
		context.Background(), strings.NewReader(in), &out)
	testobjects.Must(t, err)
	decoder := json.NewDecoder(&out)
	for decoder.More() {
		var result simulation.Result
		testobjects.Must(t, decoder.Decode(&result))
		results = append(results, result)
	}
	return failed, results
}

// TestServicesSpreadTheirPods: the stock scheduler spreads the pods of a Service over the zones, and the
// simulation must know the Service to do the same.
func TestServicesSpreadTheirPods(t *testing.T) {
	node := func(name, zone string, cpu int) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"kubernetes.io/hostname":%q,"topology.kubernetes.io/zone":%q}},`+
			`"status":{"capacity":{"cpu":"%d","pods":"10"}}}`, name, name, zone, cpu)
	}
	pod := `{"metadata":{"name":"%s","labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i",` +
		`"resources":{"requests":{"cpu":"1"}}}]%s}}`
	line := `{"id":"service","nodes":[` + node("big", "east", 64) + "," + node("small", "west", 4) + `],"pods":[` +
		fmt.Sprintf(pod, "old", `,"nodeName":"big"`) + "," + fmt.Sprintf(pod, "new", "") + `]%s}`
	service := `,"objects":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},` +
		`"spec":{"selector":{"app":"a"}}}]`
	_, results := stream(t, fmt.Sprintf(line, "")+"\n"+fmt.Sprintf(line, service))
	if got := results[0].Placements["default/new"]; got != "big" {
		t.Errorf("without the service the emptier node should win, got %q %s", got, results[0].Error)
	}
	if got := results[1].Placements["default/new"]; got != "small" {
		t.Errorf("with the service the other zone should win, got %q %s", got, results[1].Error)
	}
}

// TestObjectsAreChecked: a misspelt Service would silently change placements.
func TestObjectsAreChecked(t *testing.T) {
	for object, want := range map[string]string{
		`{"kind":"Service","metadata":{"name":"s"}}`:                                     "apiVersion",
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spek":{}}`:         "spek",
		`{"apiVersion":"v1","kind":"Servise","metadata":{"name":"s"}}`:                   "Servise",
		`{"apiVersion":"v1","kind":"Service","metadata":{}}`:                             "Service without metadata.name",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`:                       "Pod p belongs in the list",
		`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"something"}}`: "Thing",
	} {
		failed, results := stream(t, `{"id":"i","nodes":[],"pods":[],"objects":[`+object+`]}`)
		if failed != 1 || !strings.Contains(results[0].Error, want) {
			t.Errorf("want an error with %q, got %q", want, results[0].Error)
		}
	}
}

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
		testobjects.Must(t, os.WriteFile(path, []byte(text), 0o600))
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
	testobjects.Must(t, err)
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
		testobjects.Must(t, err)
		_, err = simulation.New(context.Background(), configuration, plugins.Registry())
		if err == nil || !strings.Contains(err.Error(), "simulate a profile without it") {
			t.Errorf("%s: want a refusal, got %v", profile, err)
		}
	}
}

// The process must stop on a signal also while nobody asks it anything.
func TestACancelledStreamEndsWhileItWaitsForALine(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := simulatorOf(t, profileFolder+"/deterministic.yaml").Stream(ctx, in, io.Discard); err == nil {
		t.Error("a cancelled stream should be an error")
	}
}
