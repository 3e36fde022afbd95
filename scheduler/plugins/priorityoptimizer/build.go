package priorityoptimizer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/clusterview"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/config"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/execution"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/metrics"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/planning"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/records"
	"github.com/stowage/stowage/scheduler/rehearsal"
	"github.com/stowage/stowage/scheduler/reservation"
	"github.com/stowage/stowage/scheduler/resources"
	"github.com/stowage/stowage/scheduler/waiting"
)

// Name is the plugin's name in a KubeSchedulerConfiguration.
const Name = gate.Name

// Plugin is the PriorityOptimizer plugin of one profile.
type Plugin struct {
	*gate.Gate
	logger klog.Logger
	view   *clusterview.View
	// leadership says whether this process schedules.
	leadership records.Leadership
	// rehearser is where plans are rehearsed; nil until the scheduler is complete.
	rehearser atomic.Pointer[planning.Rehearser]
	// byHand is the state machine where Step runs it; nil where the plugin does.
	byHand *loop
}

// World is what the plugin works in.
type World struct {
	Clock clock.WithDelayedExecution
	// Dynamic writes PackingPlans, which Plans shows to all profiles; the caller runs it. It is nil where there is no API
	// server to keep them in.
	Dynamic dynamic.Interface
	Plans   cache.SharedIndexInformer
	// Ledger holds the room of plans and reservations, for all profiles.
	Ledger *reservation.Ledger
	// Devices is the catalogue of the process; nil: no devices are counted.
	Devices *resources.Catalogue
	// Client is for evictions and for marks on nodes. It has a rate limit of its own: evictions must not wait for bindings,
	// nor bindings for evictions.
	Client clientset.Interface
	// Process is in the names of what a plugin makes that is stepped, in place of something random.
	Process string
}

// parts are the dependencies that tests replace.
type parts struct {
	World
	solver planning.Solver
	// statusBytes is what the status of a plan may take.
	statusBytes int
}

// New returns the plugin of one profile. plans shows the PackingPlans to all profiles, and the caller runs it; it is nil
// where there is no API server. The profiles share the ledger and the catalogue of devices, too.
func New(
	ctx context.Context, object runtime.Object, handle fwk.Handle, plans cache.SharedIndexInformer, ledger *reservation.Ledger,
	devices *resources.Catalogue,
) (fwk.Plugin, error) {
	in := World{Clock: clock.RealClock{}, Plans: plans, Ledger: ledger, Devices: devices}
	if plans != nil {
		var err error
		if in.Dynamic, err = dynamic.NewForConfig(handle.KubeConfig()); err != nil {
			return nil, fmt.Errorf("%s: making a client for PackingPlans: %w", Name, err)
		}
		if in.Client, err = execution.NewEvictionClient(handle.KubeConfig()); err != nil {
			return nil, fmt.Errorf("%s: making a client for evictions: %w", Name, err)
		}
	}
	return NewIn(ctx, object, handle, in)
}

// NewIn returns the plugin of one profile in a world of the caller's. If that names a process, the plugin does nothing
// by itself: Step has it do one thing after the other, so that what comes of it depends on nothing but what it is told.
func NewIn(ctx context.Context, object runtime.Object, handle fwk.Handle, in World) (*Plugin, error) {
	args, err := config.Decode(object)
	if err != nil {
		return nil, err
	}
	// The optimiser need not be there yet.
	client, err := optimizerclient.New(args.Socket)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	// A program may make one scheduler after the other, as tests do.
	context.AfterFunc(ctx, func() { _ = client.Close() })
	return assemble(ctx, args, handle, parts{in, client, records.MaxStatusBytes})
}

