// Package upstream has upstream's own harness measure the scheduler with Stowage's plugins.
package upstream

import (
	"fmt"
	"os"
	"testing"

	_ "k8s.io/component-base/logs/json/register"
	perf "k8s.io/kubernetes/test/integration/scheduler_perf"
)

const (
	// casesVariable names the file of cases, whose paths are relative to the folder of the topic.
	casesVariable = "PERF_CASES"
	// topicVariable names the topic in the results.
	topicVariable = "PERF_TOPIC"
)

func TestMain(m *testing.M) {
	if err := perf.InitTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// BenchmarkPerfScheduling needs no registry: overlay/newscheduler.go knows the plugins.
func BenchmarkPerfScheduling(b *testing.B) {
	perf.RunBenchmarkPerfScheduling(b, os.Getenv(casesVariable), os.Getenv(topicVariable), nil)
}
