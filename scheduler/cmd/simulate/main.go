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
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

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
	failed, err := simulate()
	if err != nil {
		fmt.Fprintf(os.Stderr, "simulate: %v\n", err)
		os.Exit(exitBroken)
	}
	if failed > 0 {
		fmt.Fprintf(os.Stderr, "simulate: %d instances failed; their results carry the reason\n", failed)
		os.Exit(exitInstanceFailed)
	}
}

func simulate() (failed int, err error) {
	configPath := flag.String("config", "", "`file` with a KubeSchedulerConfiguration; without it, the stock defaults")
	questions := flag.Bool("judge", false, "read questions about plans and write answers, instead of placing pods")
	virtual := flag.Bool("virtual-time", false, "read what happens over time to one cluster, instead of instances")
	windows := flag.Bool("windows", false, "read windows of PackingPolicies, and write when they open")
	gates := flag.String("feature-gates", "", "as for kube-scheduler; by default, those that make a simulation depend on time are off")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	switch {
	case *questions && *virtual, *windows && (*questions || *virtual):
		return 0, errors.New("--judge, --virtual-time and --windows exclude each other")
	case flag.NArg() > 0:
		return 0, fmt.Errorf("instances come from standard input; there is no use for %q", flag.Args())
	case *windows:
		return simulation.StreamWindows(ctx, os.Stdin, os.Stdout)
	}
	debug.SetGCPercent(gcPercent)
	klog.SetLogger(logr.Discard())
	if err := simulation.SetFeatureGates(*gates); err != nil {
		return 0, err
	}
	configuration, err := simulation.LoadConfiguration(*configPath)
	if err != nil {
		return 0, err
	}
	start := simulation.New
	if *virtual {
		start = simulation.NewInVirtualTime
	}
	simulator, err := start(ctx, configuration, plugins.Registry())
	switch {
	case err != nil && *configPath != "":
		return 0, fmt.Errorf("%s: %w", *configPath, err)
	case err != nil:
		return 0, err
	case *questions:
		return simulator.StreamAnswers(ctx, os.Stdin, os.Stdout)
	case *virtual:
		return simulator.PassTime(ctx, os.Stdin, os.Stdout)
	}
	return simulator.Stream(ctx, os.Stdin, os.Stdout)
}
