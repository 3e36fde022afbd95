package priorityoptimizer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/stowage/stowage/scheduler/contract"
	"github.com/stowage/stowage/scheduler/leadership"
	"github.com/stowage/stowage/scheduler/optimizerclient"
	"github.com/stowage/stowage/scheduler/plan"
	"github.com/stowage/stowage/scheduler/plugins/priorityoptimizer/gate"
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
	view   *view
	// lead says whether this process schedules.
	lead lead
	// rehearser is where plans are rehearsed; nil until the scheduler is complete.
	rehearser atomic.Pointer[rehearser]
	// ledger holds the room of plans; nil without reservations.
	ledger atomic.Pointer[reservation.Ledger]
	// byHand is the state machine where Step runs it; nil where the plugin does.
	byHand *loop
}

// solver is the optimiser as the plugin sees it.
type solver interface {
	Ready(ctx context.Context) error
	Solve(ctx context.Context, request *contract.SolveRequest, verify func(*contract.Plan) error) (*optimizerclient.Answer, error)
}

// rehearser tries a plan before anything is done.
type rehearser interface {
	Replay(ctx context.Context, of *plan.Plan) (rehearsal.Outcome, error)
	// Empty tries what another scheduler would do.
	Empty(ctx context.Context, nodes []rehearsal.Emptied, closed []string, taint v1.Taint) (rehearsal.Drained, error)
	// Free is the room on the nodes, pods whose binding is under way counted.
	Free(ctx context.Context, nodes ...string) (map[string]resources.Vector, error)
}

// parts are the dependencies that tests replace.
type parts struct {
	clock   clock.WithDelayedExecution
	dynamic dynamic.Interface
	// plans shows the PackingPlans to all profiles; nil where there is no API server to keep them in.
	plans cache.SharedIndexInformer
	// evictions has a rate limit of its own: evictions must not wait for bindings, nor bindings for evictions.
	evictions clientset.Interface
	solver    solver
	// statusBytes is what the status of a plan may take.
	statusBytes int
	// byHand: somebody calls Step in the place of a goroutine of the plugin's own.
	byHand bool
}

// New returns the plugin of one profile. plans shows the PackingPlans to all profiles, and the caller runs it; it is nil
// where there is no API server.
func New(ctx context.Context, object runtime.Object, handle fwk.Handle, plans cache.SharedIndexInformer) (fwk.Plugin, error) {
	args, err := DecodeArgs(object)
	if err != nil {
		return nil, err
	}
	with := parts{clock: clock.RealClock{}, plans: plans, statusBytes: maxStatusBytes}
	if plans != nil {
		config := handle.KubeConfig()
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("%s: making a client for PackingPlans: %w", Name, err)
		}
		with.dynamic = client
		if with.evictions, err = newEvictionClient(config); err != nil {
			return nil, fmt.Errorf("%s: making a client for evictions: %w", Name, err)
		}
	}
	if with.solver, err = connect(ctx, args); err != nil {
		return nil, err
	}
	return assemble(ctx, args, handle, with)
}

// connect returns the optimiser, which need not be there yet.
func connect(ctx context.Context, args *PriorityOptimizerArgs) (solver, error) {
	client, err := optimizerclient.New(args.Socket)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	// A program may make one scheduler after the other, as tests do.
	context.AfterFunc(ctx, func() { _ = client.Close() })
	return client, nil
}

func assemble(ctx context.Context, args *PriorityOptimizerArgs, handle fwk.Handle, with parts) (*Plugin, error) {
	registerMetrics()
	logger := klog.FromContext(ctx).WithName(Name)
	if with.plans == nil {
		args.Trigger = gate.Manual
		logger.Info("No API server to keep PackingPlans in; scheduling continues without the optimiser")
	}
	view := newView(handle, args)
	view.now = with.clock.Now
	p := &Plugin{Gate: gate.New(handle, logger, with.clock, paceOf(args), view.book), view: view, logger: logger}
	p.lead.logger = logger
	p.Hold.Ended = func(held time.Duration) { heldSeconds.Add(held.Seconds()) }
	p.Waiting.Left = observeHeld
	p.Waiting.Waits = view.exists
	view.inFlight = p.InFlight.All
	pods := handle.SharedInformerFactory().Core().V1().Pods().Informer()
	if err := indexPods(pods); err != nil {
		return nil, fmt.Errorf("%s: indexing pods: %w", Name, err)
	}
	view.indexed = pods.GetIndexer()
	if err := p.Watch(handle.SharedInformerFactory()); err != nil || with.plans == nil {
		return p, err
	}
	loop := newLoop(p, args, handle, with)
	if with.byHand {
		p.byHand = loop
		return p, nil
	}
	go loop.run(klog.NewContext(ctx, logger))
	return p, nil
}

// Attach hands over what the plugin needs of the complete scheduler. Without a framework to rehearse plans in, no plan
// is made. The ledger holds the room of plans; it is nil where no profile has reservations. The lease is nil where no
// other process can lead.
func (p *Plugin) Attach(to *rehearsal.Framework, ledger *reservation.Ledger, lease *leadership.Lease) {
	var replaying rehearser = to
	p.rehearser.Store(&replaying)
	p.ledger.Store(ledger)
	p.lead.lease.Store(lease)
	if ledger != nil {
		p.view.held, p.view.ownerLabels = ledger.HeldByNode, ledger.OwnerLabels
	}
}

// observeHeld measures how long solves hold pods back.
func observeHeld(reason waiting.Reason, waited time.Duration) {
	if reason == gate.ReasonHeld {
		holdSeconds.Observe(waited.Seconds())
	}
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }
