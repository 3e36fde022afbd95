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
	"time"

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

// TestErrorsAreReportedTogetherWithTheirFields: one run should be enough to find all errors of a file, and a misspelt
// Service would silently change placements.
func TestErrorsAreReportedTogetherWithTheirFields(t *testing.T) {
	with := func(further string) string { return `{"id":"x","nodes":[],"pods":[],` + further + `}` }
	for line, wants := range map[string][]string{
		`{"nodes":[{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"-1"}}},{"metadata":{"name":"n"}}],` +
			`"pods":[{"metadata":{"name":"p"},"spec":{"nodeName":"m","colour":"red"}},{"metadata":{}}]}`: {
			`id: missing`, `nodes[0].status.allocatable.cpu: -1 is negative`, `nodes[1].metadata.name: "n" appears twice`,
			`pods[0].spec.nodeName: the instance has no node "m"`, `unknown field "pods[0].spec.colour"`, `pods[1].metadata.name: missing`},
		with(`"arrival":"Never","changes":[{"after":1,"podGone":"a"},{"after":0},{"after":0,"node":{"metadata":{}}}]`): {
			`arrival: "Never" is neither`, "changes[0].after: 1", "changes[1]: must have one of", "changes[2].node.metadata.name"},
		with(`"arrival":"AtOnce","once":true,"changes":[{"after":0,"podGone":"a"}]`): {
			"once: pods that arrive AtOnce have no turns", "none can happen between pods that arrive AtOnce"},
		with(`"objects":[{"kind":"Service","metadata":{"name":"s"}}]`):                                     {"apiVersion"},
		with(`"objects":[{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spek":{}}]`):         {"spek"},
		with(`"objects":[{"apiVersion":"v1","kind":"Servise","metadata":{"name":"s"}}]`):                   {"Servise"},
		with(`"objects":[{"apiVersion":"v1","kind":"Service","metadata":{}}]`):                             {"Service without metadata.name"},
		with(`"objects":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}]`):                       {"Pod p belongs in the list"},
		with(`"objects":[{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"something"}}]`): {"Thing"},
	} {
		failed, results := stream(t, line)
		for _, want := range wants {
			if failed != 1 || !strings.Contains(results[0].Error, want) {
				t.Errorf("%s: the error should contain %s:\n%s", line, want, results[0].Error)
			}
		}
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

// TestABrokenConfigurationNamesFileAndField: the reader must not have to search for the error.
func TestABrokenConfigurationNamesFileAndField(t *testing.T) {
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	for want, text := range map[string]string{
		`unknown field "parallel"`: head + "parallel: 1\n",
		"parallelism":              head + "parallelism: -1\n",
		"percentageOfNodesToScore": head + "percentageOfNodesToScore: 101\n",
		"no kind":                  "kind: Nothing\napiVersion: v1\n",
		"yaml":                     "a: [\n",
		"no such file":             "",
	} {
		path := filepath.Join(t.TempDir(), "profile.yaml")
		if text != "" {
			testobjects.Must(t, os.WriteFile(path, []byte(text), 0o600))
		}
		_, err := simulation.LoadConfiguration(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("want an error with %s and %q, got %v", path, want, err)
		}
	}
}

// TestAProfileThatCannotBeSimulatedIsRefused before the first instance: an unknown plugin, and the optimiser, whose moves
// need a cluster and may not be left out silently.
func TestAProfileThatCannotBeSimulatedIsRefused(t *testing.T) {
	for profile, want := range map[string]string{"deterministic": "LexicographicOrder",
		"optimizer": "simulate a profile without it", "optimizer-deterministic": "simulate a profile without it"} {
		configuration, err := simulation.LoadConfiguration(filepath.Join(profileFolder, profile+".yaml"))
		testobjects.Must(t, err)
		registry := plugins.Registry()
		if profile == "deterministic" {
			delete(registry, "LexicographicOrder")
		}

		_, err = simulation.New(t.Context(), configuration, registry)

		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want a refusal with %q, got %v", profile, want, err)
		}
	}
}

// The process must stop on a signal: in the middle of an instance, while the scheduler waits for a pod in its queue, and
// while nobody asks it anything.
func TestWhatIsCancelledEnds(t *testing.T) {
	simulator := simulatorOf(t, profileFolder+"/deterministic.yaml")
	in, _ := io.Pipe()
	for name, run := range map[string]func(context.Context) error{
		"an instance": func(ctx context.Context) error { _, err := simulator.Run(ctx, randomInstance(1)); return err },
		"a stream":    func(ctx context.Context) error { _, err := simulator.Stream(ctx, in, io.Discard); return err },
		"an attempt": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			return simulator.AttemptWithoutPods(ctx)
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if name != "an attempt" {
			cancel()
		}
		if err := run(ctx); err == nil {
			t.Errorf("%s that is cancelled should be an error", name)
		}
		cancel()
	}
}
