// Package simulation runs the real scheduler without an API server: nodes and pods in, placements out.
//
// No part of the scheduler is imitated. Its queue, cache, informers, plugins and profiles are those of
// cmd/kube-scheduler; only the API server is replaced, by client-go's object tracker, and the loop
// around Scheduler.ScheduleOne, by one that knows when an attempt is over. The order of events is
//
//  1. the nodes appear one after the other, then the pods that already have a node;
//  2. the other pods appear one after the other. After each, the scheduler tries whatever is in its
//     queue until the queue is empty, and every event that this causes has been handled, before the
//     next pod appears.
//
// This is what a real cluster does when pods are created one by one, each after the scheduler has
// settled. A pod that was unschedulable is tried again when the scheduler's own queueing hints say so,
// for instance a pod with an affinity to a later pod. The queue's clock advances only by a millisecond
// per pod, so no retry waits for a back-off and none is late.
//
// Preempted pods vanish at once, without a grace period. No controller replaces them unless the
// instance says so.
//
// Nothing waits for a controller or a driver that a simulation has not: a pod is bound once its node is
// chosen and its volumes are reserved, without the PreBind plugins. The one of devices runs, and writes
// into claims which devices they have: claims are made from templates when their pod appears, devices are
// ready at once, and free when the pod goes.
//
// An instance that was observed, that is read from a cluster, is never refused for one of its objects:
// see Reading.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/stowage/stowage/scheduler/internal/minor"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
)

// Simulator fills one instance after another under one configuration. It keeps nothing of an instance
// when it is done with it.
type Simulator struct {
	configuration *config.KubeSchedulerConfiguration
	plugins       frameworkruntime.Registry
}

// New returns a simulator, after a trial start that detects unknown plugins and arguments. Call SetFeatureGates first.
func New(
	ctx context.Context, configuration *config.KubeSchedulerConfiguration, plugins frameworkruntime.Registry,
) (*Simulator, error) {
	return try(ctx, &Simulator{configuration: configuration, plugins: withoutOptimizer(plugins)}, Instance{})
}

// NewInVirtualTime returns a simulator for PassTime. The optimiser makes plans in it, if the profiles have it.
func NewInVirtualTime(
	ctx context.Context, configuration *config.KubeSchedulerConfiguration, plugins frameworkruntime.Registry,
) (*Simulator, error) {
	return try(ctx, &Simulator{configuration: configuration, plugins: plugins}, Instance{inVirtualTime: true})
}

// try starts a scheduler and stops it.
func try(ctx context.Context, simulator *Simulator, instance Instance) (*Simulator, error) {
	trial, err := simulator.start(ctx, instance, nil)
	if err != nil {
		return nil, err
	}
	trial.stop()
	return simulator, nil
}

// hasOptimizer says whether any profile makes plans.
func (s *Simulator) hasOptimizer() bool {
	return slices.ContainsFunc(s.configuration.Profiles, func(profile config.KubeSchedulerProfile) bool {
		return profile.Plugins != nil && slices.ContainsFunc(slices.Concat(profile.Plugins.MultiPoint.Enabled, profile.Plugins.PreFilter.Enabled),
			func(plugin config.Plugin) bool { return plugin.Name == priorityoptimizer.Name })
	})
}

