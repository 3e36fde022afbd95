// Command simulate places pods as the scheduler would, without an API server.
//
// It reads one instance a line from standard input, as JSON with the keys id, nodes and pods, and writes
// one result a line to standard output: the instance's id, the placement of each of its pods, and what keeps those
// that have none. Nodes and pods are Kubernetes objects (core/v1); pods are in the order of arrival, and one that has a nodeName is
// already placed. A further key, objects, may hold what else the scheduler looks at, such as Services.
//
// With --judge it reads questions: an instance, and plans for it in the contract's JSON form. It answers
// with the snapshot that the optimiser would get, and with the scheduler's verdict on each plan; and, if asked, with
// what the scheduler makes of the pods that wait, as things are or after the first plan.
//
// An instance may say that its pods arrive all at once, that nodes and pods come and go meanwhile, and that it is
// to be measured, and that preempted pods come back; see package simulation.
//
// What was read from a cluster is said to be "observed": true. Unknown fields are passed over then, and objects that make
// no sense left out; the result names both. Otherwise they are errors.
//
// With --virtual-time it reads the events of one cluster, with their times: nodes, pods and other objects that come and go,
// and how long pods live. It answers with what became of each pod, as soon as that is known, and when. A profile with the
// optimiser makes plans there, over the optimiser's socket; PackingPolicies are events as well.
//
// With --windows it reads windows of PackingPolicies, and answers when they open, by the controller's own reading of
// schedules.
//
// It exits with 0 if all went well, with 1 if an instance failed, and with 2 if it could not begin or end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/plugins"
	"github.com/stowage/stowage/scheduler/simulation"
)

const (
	exitInstanceFailed = 1
	exitBroken         = 2
	// gcPercent trades memory, of which a simulation needs little, for a fifth of its time.
	gcPercent = 400
)

func main() {
	configPath := flag.String("config", "", "`file` with a KubeSchedulerConfiguration; without it, the stock defaults")
	questions := flag.Bool("judge", false, "read questions about plans and write answers, instead of placing pods")
	virtual := flag.Bool("virtual-time", false, "read what happens over time to one cluster, instead of instances")
	windows := flag.Bool("windows", false, "read windows of PackingPolicies, and write when they open")
	gates := flag.String("feature-gates", "", "as for kube-scheduler; by default, those that make a simulation depend on time are off")
	cpuProfile := flag.String("cpu-profile", "", "`file` to write a profile to, of what the process spends its time on")
	flag.Parse()
	start, answer := simulation.New, (*simulation.Simulator).Stream
	switch {
	case *questions && *virtual, *windows && (*questions || *virtual):
		fmt.Fprintln(os.Stderr, "simulate: --judge, --virtual-time and --windows exclude each other")
		os.Exit(exitBroken)
	case *questions:
		answer = (*simulation.Simulator).StreamAnswers
	case *virtual:
		start, answer = simulation.NewInVirtualTime, (*simulation.Simulator).PassTime
	}
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "simulate: instances come from standard input; there is no use for %q\n", flag.Args())
		os.Exit(exitBroken)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	failed, err := profiled(*cpuProfile, func() (int, error) {
		if *windows {
			return simulation.StreamOpenings(ctx, os.Stdin, os.Stdout)
		}
		return simulate(ctx, *configPath, *gates, start, answer)
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(exitBroken)
	}
	if failed > 0 {
		fmt.Fprintf(os.Stderr, "simulate: %d instances failed; their results carry the reason\n", failed)
		os.Exit(exitInstanceFailed)
	}
}

// profiled writes a profile of the work to the path, if there is one.
func profiled(path string, work func() (int, error)) (failed int, err error) {
	if path == "" {
		return work()
	}
	file, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return 0, errors.Join(err, file.Close())
	}
	failed, err = work()
	pprof.StopCPUProfile()
	return failed, errors.Join(err, file.Close())
}

func simulate(
	ctx context.Context, configPath, gates string,
	start func(context.Context, *config.KubeSchedulerConfiguration, frameworkruntime.Registry) (*simulation.Simulator, error),
	answer func(s *simulation.Simulator, ctx context.Context, in io.Reader, out io.Writer) (failed int, err error),
) (int, error) {
	debug.SetGCPercent(gcPercent)
	klog.SetLogger(logr.Discard())
	if err := simulation.SetFeatureGates(gates); err != nil {
		return 0, err
	}
	configuration, err := simulation.LoadConfiguration(configPath)
	if err != nil {
		return 0, err
	}
	simulator, err := start(ctx, configuration, plugins.Registry())
	if err != nil {
		if configPath != "" {
			err = fmt.Errorf("%s: %w", configPath, err)
		}
		return 0, err
	}
	return answer(simulator, ctx, os.Stdin, os.Stdout)
}