func assemble(ctx context.Context, args *config.PriorityOptimizerArgs, handle fwk.Handle, with parts) (*Plugin, error) {
	metrics.Register()
	logger := klog.FromContext(ctx).WithName(Name)
	if with.Plans == nil {
		args.Trigger = gate.Manual
		logger.Info("No API server to keep PackingPlans in; scheduling continues without the optimiser")
	}
	view, err := clusterview.New(handle, args.Rules(handle.ProfileName()), with.Devices)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	view.Clock, view.Held, view.OwnerLabels = with.Clock, with.Ledger.HeldByNode, with.Ledger.OwnerLabels
	p := &Plugin{Gate: gate.New(handle, logger, with.Clock, paceOf(args), view.Book), view: view, logger: logger}
	p.leadership.Logger = logger
	p.Hold.Ended = func(held time.Duration) { metrics.HeldSeconds.Add(held.Seconds()) }
	p.Waiting.Left = observeHeld
	p.Waiting.Waits = view.Exists
	view.InFlight = p.InFlight.All
	if err := view.IndexPods(handle.SharedInformerFactory().Core().V1().Pods().Informer()); err != nil {
		return nil, fmt.Errorf("%s: indexing pods: %w", Name, err)
	}
	if err := p.Watch(handle.SharedInformerFactory()); err != nil || with.Plans == nil {
		return p, err
	}
	loop := newLoop(p, args, handle, with)
	if with.Process != "" {
		p.byHand = loop
		loop.stepAlike(with.Process)
		return p, nil
	}
	go loop.run(klog.NewContext(ctx, logger))
	return p, nil
}

// Attach hands over what the plugin needs of the complete scheduler. Without a framework to rehearse plans in, no plan
// is made. The lease is nil where no other process can lead.
func (p *Plugin) Attach(to *rehearsal.Framework, lease *leadership.Lease) {
	var replaying planning.Rehearser = to
	p.rehearser.Store(&replaying)
	p.leadership.Lease.Store(lease)
}

// startUpHold is how long a process that begins to schedule holds pods back until it knows whether there is a plan to
// resume.
const startUpHold = 2 * time.Second

// StartLeading tells the plugin that its process schedules. Until it has looked for open plans, no pod may take the room
// that a former process was making.
func (p *Plugin) StartLeading() {
	if p.rehearser.Load() != nil {
		p.Hold.Begin(startUpHold)
	}
	p.leadership.Held.Store(true)
	p.WakeUp()
}

// observeHeld measures how long solves hold pods back.
func observeHeld(reason waiting.Reason, waited time.Duration) {
	if reason == gate.ReasonHeld {
		metrics.HoldSeconds.Observe(waited.Seconds())
	}
}

// paceOf is when these arguments have the plugin solve, and how long it may hold pods back for that.
func paceOf(args *config.PriorityOptimizerArgs) gate.Pace {
	interval := args.IntervalSeconds
	if args.Trigger == gate.Batch {
		interval = args.BatchSeconds
	}
	return gate.Pace{Type: args.Trigger, Settle: config.Seconds(args.SettleSeconds), Interval: config.Seconds(interval), Pods: int(args.BatchPods),
		MaxHold: config.Seconds(args.MaxHoldSeconds), MaxHoldShare: args.MaxHoldShare}
}

// room is that of the rehearser.
func (p *Plugin) room(ctx context.Context, leaving sets.Set[types.UID], nodes ...string) (
	free, toCome map[string]resources.Vector, err error,
) {
	return (*p.rehearser.Load()).Room(ctx, leaving, nodes...)
}

// stepAlike leaves nothing to chance.
func (l *loop) stepAlike(process string) {
	l.runner.AtOnce = 1
	l.records.Nonce = process
	plans := 0
	l.records.Store.Suffix = func(length int) string {
		plans++
		return fmt.Sprintf("%s-%0*d", process, length, plans)
	}
}

// Ready fails unless the optimiser can be asked.
func (p *Plugin) Ready(ctx context.Context) error { return p.byHand.planner.Ready(ctx) }

// Step does what is due and returns the longest time until the next step.
func (p *Plugin) Step(ctx context.Context) time.Duration {
	p.TakeWake()
	return p.byHand.step(ctx)
}

// TakeWake says whether anything has happened since the last call that a step should look at.
func (p *Plugin) TakeWake() bool {
	select {
	case <-p.Wake:
		return true
	default:
		return false
	}
}

// CoolDown is how long the profile leaves a workload alone whose pod was moved.
func (p *Plugin) CoolDown() time.Duration { return config.Seconds(p.byHand.args.CoolDownSeconds) }