// start builds a scheduler for the instance and waits until it watches.
func (s *Simulator) start(parent context.Context, instance Instance, lives *lives) (*run, error) {
	r := &run{
		clock:    testingclock.NewFakeClock(time.Unix(0, 0)),
		lives:    lives,
		observed: instance.Observed,
		reading:  Reading{LeftOut: slices.Clone(instance.LeftOut), UnknownFields: instance.UnknownFields},
		reasons:  map[string]string{},
	}
	r.note, r.leave = r.noteArrival, r.leaveOut
	r.api = newAPI(r.clock.Now, func(pod *v1.Pod) { r.report(outcome{pod: pod}) })
	r.api.runs = instance.inVirtualTime
	if instance.inVirtualTime && s.hasOptimizer() {
		r.planning = newPlanning(r)
	}
	if err := s.begin(parent, r); err != nil {
		return nil, err
	}
	if err := r.prepare(instance); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// begin has a process begin: a scheduler that does not watch yet.
func (s *Simulator) begin(parent context.Context, r *run) error {
	// Without a logger of its own, the context has each plugin ask for every node whether anything is logged.
	r.ctx, r.cancel = context.WithCancel(klog.NewContext(parent, logr.Discard()))
	r.events, r.devices = &eventQueue{}, nil
	r.informers = r.api.newInformers(r.events)
	if r.planning != nil {
		r.planning.begin()
	}
	if err := s.build(r); err != nil {
		r.cancel()
		r.informers.Shutdown()
		return fmt.Errorf("starting the scheduler: %w", err)
	}
	return nil
}

// restart ends the process and has another one begin, which knows what the API has and nothing else.
func (s *Simulator) restart(parent context.Context, r *run) error {
	r.stop()
	if err := s.begin(parent, r); err != nil {
		return err
	}
	if err := r.watch(); err != nil {
		return err
	}
	for _, pod := range r.queued() {
		r.leaveToItsGroup(pod)
	}
	return nil
}

// dropEvents drops the scheduler's events: they cannot be read, and placements contain the same.
func dropEvents(string) events.EventRecorderLogger { return &events.FakeRecorder{} }

// build makes the run's scheduler as cmd/kube-scheduler does, with our clock and failure handler.
func (s *Simulator) build(r *run) error {
	configuration := s.configuration.DeepCopy()
	plugins := s.plugins
	if r.planning != nil {
		plugins = r.planning.plugins(s.plugins)
		r.api.bound = func(*v1.Pod) {} // the last of the plugins reports it
	}
	for i := range configuration.Profiles {
		if plugins := configuration.Profiles[i].Plugins; plugins != nil {
			// Before the binding, plugins have volumes made ready, and wait for the controllers and drivers that do it. A
			// simulation has none. They are reserved by then, so that no other pod is given the same. What is done about
			// devices, the simulation does: see claims.go.
			writers := slices.DeleteFunc(slices.Concat(plugins.MultiPoint.Enabled, plugins.PreBind.Enabled),
				func(one config.Plugin) bool { return one.Name != names.DynamicResources })
			plugins.PreBind = config.PluginSet{Enabled: writers[:min(1, len(writers))], Disabled: []config.Plugin{{Name: "*"}}}
			if r.planning != nil {
				plugins.MultiPoint.Enabled = append(plugins.MultiPoint.Enabled, config.Plugin{Name: afterBinding})
			}
		}
	}
	built, err := scheduler.New(r.ctx, r.api.client, r.informers, nil, dropEvents,
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithFrameworkOutOfTreeRegistry(plugins),
		scheduler.WithPodMaxBackoffSeconds(configuration.PodMaxBackoffSeconds),
		scheduler.WithPodInitialBackoffSeconds(configuration.PodInitialBackoffSeconds),
		scheduler.WithExtenders(configuration.Extenders...),
		scheduler.WithParallelism(configuration.Parallelism),
		scheduler.WithClock(r.clock),
	)
	if err != nil {
		return err
	}
	r.scheduler = built
	if r.planning != nil {
		if err := r.planning.attach(built, s.configuration.Profiles, s.plugins); err != nil {
			return err
		}
	}
	minor.PassOver(built, r.passOver, func() bool { return len(r.queued()) > 0 })
	minor.AroundNext(built, func() {}, r.expectOutcomes)
	r.reportFailures()
	// The scheduler waits for pods as long as its queue is open.
	context.AfterFunc(r.ctx, built.SchedulingQueue.Close)
	return nil
}

// LoadConfiguration reads a KubeSchedulerConfiguration as kube-scheduler --config does: unknown fields
// are errors, and all invalid values are reported together. Without a path it returns the defaults.
func LoadConfiguration(path string) (*config.KubeSchedulerConfiguration, error) {
	if path == "" {
		return latest.Default()
	}
	configuration, err := options.LoadConfigFromFile(klog.Background(), path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if invalid := validation.ValidateKubeSchedulerConfiguration(configuration); invalid != nil {
		return nil, fmt.Errorf("%s: %w", path, utilerrors.NewAggregate(invalid.Errors()))
	}
	return configuration, nil
}

// SetFeatureGates turns off, for the whole process, what would make an outcome depend on time: opportunistic batching
// reuses a ranking of nodes for half a second of wall clock, and asynchronous preemption deletes its victims after the
// attempt is over. The overrides, as in "Name=true,Other=false", take precedence.
func SetFeatureGates(overrides string) error {
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		string(features.OpportunisticBatching):    false,
		string(features.SchedulerAsyncPreemption): false,
	}); err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.Set(overrides); err != nil {
		return fmt.Errorf("--feature-gates=%s: %w", overrides, err)
	}
	return nil
}

// withoutOptimizer returns the plugins, with PriorityOptimizer replaced by one that refuses to start. That plugin needs an
// optimiser and a cluster, and runs asynchronously; a simulation has neither, and silently leaving the plugin out of a
// profile would simulate something else.
func withoutOptimizer(plugins frameworkruntime.Registry) frameworkruntime.Registry {
	registry := maps.Clone(plugins)
	if registry == nil {
		registry = frameworkruntime.Registry{}
	}
	registry[priorityoptimizer.Name] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return nil, errors.New("it moves pods of a running cluster, which a simulation does not have; " +
			"simulate a profile without it")
	}
	return registry
}
