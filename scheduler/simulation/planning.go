package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/stowage/stowage/scheduler/customobject"
	"github.com/stowage/stowage/scheduler/packingplan"
	"github.com/stowage/stowage/scheduler/packingpolicy"
	"github.com/stowage/stowage/scheduler/packingpolicy/controller"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer"
	"github.com/stowage/stowage/scheduler/plugins/scorecache"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
)

const (
	// afterBinding is the plugin that tells the run of a pod's binding once all others have been told.
	afterBinding = "AfterBinding"
	// reaction is how long after something has happened the parts that make plans look at it.
	reaction = 20 * time.Millisecond
	// openTick is how often the controller looks at policies while a window is open, as it does in a cluster.
	openTick = time.Second
)

// planning is what makes plans and carries them out: the plugins and the controller of a cluster, that do one step after
// the other, in virtual time.
type planning struct {
	run             *run
	api             *customAPI
	plans, policies cache.SharedIndexInformer
	parts           []*part
	// devices is the catalogue of the present process.
	devices *resources.Catalogue
	// optimizers are the plugins by profile.
	optimizers map[string]*priorityoptimizer.Plugin
	// told are the plans and windows that the answer has a line about.
	told map[string]bool
	// processes are how many have begun.
	processes int
	// coolDown is the longest one of a profile.
	coolDown time.Duration
}

// part is something that steps.
type part struct {
	due      time.Time
	step     func(context.Context) time.Duration
	takeWake func() bool
}

// newPlanning returns what no process has begun yet.
func newPlanning(r *run) *planning {
	return &planning{run: r, api: newCustomAPI(r.clock.Now), told: map[string]bool{}}
}

// begin has the parts of a new process take the place of those of the one before.
func (p *planning) begin() {
	p.processes++
	p.parts, p.optimizers = nil, map[string]*priorityoptimizer.Plugin{}
	p.devices = resources.NewCatalogue()
	p.devices.Clock = p.run.clock
	p.plans = p.api.newInformer(packingplan.Resource, p.run.events, customobject.Transform(packingplan.Read))
	p.policies = p.api.newInformer(packingpolicy.Resource, p.run.events, customobject.Transform(packingpolicy.Read))
}

// plugins are those that the scheduler is to be built with.
func (p *planning) plugins(others frameworkruntime.Registry) frameworkruntime.Registry {
	registry := maps.Clone(others)
	registry[priorityoptimizer.Name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := priorityoptimizer.NewIn(ctx, args, handle, priorityoptimizer.World{
			Clock: p.run.clock, Dynamic: p.api.client, Plans: p.plans, Ledger: reservation.NewLedger(), Devices: p.devices,
			Client: p.run.api.client, Process: fmt.Sprintf("%s-%d", handle.ProfileName(), p.processes)})
		if err != nil {
			return nil, err
		}
		p.optimizers[handle.ProfileName()] = plugin
		return plugin, nil
	}
	registry[afterBinding] = func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
		return boundReporter{p.run}, nil
	}
	return registry
}

// boundReporter is the last plugin of each profile.
type boundReporter struct{ run *run }

func (boundReporter) Name() string { return afterBinding }

func (b boundReporter) PostBind(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	b.run.report(outcome{pod: bound})
}

// attach completes the plugins of the scheduler, as they are in a cluster. It must be called before the run handles
// failures, since the plugins handle some of them in the scheduler's place.
func (p *planning) attach(
	to *scheduler.Scheduler, profiles []config.KubeSchedulerProfile, others frameworkruntime.Registry,
) error {
	for _, profile := range profiles {
		plugin := p.optimizers[profile.SchedulerName]
		if plugin == nil {
			continue
		}
		rehearser, err := rehearsal.NewFramework(p.run.ctx, rehearsal.Profile{
			Original: to.Profiles[profile.SchedulerName], Configuration: profile, OutOfTree: others,
			Without: []string{priorityoptimizer.Name, scorecache.Name}, Devices: p.devices}, to.Cache)
		if err != nil {
			return fmt.Errorf("profile %s: %w", profile.SchedulerName, err)
		}
		plugin.Attach(rehearser, nil)
		plugin.HandleFailures(to)
		plugin.StartLeading()
		p.coolDown = max(p.coolDown, plugin.CoolDown())
		p.parts = append(p.parts, &part{step: plugin.Step, takeWake: plugin.TakeWake})
	}
	made, err := controller.New(controller.Parts{Clock: p.run.clock, Policies: packingpolicy.NewStore(p.api.client),
		Plans: packingplan.NewStore(p.api.client), Watched: p.policies, Planned: p.plans,
		Leads: func(context.Context) error { return nil }})
	if err != nil {
		return err
	}
	p.parts = append(p.parts, &part{takeWake: made.TakeWake, step: func(ctx context.Context) time.Duration {
		made.Step(ctx)
		return p.untilNextWindow()
	}})
	return nil
}

// ready fails unless the optimiser is there. Without it, time would pass as in a cluster whose optimiser is away.
func (p *planning) ready() error {
	for _, plugin := range p.optimizers {
		if err := plugin.Ready(p.run.ctx); err != nil {
			return err
		}
	}
	return nil
}

// untilNextWindow is how long the controller has nothing to do, unless an object changes.
func (p *planning) untilNextWindow() time.Duration {
	const never = 1000 * time.Hour
	rest := never
	for _, policy := range p.allPolicies() {
		status := &policy.Status
		if slices.ContainsFunc(status.Windows, func(one packingpolicy.Window) bool { return one.Phase == packingpolicy.Open }) {
			return openTick
		}
		if status.NextWindow != nil {
			rest = min(rest, max(0, status.NextWindow.Sub(p.run.clock.Now())))
		}
	}
	return rest
}

func (p *planning) allPolicies() []*packingpolicy.Record {
	return customobject.Records[*packingpolicy.Record](p.policies.GetStore())
}

// nextDue is when the first of the parts is to step.
func (p *planning) nextDue() time.Time {
	return slices.MinFunc(p.parts, func(a, b *part) int { return a.due.Compare(b.due) }).due
}

// step has the parts step that are due, in turn. All of them have seen what the one before wrote.
func (p *planning) step() error {
	p.api.client.ClearActions()
	for _, one := range p.parts {
		if p.run.clock.Now().Before(one.due) {
			continue
		}
		one.takeWake()
		one.due = p.run.clock.Now().Add(one.step(p.run.ctx))
		p.run.events.deliver()
	}
	return nil
}

// notice has the parts step soon for which something has happened.
func (p *planning) notice() {
	soon := p.run.clock.Now().Add(reaction)
	for _, one := range p.parts {
		if one.takeWake() && soon.Before(one.due) {
			one.due = soon
		}
	}
}
