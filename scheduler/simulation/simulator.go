package simulation

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	testingclock "k8s.io/utils/clock/testing"
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
	simulator := &Simulator{configuration: configuration, plugins: withoutOptimizer(plugins)}
	trial, err := simulator.start(ctx, Instance{})
	if err != nil {
		return nil, err
	}
	trial.stop()
	return simulator, nil
}

// Run fills an instance and returns where its pods are.
func (s *Simulator) Run(ctx context.Context, instance Instance) (Result, error) {
	run, err := s.start(ctx, instance)
	if err != nil {
		return Result{}, err
	}
	defer run.stop()
	measured, err := run.populate(instance)
	if err != nil {
		return Result{}, err
	}
	result, err := run.result(instance)
	result.Measurement = measured
	return result, err
}

// start builds a scheduler for the instance and waits until it watches.
func (s *Simulator) start(parent context.Context, instance Instance) (*run, error) {
	ctx, cancel := context.WithCancel(parent)
	r := &run{
		ctx:          ctx,
		cancel:       cancel,
		clock:        testingclock.NewFakeClock(time.Unix(0, 0)),
		outcomes:     make(chan outcome, 1),
		replaces:     instance.Replace,
		replacements: newReplacements(),
	}
	r.api = newAPI(r.clock.Now, func(pod *v1.Pod) { r.report(outcome{pod: pod}) })
	r.informers = newInformerFactory(r.api.client, r.api.pods, r.api.nodes)
	if err := s.build(r); err != nil {
		cancel()
		r.informers.Shutdown()
		return nil, fmt.Errorf("starting the scheduler: %w", err)
	}
	if err := r.prepare(instance); err != nil {
		r.stop()
		return nil, err
	}
	if err := r.watch(); err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// build makes the run's scheduler as cmd/kube-scheduler does, with our clock and failure handler.
func (s *Simulator) build(r *run) error {
	configuration := s.configuration.DeepCopy()
	built, err := scheduler.New(r.ctx, r.api.client, r.informers, nil, newSilentRecorder,
		scheduler.WithComponentConfigVersion(configuration.APIVersion),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithPercentageOfNodesToScore(configuration.PercentageOfNodesToScore),
		scheduler.WithFrameworkOutOfTreeRegistry(s.plugins),
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
	r.reportFailures()
	return nil
}
